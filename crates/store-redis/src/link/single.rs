//! One server.

use std::sync::Arc;

use tokio::sync::watch;

use super::node::Node;
use crate::error::{Course, Fault};

/// One server, which is always in charge.
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

    /// A server that says it is not in charge any more may be another one behind the same name.
    pub(super) fn heard(&self, fault: &Fault) {
        if fault.course == Course::Rediscover {
            self.node.give_up();
        }
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
