//! The servers of a store, and which primary owns which slots.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use windlass_core::Result;

use super::LinkMode;
use super::cluster::Cluster;
use super::dial::ConnectOptions;
use super::node::Node;
use super::progress::LinkProgress;
use super::sentinel::Sentinel;
use super::single::Single;
use crate::address::{Kind, LinkAddress};
use crate::error::{CallError, Redirect};

/// The servers of a store.
#[derive(Debug)]
pub(crate) enum Topology {
    /// One server.
    Single(Single),
    /// A primary discovered through sentinels.
    Sentinel(Arc<Sentinel>),
    /// Nodes that each own some slots.
    Cluster(Arc<Cluster>),
}

impl Topology {
    /// Builds the topology without connecting. With sentinels, it starts listening for failovers.
    pub(crate) fn new(address: &LinkAddress, mode: LinkMode) -> Result<Self> {
        let limit = mode.reply_bytes_max();
        let options = ConnectOptions::new(&address.login, address.db, address.tls.as_ref(), limit)?;
        match &address.kind {
            Kind::Single(server) => Ok(Self::Single(Single::new(Node::new(server, &options)))),
            Kind::Sentinel { hosts, master } => {
                let sentinel = Sentinel::new(address, hosts, master, options)?;
                sentinel.follow();
                Ok(Self::Sentinel(sentinel))
            }
            Kind::Cluster { hosts } => Ok(Self::Cluster(Cluster::new(hosts, options))),
        }
    }

    /// Returns the primary of a slot.
    pub(crate) async fn node(&self, slot: u16, until: Instant) -> Result<Arc<Node>, CallError> {
        match self {
            Self::Single(single) => Ok(single.node()),
            Self::Sentinel(sentinel) => sentinel.node(until).await,
            Self::Cluster(cluster) => cluster.node(slot, until).await,
        }
    }

    /// Returns the server that an ASK redirect names while a slot is being migrated.
    pub(crate) fn ask_target(&self, ask: &Redirect, asked: &Arc<Node>) -> Arc<Node> {
        match self {
            Self::Single(_) | Self::Sentinel(_) => Arc::clone(asked),
            Self::Cluster(cluster) => cluster.ask_target(ask, asked),
        }
    }

    /// Returns every primary.
    pub(crate) async fn primaries(&self, until: Instant) -> Result<Vec<Arc<Node>>, CallError> {
        match self {
            Self::Single(single) => Ok(vec![single.node()]),
            Self::Sentinel(sentinel) => Ok(vec![sentinel.node(until).await?]),
            Self::Cluster(cluster) => cluster.primaries(until).await,
        }
    }

    /// Updates the topology after an error or a missing reply.
    pub(crate) fn record_error(&self, node: &Arc<Node>, error: &CallError) {
        match self {
            Self::Single(single) => single.record_error(error),
            Self::Sentinel(sentinel) => sentinel.record_error(error),
            Self::Cluster(cluster) => cluster.record_error(node, error),
        }
    }

    /// Returns the progress of all connections.
    pub(crate) fn progress(&self) -> Arc<LinkProgress> {
        Arc::clone(match self {
            Self::Single(single) => single.progress(),
            Self::Sentinel(sentinel) => sentinel.progress(),
            Self::Cluster(cluster) => cluster.progress(),
        })
    }

    /// Returns a receiver that is notified when a primary changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        match self {
            Self::Single(single) => single.changes(),
            Self::Sentinel(sentinel) => sentinel.changes(),
            Self::Cluster(cluster) => cluster.changes(),
        }
    }
}
