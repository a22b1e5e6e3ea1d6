//! The service of a process that reads its input once: it is fed, and heard out.

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::task::JoinSet;

use crate::lines::Lines;
use crate::log::LINE_BYTES_MAX;
use crate::output::Gathered;
use crate::process::Process;
use crate::talk::Talk;

/// Serves all pipes of a process. The lines of its standard error are said, and those of its
/// standard output where not all of that is its result.
pub(crate) fn serve(
    process: &mut Process,
    input: Bytes,
    gathered: &Arc<Gathered>,
    say: &Talk,
) -> JoinSet<()> {
    let mut pipes = JoinSet::new();
    if let Some(stdin) = process.take_stdin() {
        pipes.spawn(feed(stdin, input));
    }
    if let Some(stdout) = process.take_stdout() {
        let (gathered, say) = (Arc::clone(gathered), Arc::clone(say));
        pipes.spawn(async move { gathered.drain(stdout, &say).await });
    }
    if let Some(stderr) = process.take_stderr() {
        let say = Arc::clone(say);
        pipes.spawn(async move {
            let mut lines = Lines::new(stderr, LINE_BYTES_MAX);
            while let Ok(Some(line)) = lines.next().await {
                say(&line.text());
            }
        });
    }
    pipes
}

/// A process that reads only a part, or nothing, is no failure.
async fn feed(mut stdin: ChildStdin, input: Bytes) {
    let _ = stdin.write_all(&input).await;
}
