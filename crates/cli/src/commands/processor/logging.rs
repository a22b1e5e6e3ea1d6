//! Log lines on standard error that never hold up the dispatcher: when nobody reads them, some are
//! left out.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use windlass_stdio::Log;

/// How many lines wait to be written at most.
const WAITING_MAX: usize = 1000;

/// How long the end of the process waits for the last lines to be written.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The end of the log.
pub(super) struct Logged(oneshot::Receiver<()>);

/// A log that is written by a thread of its own, and its end.
pub(super) fn start() -> (Log, Logged) {
    let (send, mut lines) = mpsc::channel::<String>(WAITING_MAX);
    let (ended, end) = oneshot::channel();
    let left_out = Arc::new(AtomicU64::new(0));
    let missing = Arc::clone(&left_out);
    std::thread::spawn(move || {
        while let Some(line) = lines.blocking_recv() {
            let missing = missing.swap(0, Ordering::Relaxed);
            if missing > 0 {
                write(&serde_json::json!({ "log_level": "warning", "left_out": missing }));
            }
            write(&line);
        }
        // Nobody may be waiting any more.
        let _ = ended.send(());
    });
    let log = Log::new(move |line| {
        if send.try_send(line.to_owned()).is_err() {
            left_out.fetch_add(1, Ordering::Relaxed);
        }
    });
    (log, Logged(end))
}

fn write(line: &impl std::fmt::Display) {
    // A log that nobody hears is no failure.
    let _ = writeln!(std::io::stderr(), "{line}");
}

impl Logged {
    /// Waits for the last lines, though not for ever.
    pub(super) async fn finish(self) {
        let _ = tokio::time::timeout(LAST_WORDS, self.0).await;
    }
}
