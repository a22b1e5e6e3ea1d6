//! A stop flag: set when stdin is closed (processes) or by the test (tasks).

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A stop flag; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Set at the end of stdin.
    pub fn on_end_of_input() -> Self {
        let stop = Self::default();
        let setter = stop.clone();
        std::thread::spawn(move || {
            let mut rest = Vec::new();
            // An unreadable stdin counts as closed.
            let _ = std::io::stdin().read_to_end(&mut rest);
            setter.request();
        });
        stop
    }

    /// Requests a stop.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether a stop was requested.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
