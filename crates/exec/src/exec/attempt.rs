//! One attempt: start the process, feed it, hear it out, see it end.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use bytes::Bytes;
use command_fds::{CommandFdExt, FdMapping};
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;
use windlass_core::Limits;
use windlass_worker::{RetryWhen, AttemptContext, Outcome, StopReason};

use super::{Shared, Stdin, is_too_long};
use crate::environment::{PROGRESS_FD, of_job};
use crate::exits::{Verdict, describe};
use crate::guard::status_of;
use crate::job::JobLine;
use crate::log::JobLog;
use crate::output::Gathered;
use crate::process::Process;
use crate::talk::Talk;
use crate::{progress, service};

pub(super) async fn run(shared: &Shared, context: &AttemptContext) -> Outcome {
    let words = match shared.options.command.fill(context) {
        Ok(words) => words,
        Err(why) => return Outcome::permanent(why),
    };
    let command = shared.options.launch.command(&words);
    let ran = match start(shared, context, command).await {
        Ok(running) => running.see_it_end(shared, context).await,
        Err(error) => Err(error),
    };
    match ran {
        Ok(Ran {
            stopped: Some(why),
            status,
            ..
        }) => cut_short(why, status),
        Ok(ran) => judge(shared, context, &ran).await,
        Err(error) if is_too_long(&error) => Outcome::permanent(
            "the arguments of the program are too long: read the payload from standard input",
        ),
        Err(error) => {
            let program = shared.options.command.program().display();
            let error_text = format!("{program} cannot be started: {error}");
            missing(shared, context, error_text, status_of(&error)).await
        }
    }
}

/// A process and what reads and writes its pipes.
struct Running {
    process: Process,
    pipes: JoinSet<()>,
    gathered: Arc<Gathered>,
    log: Arc<JobLog>,
    progress: watch::Receiver<Option<progress::Said>>,
    _progress_reader: JoinSet<()>,
}

/// How it went.
struct Ran {
    status: ExitStatus,
    stopped: Option<StopReason>,
    gathered: Arc<Gathered>,
}

async fn start(shared: &Shared, context: &AttemptContext, mut command: Command) -> io::Result<Running> {
    let options = &shared.options;
    options.environment.give(&mut command);
    command.envs(of_job(context));
    let (reader, writer) = io::pipe()?;
    let mapping = FdMapping {
        parent_fd: writer.into(),
        child_fd: PROGRESS_FD,
    };
    command
        .as_std_mut()
        .fd_mappings(vec![mapping])
        .map_err(io::Error::other)?;
    let (stdin, input) = match options.stdin {
        Stdin::Payload => (Stdio::piped(), context.job().payload.clone()),
        Stdin::Job => (Stdio::piped(), JobLine::new(None, context).to_line().into()),
        Stdin::Nothing => (Stdio::null(), Bytes::new()),
    };
    let mut process = Process::start(&shared.spawner, command, stdin).await?;

    let log = Arc::new(JobLog::new(context.clone(), Arc::clone(&options.talk)));
    let limit = Limits::default().payload_bytes_max;
    let gathered = Arc::new(Gathered::new(options.keep, limit));
    let logged = Arc::clone(&log);
    let say: Talk = Arc::new(move |line| logged.line(line));
    let pipes = service::serve(&mut process, input, &gathered, &say);
    let (newest, progress) = watch::channel(None);
    let mut progress_reader = JoinSet::new();
    let reader = Receiver::from_owned_fd(reader.into())?;
    let warned = Arc::clone(&log);
    progress_reader.spawn(progress::read(reader, newest, move |why| warned.line(why)));
    Ok(Running {
        process,
        pipes,
        gathered,
        log,
        progress,
        _progress_reader: progress_reader,
    })
}

impl Running {
    async fn see_it_end(mut self, shared: &Shared, context: &AttemptContext) -> io::Result<Ran> {
        let stopped = tokio::select! {
            biased;
            () = self.process.ended() => None,
            why = context.stopped() => Some(why),
            () = progress::tell(context, self.progress.clone()) => None,
        };
        // Whoever lost the lease must be gone before somebody else begins.
        let patience = stopped
            .filter(|why| *why != StopReason::LeaseLost)
            .map(|_| shared.options.kill_after);
        let status = self.process.end(patience, &mut self.pipes).await?;
        self.log.finish();
        Ok(Ran {
            status,
            stopped,
            gathered: self.gathered,
        })
    }
}

/// What a process that was told to end says of itself counts for nothing: many a program ends with
/// status 0 when it is told to, its work half done.
fn cut_short(why: StopReason, status: ExitStatus) -> Outcome {
    match why {
        StopReason::Leaving | StopReason::LeaseLost => Outcome::Release,
        _ => Outcome::failed(format!("the program was told to end: {}", describe(status))),
    }
}

async fn judge(shared: &Shared, context: &AttemptContext, ran: &Ran) -> Outcome {
    let Some(code) = ran.status.code() else {
        shared.missing.found();
        return Outcome::failed(describe(ran.status));
    };
    let verdict = shared.options.exits.verdict(code);
    let text = describe(ran.status);
    if verdict == Verdict::Missing {
        let code = u8::try_from(code).unwrap_or_default();
        return missing(shared, context, text, code).await;
    }
    shared.missing.found();
    match verdict {
        Verdict::Done => match ran.gathered.result() {
            Ok(result) => Outcome::Done(result),
            Err(why) => Outcome::permanent(why),
        },
        Verdict::Failed(retry) => Outcome::Failed {
            error: match (code, retry) {
                (75, RetryWhen::ByPolicy) => format!("{text}: the program asks for another try"),
                _ => text,
            },
            retry,
        },
        Verdict::Snooze(delay) => Outcome::snooze(delay),
        Verdict::Missing => Outcome::failed(text),
    }
}

/// A failed attempt that may be told late: while it waits, its place takes no other job.
async fn missing(shared: &Shared, context: &AttemptContext, error: String, code: u8) -> Outcome {
    let wait = shared.missing.not_found();
    if !wait.is_zero() {
        (shared.options.talk)(&format!(
            "the program cannot be run ({code}), several times in a row; the next job waits {}",
            windlass_core::duration::format(wait)
        ));
        tokio::select! {
            () = sleep(wait) => {}
            why = context.stopped() => {
                if why == StopReason::Leaving {
                    return Outcome::Release;
                }
            }
        }
    }
    Outcome::failed(error)
}
