//! Says when to stop: a process when its stdin is closed, tasks when the test asks.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody asked to stop; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asked for by the end of stdin.
    pub fn on_end_of_input() -> Self {
        let stop = Self::default();
        let heard = stop.clone();
        std::thread::spawn(move || {
            let mut rest = Vec::new();
            // An unreadable stdin is as good as a closed one.
            let _ = std::io::stdin().read_to_end(&mut rest);
            heard.ask();
        });
        stop
    }

    /// Asks to stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether it was asked for.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
