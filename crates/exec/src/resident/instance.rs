//! One instance of a resident process, from start to exit.

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::pool::{AttemptEnd, InstanceId, Outgoing};
use super::protocol::Hello;
use super::reader::{OutputReader, ReadEnd};
use super::writer::{WriteEnd, write};
use super::{ResidentOptions, Shared};
use crate::exits::describe;
use crate::process::Process;

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
    let ResidentOptions {
        starter, command, ..
    } = &shared.options;
    let command = starter.command(&command.command_line());
    let mut process = starter.process(command, Stdio::piped()).await?;
    let abandoned = shared.pool.begin(instance);

    let (sender, lines) = mpsc::unbounded_channel();
    let reader = Arc::new(OutputReader::new(Arc::clone(shared), instance, sender));
    let mut pipes = Pipes::start(&mut process, &reader, lines)?;
    reader.send(&Hello::new(&shared.options));
    let opening = async {
        sleep(startup_wait).await;
        reader.open(None);
        std::future::pending::<()>().await;
    };
    let event = tokio::select! {
        biased;
        () = shared.closing.cancelled() => Event::Closing,
        () = process.ended() => Event::Exited,
        end = &mut pipes.output_ended => Event::OutputEnded(end.unwrap_or(ReadEnd::Closed)),
        end = &mut pipes.input_ended => Event::InputEnded(end.unwrap_or(WriteEnd::Closed)),
        () = abandoned.cancelled() => Event::Abandoned,
        () = opening => Event::Exited,
    };
    shared.pool.stop_assigning(instance);
    let was_abandoned = matches!(event, Event::Abandoned);
    let ended = end(shared, process, &mut pipes, event, &reader).await;
    // The writer marks the jobs that the process did not read.
    let _ = timeout(EXIT_WAIT, pipes.input.join_next()).await;
    reader.finish_log();
    let is_ours = was_abandoned || shared.draining.is_cancelled();
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
    let how = describe(process.end(grace, &mut pipes.outputs).await?);
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

/// The tasks that read and write the pipes of a process; they are aborted when this is dropped.
struct Pipes {
    outputs: JoinSet<()>,
    input: JoinSet<()>,
    output_ended: oneshot::Receiver<ReadEnd>,
    input_ended: oneshot::Receiver<WriteEnd>,
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
        let (output_end, output_ended) = oneshot::channel();
        let (input_end, input_ended) = oneshot::channel();
        let stop_writing = CancellationToken::new();
        let write_timeout = reader.shared.options.write_timeout;
        let reading = Arc::clone(reader).read_stdout(stdout);
        let writing = write(stdin, lines, write_timeout, stop_writing.clone());
        let (mut outputs, mut input) = (JoinSet::new(), JoinSet::new());
        // Sending fails if the process is already being ended, which is fine.
        outputs.spawn(async move {
            let _ = output_end.send(reading.await);
        });
        outputs.spawn(Arc::clone(reader).log_stderr(stderr));
        input.spawn(async move {
            let _ = input_end.send(writing.await);
        });
        Ok(Self {
            outputs,
            input,
            output_ended,
            input_ended,
            stop_writing,
        })
    }
}
