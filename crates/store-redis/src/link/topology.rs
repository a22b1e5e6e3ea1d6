//! The servers of a store, and which of them is in charge of what.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use windlass_core::Result;

use super::cluster::Cluster;
use super::conn::Entrance;
use super::node::Node;
use super::sentinel::Sentinel;
use super::single::Single;
use crate::address::{Address, Kind};
use crate::error::{Fault, Redirect};

/// The servers of a store.
#[derive(Debug)]
pub(crate) enum Topology {
    /// One server.
    Single(Single),
    /// The primary that sentinels know.
    Sentinel(Arc<Sentinel>),
    /// Nodes that each have some slots.
    Cluster(Arc<Cluster>),
}

impl Topology {
    /// Nothing is connected yet; a topology that follows sentinels does so from now on.
    pub(crate) fn new(address: &Address) -> Result<Self> {
        let entrance = Entrance::new(&address.login, address.db, address.tls.as_ref())?;
        match &address.kind {
            Kind::Single(server) => {
                let node = Node::new(server, &entrance).map_err(Fault::into_error)?;
                Ok(Self::Single(Single::new(node)))
            }
            Kind::Sentinel { hosts, master } => {
                let sentinel = Sentinel::new(address, hosts, master, entrance)?;
                sentinel.follow();
                Ok(Self::Sentinel(sentinel))
            }
            Kind::Cluster { hosts } => Ok(Self::Cluster(Cluster::new(hosts, entrance))),
        }
    }

    /// The server in charge of a slot.
    pub(crate) async fn node(&self, slot: u16, until: Instant) -> Result<Arc<Node>, Fault> {
        match self {
            Self::Single(single) => Ok(single.node()),
            Self::Sentinel(sentinel) => sentinel.node(until).await,
            Self::Cluster(cluster) => cluster.node(slot, until).await,
        }
    }

    /// The server that another one sends a call to while a slot is moved.
    pub(crate) fn asked(&self, ask: &Redirect, asked: &Arc<Node>) -> Result<Arc<Node>, Fault> {
        match self {
            Self::Single(_) | Self::Sentinel(_) => Ok(Arc::clone(asked)),
            Self::Cluster(cluster) => cluster.asked(ask, asked),
        }
    }

    /// Every server that is in charge of something.
    pub(crate) async fn primaries(&self, until: Instant) -> Result<Vec<Arc<Node>>, Fault> {
        match self {
            Self::Single(single) => Ok(vec![single.node()]),
            Self::Sentinel(sentinel) => Ok(vec![sentinel.node(until).await?]),
            Self::Cluster(cluster) => cluster.primaries(until).await,
        }
    }

    /// Learns from what a server said, or from its silence.
    pub(crate) fn heard(&self, node: &Arc<Node>, fault: &Fault) {
        match self {
            Self::Single(single) => single.heard(fault),
            Self::Sentinel(sentinel) => sentinel.heard(fault),
            Self::Cluster(cluster) => cluster.heard(node, fault),
        }
    }

    /// Tells when other servers are in charge than before.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        match self {
            Self::Single(single) => single.changes(),
            Self::Sentinel(sentinel) => sentinel.changes(),
            Self::Cluster(cluster) => cluster.changes(),
        }
    }
}
