//! Serves the pipes of a process that reads its input once.

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::task::JoinSet;

use crate::lines::LineReader;
use crate::log::LINE_BYTES_MAX;
use crate::log_sink::LogSink;
use crate::output::OutputCapture;
use crate::process::Process;

/// Serves all pipes of a process. Logs the lines of stderr, and of stdout unless all of that is the
/// result.
pub(crate) fn serve(
    process: &mut Process,
    input: Bytes,
    capture: &Arc<OutputCapture>,
    log: &LogSink,
) -> JoinSet<()> {
    let mut pipes = JoinSet::new();
    if let Some(stdin) = process.take_stdin() {
        pipes.spawn(write_input(stdin, input));
    }
    if let Some(stdout) = process.take_stdout() {
        let (capture, log) = (Arc::clone(capture), Arc::clone(log));
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
    pipes
}

/// Ignores errors: a process need not read its input.
async fn write_input(mut stdin: ChildStdin, input: Bytes) {
    let _ = stdin.write_all(&input).await;
}
