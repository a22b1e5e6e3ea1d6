//! Non-blocking log lines on stderr: if stderr is not read, some are dropped.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::processor::Log;
use tokio::sync::{mpsc, oneshot};

/// Maximum number of buffered lines.
const BUFFERED_MAX: usize = 1000;

/// How long to wait for the last lines at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Handle of the writer thread.
pub(super) struct LogWriter(oneshot::Receiver<()>);

/// Starts a thread that writes log lines.
pub(super) fn start() -> (Log, LogWriter) {
    let (send, mut lines) = mpsc::channel::<String>(BUFFERED_MAX);
    let (finished, is_finished) = oneshot::channel();
    let dropped = Arc::new(AtomicU64::new(0));
    let dropped_so_far = Arc::clone(&dropped);
    std::thread::spawn(move || {
        while let Some(line) = lines.blocking_recv() {
            let dropped = dropped_so_far.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                write(&serde_json::json!({ "log_level": "warning", "left_out": dropped }));
            }
            write(&line);
        }
        // The receiver may be gone already.
        let _ = finished.send(());
    });
    let log = Log::new(move |line| {
        if send.try_send(line.to_owned()).is_err() {
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    });
    (log, LogWriter(is_finished))
}

fn write(line: &impl std::fmt::Display) {
    // A closed stderr is not an error.
    let _ = writeln!(std::io::stderr(), "{line}");
}

impl LogWriter {
    /// Waits for the last lines to be written, up to a timeout.
    pub(super) async fn finish(self) {
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, self.0).await;
    }
}
