//! A topology of one server.

use std::sync::Arc;

use tokio::sync::watch;

use super::node::Node;
use super::progress::LinkProgress;
use crate::error::{CallError, Recovery};

/// A topology of one server.
#[derive(Debug)]
pub(crate) struct Single {
    node: Arc<Node>,
    changes: watch::Sender<u64>,
}

impl Single {
    pub(super) fn new(node: Arc<Node>) -> Self {
        Self {
            node,
            changes: watch::Sender::new(0),
        }
    }

    pub(super) fn node(&self) -> Arc<Node> {
        Arc::clone(&self.node)
    }

    /// Closes the connections if the server is no longer primary: its host name may now resolve to
    /// another server.
    pub(super) fn record_error(&self, error: &CallError) {
        if error.recovery == Recovery::Rediscover {
            self.node.close_all();
        }
    }

    pub(super) fn progress(&self) -> &Arc<LinkProgress> {
        self.node.progress()
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
