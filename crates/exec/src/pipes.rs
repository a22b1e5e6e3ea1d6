//! A process that reads its input once, and the tasks that serve its pipes.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, Command};
use tokio::task::JoinSet;
use windlass_api::lines::LineReader;
use windlass_core::store::Limits;

use crate::exec::KeepOutput;
use crate::log::{LINE_BYTES_MAX, LogSink};
use crate::output::OutputCapture;
use crate::process::Process;
use crate::run::Starter;

/// A process whose pipes are served. Dropping it kills the whole group.
#[derive(Debug)]
pub(crate) struct ServedProcess {
    pub(crate) process: Process,
    pipes: JoinSet<()>,
    capture: Arc<OutputCapture>,
}

impl ServedProcess {
    /// Starts a command, without stdin if there is no input. Logs the lines of stderr, and of stdout unless
    /// all of that is the result.
    pub(crate) async fn start(
        starter: &Starter,
        command: Command,
        input: Option<Bytes>,
        keep: KeepOutput,
        log: &LogSink,
    ) -> io::Result<Self> {
        let stdin = input.as_ref().map_or_else(Stdio::null, |_| Stdio::piped());
        let mut process = starter.process(command, stdin).await?;
        let capture = Arc::new(OutputCapture::new(
            keep,
            Limits::default().payload_bytes_max,
        ));
        let mut pipes = JoinSet::new();
        if let (Some(stdin), Some(input)) = (process.take_stdin(), input) {
            pipes.spawn(write_input(stdin, input));
        }
        if let Some(stdout) = process.take_stdout() {
            let (capture, log) = (Arc::clone(&capture), Arc::clone(log));
            pipes.spawn(async move { capture.drain(stdout, &log).await });
        }
        if let Some(stderr) = process.take_stderr() {
            let log = Arc::clone(log);
            pipes.spawn(async move {
                let mut lines = LineReader::new(stderr, LINE_BYTES_MAX);
                while let Ok(Some(line)) = lines.next().await {
                    log(&line.text());
                }
            });
        }
        Ok(Self {
            process,
            pipes,
            capture,
        })
    }

    /// Kills the group, after SIGTERM and the grace period if there is one; returns the exit status.
    pub(crate) async fn end(&mut self, grace: Option<Duration>) -> io::Result<ExitStatus> {
        self.process.end(grace, &mut self.pipes).await
    }

    /// Returns the result, or an error if it is too large.
    pub(crate) fn result(&self) -> Result<Option<Bytes>, String> {
        self.capture.result()
    }
}

/// Ignores errors: a process need not read its input.
async fn write_input(mut stdin: ChildStdin, input: Bytes) {
    let _ = stdin.write_all(&input).await;
}
