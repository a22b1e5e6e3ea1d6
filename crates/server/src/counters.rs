//! What this server has done so far, for `/metrics`.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use axum::http::StatusCode;

/// Counts since the server began.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Requests by the first digit of their status.
    by_class: [AtomicU64; 5],
    connections: AtomicI64,
    refused_connections: AtomicU64,
}

impl Counts {
    pub(crate) fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.by_class[class].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn disconnected(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn refused(&self) {
        self.refused_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Requests by class: `1xx` first.
    pub(crate) fn requests(&self) -> [u64; 5] {
        [0, 1, 2, 3, 4].map(|class: usize| self.by_class[class].load(Ordering::Relaxed))
    }

    pub(crate) fn connections(&self) -> i64 {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn refused_connections(&self) -> u64 {
        self.refused_connections.load(Ordering::Relaxed)
    }
}
