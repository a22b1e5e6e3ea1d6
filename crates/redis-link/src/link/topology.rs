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
use crate::address::{Kind, LinkAddress};
use crate::error::{CallError, Recovery, Redirect};

/// Notified when a primary changes.
pub(super) type Changes = Arc<watch::Sender<u64>>;

/// The servers of a store.
pub(crate) struct Topology {
    servers: Servers,
    changes: Changes,
    /// The progress of all connections.
    pub(super) progress: Arc<LinkProgress>,
}

enum Servers {
    Single(Arc<Node>),
    Sentinel(Arc<Sentinel>),
    Cluster(Arc<Cluster>),
}

impl Topology {
    /// Builds the topology without connecting. With sentinels, it starts listening for failovers.
    pub(crate) fn new(address: &LinkAddress, mode: LinkMode) -> Result<Self> {
        let limit = mode.reply_bytes_max();
        let options = ConnectOptions::new(&address.login, address.db, address.tls.as_ref(), limit)?;
        let progress = Arc::clone(&options.progress);
        let changes = Changes::default();
        let on_change = Arc::clone(&changes);
        let servers = match &address.kind {
            Kind::Single(server) => Servers::Single(Node::new(server, &options)),
            Kind::Sentinel { hosts, master } => {
                let sentinel = Sentinel::new(address, hosts, master, options, on_change)?;
                sentinel.follow();
                Servers::Sentinel(sentinel)
            }
            Kind::Cluster { hosts } => Servers::Cluster(Cluster::new(hosts, options, on_change)),
        };
        Ok(Self {
            servers,
            changes,
            progress,
        })
    }

    /// Returns the primary of a slot.
    pub(crate) async fn node(&self, slot: u16, until: Instant) -> Result<Arc<Node>, CallError> {
        match &self.servers {
            Servers::Single(node) => Ok(Arc::clone(node)),
            Servers::Sentinel(sentinel) => sentinel.node(until).await,
            Servers::Cluster(cluster) => cluster.node(slot, until).await,
        }
    }

    /// Returns the server that an ASK redirect names while a slot is being migrated.
    pub(crate) fn ask_target(&self, ask: &Redirect, asked: &Arc<Node>) -> Arc<Node> {
        match &self.servers {
            Servers::Cluster(cluster) => cluster.ask_target(ask, asked),
            _ => Arc::clone(asked),
        }
    }

    pub(crate) async fn primaries(&self, until: Instant) -> Result<Vec<Arc<Node>>, CallError> {
        match &self.servers {
            Servers::Cluster(cluster) => cluster.primaries(until).await,
            _ => Ok(vec![self.node(0, until).await?]),
        }
    }

    /// Updates the topology after an error or a missing reply.
    pub(crate) fn record_error(&self, node: &Arc<Node>, error: &CallError) {
        match &self.servers {
            // No longer primary: the host name may now resolve to another server.
            Servers::Single(node) if error.recovery == Recovery::Rediscover => node.close_all(),
            Servers::Single(_) => {}
            Servers::Sentinel(sentinel) => sentinel.record_error(error),
            Servers::Cluster(cluster) => cluster.record_error(node, error),
        }
    }

    /// Returns a receiver that is notified when a primary changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
