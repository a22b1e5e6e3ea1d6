//! Counters of this server, for `/metrics`.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use axum::http::StatusCode;

/// Counters since the server started.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Requests by the first digit of the status.
    by_class: [AtomicU64; 5],
    connections: AtomicI64,
    rejected_connections: AtomicU64,
}

impl Counters {
    pub(crate) fn request_done(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.by_class[class].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn disconnected(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn connection_rejected(&self) {
        self.rejected_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of requests by status class, `1xx` first.
    pub(crate) fn requests(&self) -> [u64; 5] {
        [0, 1, 2, 3, 4].map(|class: usize| self.by_class[class].load(Ordering::Relaxed))
    }

    pub(crate) fn connections(&self) -> i64 {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn rejected_connections(&self) -> u64 {
        self.rejected_connections.load(Ordering::Relaxed)
    }
}
