//! Passes a program's progress on to the store; only the newest report counts.

use serde::Deserialize;
use tokio::io::AsyncRead;
use tokio::sync::watch;
use windlass_api::lines::{InputLine, LineReader};
use windlass_core::store::Fraction;
use windlass_worker::AttemptContext;

/// The longest progress line.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// A progress line.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ProgressReport {
    #[serde(alias = "value")]
    pub(crate) progress: f64,
    pub(crate) message: Option<String>,
}

impl ProgressReport {
    fn read(line: &InputLine) -> Option<Self> {
        let InputLine::Complete(bytes) = line else {
            return None;
        };
        let report: Self = serde_json::from_slice(bytes).ok()?;
        report.is_valid().then_some(report)
    }

    pub(crate) fn is_valid(&self) -> bool {
        Fraction::new(self.progress).is_ok()
    }
}

/// Reads progress lines until the pipe is closed; calls `warn` for the first invalid one.
pub(crate) async fn read(
    pipe: impl AsyncRead + Unpin,
    newest: watch::Sender<Option<ProgressReport>>,
    warn: impl FnOnce(&str),
) {
    let mut warn = Some(warn);
    let mut lines = LineReader::new(pipe, LINE_BYTES_MAX);
    while let Ok(Some(line)) = lines.next().await {
        match ProgressReport::read(&line) {
            Some(report) => {
                newest.send_replace(Some(report));
            }
            None => {
                if let Some(warn) = warn.take() {
                    let text: String = line.text().chars().take(80).collect();
                    warn(&format!(
                        "invalid progress line on descriptor 3: {text:?}; expected {{\"progress\":0.4,\"message\":\"…\"}}"
                    ));
                }
            }
        }
    }
}

/// Sends reports to the store, one at a time; meanwhile only the newest is kept. Never returns.
pub(crate) async fn publish(
    context: &AttemptContext,
    mut newest: watch::Receiver<Option<ProgressReport>>,
) {
    while newest.changed().await.is_ok() {
        let report = newest.borrow_and_update().clone();
        if let Some(report) = report {
            // Errors are ignored: another report follows, and renewals detect a lost lease.
            let _ = context
                .progress(report.progress, report.message.as_deref())
                .await;
        }
    }
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_newest_line_counts_and_one_bad_line_is_warned_about() {
        let text = b"{\"progress\":0.1}\nnonsense\n{\"progress\":2}\n{\"value\":0.4,\"message\":\"half\",\"x\":1}\n{\"progress\":0.9";
        let (newest, receiver) = watch::channel(None);
        let mut warned = Vec::new();
        read(&text[..], newest, |why| warned.push(why.to_owned())).await;

        let report = receiver.borrow().clone().unwrap();
        assert_eq!(
            (report.progress, report.message.as_deref()),
            (0.4, Some("half"))
        );
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(warned[0].contains("nonsense"), "{warned:?}");
    }
}
