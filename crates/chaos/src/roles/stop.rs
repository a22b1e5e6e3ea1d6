//! An actor stops when its stdin is closed: also when the test that started it has died.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Clone)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens to stdin from now on.
    pub(crate) fn on_end_of_input() -> Self {
        let stop = Self(Arc::new(AtomicBool::new(false)));
        let heard = stop.clone();
        std::thread::spawn(move || {
            let mut rest = Vec::new();
            // An unreadable stdin is as good as a closed one.
            let _ = std::io::stdin().read_to_end(&mut rest);
            heard.0.store(true, Ordering::SeqCst);
        });
        stop
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
