//! One instance of a resident process, from start to exit.

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::pool::{AttemptEnd, InstanceId, Outgoing};
use super::protocol::Hello;
use super::reader::{OutputReader, ReadEnd};
use super::writer::{WriteEnd, write};
use crate::exits::describe;
use crate::job::line;
use crate::process::{self, Process};

/// How long a process may take to exit by itself after one of its pipes is closed.
const EXIT_WAIT: Duration = Duration::from_secs(1);

/// How an instance ended.
#[derive(Debug)]
pub(super) struct InstanceExit {
    /// A description for the log.
    pub(super) why: String,
    /// It completed a job, or was ended by the worker: the next one may start immediately.
    pub(super) is_healthy: bool,
}

/// Why an instance ends.
enum Event {
    Exited,
    OutputEnded(ReadEnd),
    InputEnded(WriteEnd),
    Abandoned,
    Closing,
}

/// Starts a process and serves it until it has exited. It gets its first job after its first message
/// or after `startup_wait`, so that a program that crashes at startup fails no job.
pub(super) async fn run_instance(
    shared: &Arc<Shared>,
    instance: InstanceId,
    startup_wait: Duration,
) -> io::Result<InstanceExit> {
    let options = &shared.options;
    let mut command = options.launch.command(&options.command.command_line());
    options.environment.apply_to(&mut command);
    let mut process = Process::start(&shared.spawner, command, Stdio::piped()).await?;
    let abandoned = shared.pool.begin(instance);

    let (sender, lines) = mpsc::unbounded_channel();
    let reader = Arc::new(OutputReader::new(Arc::clone(shared), instance, sender));
    let mut pipes = Pipes::start(&mut process, &reader, lines)?;
    send_hello(&reader);
    let opening = async {
        sleep(startup_wait).await;
        reader.open(None);
        std::future::pending::<()>().await;
    };
    let event = tokio::select! {
        biased;
        () = shared.closing.cancelled() => Event::Closing,
        () = process.ended() => Event::Exited,
        event = pipes.broken() => event,
        () = abandoned.cancelled() => Event::Abandoned,
        () = opening => Event::Exited,
    };
    shared.pool.stop_assigning(instance);
    let was_abandoned = matches!(event, Event::Abandoned);
    let ended = end(shared, process, &mut pipes, event, &reader).await;
    // The writer marks the jobs that the process did not read.
    let writing = async { while pipes.stdin.join_next().await.is_some() {} };
    let _ = timeout(EXIT_WAIT, writing).await;
    reader.finish_log();
    let is_ours = was_abandoned || shared.closing.is_cancelled() || shared.draining.is_cancelled();
    let last_lines = if shared.pool.job_count(instance) > 1 {
        reader.last_lines()
    } else {
        String::new()
    };
    // A process that exits after each job may be given one more before it has exited.
    let was_useful = ended.as_ref().is_ok_and(|ended| ended.is_healthy);
    shared.pool.close(instance, |job| {
        if is_ours || (was_useful && !job.may_be_seen) {
            return AttemptEnd::Released;
        }
        // Its jobs end even if its exit status is unknown: nothing else would end them.
        let how = match &ended {
            Ok(ended) => ended.why.clone(),
            Err(error) => error.to_string(),
        };
        if !job.may_be_seen {
            let why = format!("the worker process exited without reading the job: {how}");
            return AttemptEnd::Unread { why };
        }
        let why = format!("the worker process exited while running the job: {how}{last_lines}");
        let was_alone = job.was_alone;
        AttemptEnd::Crashed { why, was_alone }
    });
    ended
}

fn send_hello(reader: &OutputReader) {
    let options = &reader.shared.options;
    let queues = options.queues.iter().map(|queue| queue.as_str()).collect();
    let hello = Hello::new(options.concurrency, queues);
    let (bytes, may_be_seen) = (line(&hello), None);
    // Cannot fail: the writer has just started.
    let _ = reader.sender.send(Outgoing { bytes, may_be_seen });
}

