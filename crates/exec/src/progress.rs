//! What a program says of its progress, brought to the store: the newest counts.

use serde::Deserialize;
use tokio::io::AsyncRead;
use tokio::sync::watch;
use windlass_core::Progress;
use windlass_worker::AttemptContext;

use crate::lines::{Line, Lines};

/// The longest line about progress.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// How far an attempt has come.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Said {
    #[serde(alias = "value")]
    pub(crate) progress: f64,
    pub(crate) message: Option<String>,
}

impl Said {
    fn read(line: &Line) -> Option<Self> {
        let Line::Whole(bytes) = line else {
            return None;
        };
        let said: Self = serde_json::from_slice(bytes).ok()?;
        said.is_sound().then_some(said)
    }

    pub(crate) fn is_sound(&self) -> bool {
        Progress::check(self.progress).is_ok()
    }
}

/// Reads lines about progress until the pipe ends; `warn` hears of the first that is none.
pub(crate) async fn read(
    pipe: impl AsyncRead + Unpin,
    newest: watch::Sender<Option<Said>>,
    warn: impl FnOnce(&str),
) {
    let mut warn = Some(warn);
    let mut lines = Lines::new(pipe, LINE_BYTES_MAX);
    while let Ok(Some(line)) = lines.next().await {
        match Said::read(&line) {
            Some(said) => {
                newest.send_replace(Some(said));
            }
            None => {
                if let Some(warn) = warn.take() {
                    let text: String = line.text().chars().take(80).collect();
                    warn(&format!(
                        "a line on descriptor 3 is not {{\"progress\":0.4,\"message\":\"…\"}}: {text:?}"
                    ));
                }
            }
        }
    }
}

/// Tells the store; while it is being told, only the newest line is kept. Never ends.
pub(crate) async fn tell(context: &AttemptContext, mut newest: watch::Receiver<Option<Said>>) {
    while newest.changed().await.is_ok() {
        let said = newest.borrow_and_update().clone();
        if let Some(said) = said {
            // A report that does not arrive is followed by the next; a lost lease is told elsewhere.
            let _ = context
                .progress(said.progress, said.message.as_deref())
                .await;
        }
    }
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_newest_line_counts_and_one_bad_line_is_told() {
        let text = b"{\"progress\":0.1}\nnonsense\n{\"progress\":2}\n{\"value\":0.4,\"message\":\"half\",\"x\":1}\n{\"progress\":0.9";
        let (newest, heard) = watch::channel(None);
        let mut warned = Vec::new();
        read(&text[..], newest, |why| warned.push(why.to_owned())).await;

        let said = heard.borrow().clone().unwrap();
        assert_eq!(
            (said.progress, said.message.as_deref()),
            (0.4, Some("half"))
        );
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(warned[0].contains("nonsense"), "{warned:?}");
    }
}
