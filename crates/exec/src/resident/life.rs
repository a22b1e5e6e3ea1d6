//! One life of a resident process, from its start to its end.

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
use super::hearing::{Ears, Silence};
use super::pool::{End, Life, Outgoing};
use super::protocol::Hello;
use super::writing::{Stopped, write};
use crate::exits::describe;
use crate::job::line;
use crate::process::{self, Process};

/// How long a process may take to end by itself once one of its pipes is closed.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How a life ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// For people.
    pub(super) why: String,
    /// It was of use, or was ended for reasons of ours: the next may begin at once.
    pub(super) is_sound: bool,
}

/// What came to pass.
enum Event {
    Exited,
    Silent(Silence),
    Unfed(Stopped),
    GivenUp,
    Closing,
}

/// Starts a process and serves it until it has ended. It gets its first job when it has said
/// something, or has lived for `settle`: a program that falls over at its start harms no job.
pub(super) async fn live(shared: &Arc<Shared>, life: Life, settle: Duration) -> io::Result<Ended> {
    let options = &shared.options;
    let mut command = options.launch.command(&options.command.words());
    options.environment.give(&mut command);
    let mut process = Process::start(&shared.spawner, command, Stdio::piped()).await?;
    let given_up = shared.pool.begin(life);

    let (sender, lines) = mpsc::unbounded_channel();
    let ears = Arc::new(Ears::new(Arc::clone(shared), life, sender));
    let mut pipes = Pipes::start(&mut process, &ears, lines)?;
    greet(&ears);
    let opening = async {
        sleep(settle).await;
        ears.open(None);
        std::future::pending::<()>().await;
    };
    let event = tokio::select! {
        biased;
        () = shared.closing.cancelled() => Event::Closing,
        () = process.ended() => Event::Exited,
        event = pipes.broken() => event,
        () = given_up.cancelled() => Event::GivenUp,
        () = opening => Event::Exited,
    };
    shared.pool.shut(life);
    let ended = end(shared, process, &mut pipes, event, &ears).await;
    let is_ours = shared.closing.is_cancelled() || shared.draining.is_cancelled();
    let tail = if shared.pool.under_way(life) > 1 {
        ears.tail()
    } else {
        String::new()
    };
    shared.pool.close(life, |was_alone| {
        if is_ours {
            return End::Unharmed;
        }
        // Its jobs end too where its own end could not be seen: nobody else would end them.
        let how = match &ended {
            Ok(ended) => ended.why.clone(),
            Err(error) => error.to_string(),
        };
        let why = format!("the worker process ended with the job under way: {how}{tail}");
        End::Crashed { why, was_alone }
    });
    ended
}

fn greet(ears: &Ears) {
    let options = &ears.shared.options;
    let queues = options.queues.iter().map(|queue| queue.as_str()).collect();
    let hello = Hello::new(options.concurrency, queues);
    let (bytes, is_begun) = (line(&hello), None);
    // The writer has only just begun.
    let _ = ears.sender.send(Outgoing { bytes, is_begun });
}

/// Brings a process to its end and says how it went. What it says meanwhile still counts.
async fn end(
    shared: &Shared,
    mut process: Process,
    pipes: &mut Pipes,
    event: Event,
    ears: &Ears,
) -> io::Result<Ended> {
    // Closes standard input once all is written: the polite way to say that it is over.
    pipes.enough.cancel();
    let is_patient = matches!(
        event,
        Event::Closing | Event::Silent(Silence::Ended) | Event::Unfed(Stopped::Closed)
    );
    let has_ended = is_patient && timeout(LAST_WORDS, process.ended()).await.is_ok();
    let kill_after = shared.options.kill_after;
    let patience = match event {
        Event::Exited => None,
        _ if has_ended => None,
        // Who had been asked to stop its jobs has had its time.
        Event::GivenUp => Some(LAST_WORDS.min(kill_after)),
        _ => Some(kill_after),
    };
    let how = describe(process.end(patience, pipes).await?);
    let (why, is_ours) = match event {
        Event::Exited => (how, false),
        // Pipes are closed a moment before the end is told.
        _ if has_ended => (how, matches!(event, Event::Closing)),
        Event::Silent(Silence::Ended) => (format!("it closed its standard output; {how}"), false),
        Event::Silent(Silence::Broken(why)) => (format!("{why}; {how}"), false),
        Event::Unfed(Stopped::Stuck) => {
            (format!("it did not read its standard input; {how}"), false)
        }
        Event::Unfed(_) => (format!("it closed its standard input; {how}"), false),
        Event::GivenUp => (
            format!("it went on with a job that was stopped; {how}"),
            true,
        ),
        Event::Closing => (how, true),
    };
    Ok(Ended {
        why,
        is_sound: is_ours || ears.has_answered.load(Ordering::Acquire),
    })
}

/// What reads and writes the pipes of a process.
struct Pipes {
    stdout: JoinSet<Silence>,
    stderr: JoinSet<()>,
    stdin: JoinSet<Stopped>,
    enough: CancellationToken,
}

impl Pipes {
    fn start(
        process: &mut Process,
        ears: &Arc<Ears>,
        lines: mpsc::UnboundedReceiver<Outgoing>,
    ) -> io::Result<Self> {
        let no_pipe = || io::Error::other("a pipe of the new process is missing");
        let stdin = process.take_stdin().ok_or_else(no_pipe)?;
        let stdout = process.take_stdout().ok_or_else(no_pipe)?;
        let stderr = process.take_stderr().ok_or_else(no_pipe)?;
        let enough = CancellationToken::new();
        let patience = ears.shared.options.write_timeout;
        let writing = write(stdin, lines, patience, enough.clone());
        Ok(Self {
            stdout: spawned(Arc::clone(ears).hear(stdout)),
            stderr: spawned(Arc::clone(ears).log_stderr(stderr)),
            stdin: spawned(writing),
            enough,
        })
    }

    /// Waits until nothing more can be heard, or nothing more can be written.
    async fn broken(&mut self) -> Event {
        let Self { stdout, stdin, .. } = self;
        tokio::select! {
            silence = joined(stdout) => Event::Silent(silence.unwrap_or(Silence::Ended)),
            stopped = joined(stdin) => Event::Unfed(stopped.unwrap_or(Stopped::Closed)),
        }
    }
}

impl process::Pipes for Pipes {
    /// Waits until both outputs have ended.
    async fn heard_out(&mut self) {
        while self.stdout.join_next().await.is_some() {}
        while self.stderr.join_next().await.is_some() {}
    }
}

/// Work that ends, if not by itself, as the set is dropped.
fn spawned<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinSet<T> {
    let mut set = JoinSet::new();
    set.spawn(work);
    set
}

/// Waits for the work of a set; for ever where that has ended before.
async fn joined<T: 'static>(work: &mut JoinSet<T>) -> Option<T> {
    match work.join_next().await {
        Some(ended) => ended.ok(),
        None => std::future::pending().await,
    }
}