/// Ends a process and returns how it went. Replies that it sends meanwhile still count.
async fn end(
    shared: &Shared,
    mut process: Process,
    pipes: &mut Pipes,
    event: Event,
    reader: &OutputReader,
) -> io::Result<InstanceExit> {
    // Closes stdin when everything is written, which asks the process to exit.
    pipes.stop_writing.cancel();
    let may_exit_itself = matches!(
        event,
        Event::Closing | Event::OutputEnded(ReadEnd::Closed) | Event::InputEnded(WriteEnd::Closed)
    );
    let has_ended = may_exit_itself && timeout(EXIT_WAIT, process.ended()).await.is_ok();
    let kill_after = shared.options.kill_after;
    let grace = match event {
        Event::Exited => None,
        _ if has_ended => None,
        // It was already asked to stop its jobs and had its time.
        Event::Abandoned => Some(EXIT_WAIT.min(kill_after)),
        _ => Some(kill_after),
    };
    let how = describe(process.end(grace, pipes).await?);
    let (why, is_ours) = match event {
        Event::Exited => (how, false),
        // Pipes are closed shortly before the exit is reported.
        _ if has_ended => (how, matches!(event, Event::Closing)),
        Event::OutputEnded(ReadEnd::Closed) => (format!("it closed its stdout; {how}"), false),
        Event::OutputEnded(ReadEnd::ProtocolError(why)) => (format!("{why}; {how}"), false),
        Event::InputEnded(WriteEnd::Stuck) => (format!("it did not read its stdin; {how}"), false),
        Event::InputEnded(_) => (format!("it closed its stdin; {how}"), false),
        Event::Abandoned => (format!("it did not stop a job when asked; {how}"), true),
        Event::Closing => (how, true),
    };
    Ok(InstanceExit {
        why,
        is_healthy: is_ours || reader.has_replied.load(Ordering::Acquire),
    })
}

/// The tasks that read and write the pipes of a process.
struct Pipes {
    stdout: JoinSet<ReadEnd>,
    stderr: JoinSet<()>,
    stdin: JoinSet<WriteEnd>,
    stop_writing: CancellationToken,
}

impl Pipes {
    fn start(
        process: &mut Process,
        reader: &Arc<OutputReader>,
        lines: mpsc::UnboundedReceiver<Outgoing>,
    ) -> io::Result<Self> {
        let no_pipe = || io::Error::other("a pipe of the new process is missing");
        let stdin = process.take_stdin().ok_or_else(no_pipe)?;
        let stdout = process.take_stdout().ok_or_else(no_pipe)?;
        let stderr = process.take_stderr().ok_or_else(no_pipe)?;
        let stop_writing = CancellationToken::new();
        let write_timeout = reader.shared.options.write_timeout;
        let writing = write(stdin, lines, write_timeout, stop_writing.clone());
        Ok(Self {
            stdout: spawned(Arc::clone(reader).read_stdout(stdout)),
            stderr: spawned(Arc::clone(reader).log_stderr(stderr)),
            stdin: spawned(writing),
            stop_writing,
        })
    }

    /// Waits until stdout or stdin is closed.
    async fn broken(&mut self) -> Event {
        let Self { stdout, stdin, .. } = self;
        tokio::select! {
            silence = joined(stdout) => Event::OutputEnded(silence.unwrap_or(ReadEnd::Closed)),
            stopped = joined(stdin) => Event::InputEnded(stopped.unwrap_or(WriteEnd::Closed)),
        }
    }
}

impl process::Pipes for Pipes {
    /// Waits until stdout and stderr are closed.
    async fn wait_until_closed(&mut self) {
        while self.stdout.join_next().await.is_some() {}
        while self.stderr.join_next().await.is_some() {}
    }
}

/// Spawns a task that is aborted when the set is dropped.
fn spawned<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinSet<T> {
    let mut set = JoinSet::new();
    set.spawn(work);
    set
}

/// Waits for the task of a set; forever if it has ended before.
async fn joined<T: 'static>(work: &mut JoinSet<T>) -> Option<T> {
    match work.join_next().await {
        Some(ended) => ended.ok(),
        None => std::future::pending().await,
    }
}
