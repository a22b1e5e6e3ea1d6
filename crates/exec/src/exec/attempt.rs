//! One attempt: start the process, write its input, read its output, wait for its exit.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;

use command_fds::{CommandFdExt, FdMapping};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;
use windlass_worker::{AttemptContext, Outcome, RetryWhen, StopReason};

use super::{Shared, Stdin};
use crate::environment::{PROGRESS_FD, job_variables};
use crate::exits::{ExitMeaning, describe};
use crate::job::{JobLine, line};
use crate::log::{JobLog, LogSink};
use crate::parent_death::status_of;
use crate::pipes::ServedProcess;
use crate::progress;

pub(super) async fn run(shared: &Shared, context: &AttemptContext) -> Outcome {
    match run_process(shared, context).await {
        Ok(outcome) => outcome,
        Err(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => Outcome::permanent(
            "the arguments of the program are too long; read the payload from stdin instead",
        ),
        Err(error) => {
            let program = shared.options.command.program().display();
            let error_text = format!("cannot start {program}: {error}");
            missing(shared, context, error_text, status_of(&error)).await
        }
    }
}

async fn run_process(shared: &Shared, context: &AttemptContext) -> io::Result<Outcome> {
    let options = &shared.options;
    let arguments = match options.command.fill(context) {
        Ok(arguments) => arguments,
        Err(why) => return Ok(Outcome::permanent(why)),
    };
    let mut command = options.starter.command(&arguments);
    command.envs(job_variables(context));
    let (reader, writer) = io::pipe()?;
    let mapping = FdMapping {
        parent_fd: writer.into(),
        child_fd: PROGRESS_FD,
    };
    command
        .as_std_mut()
        .fd_mappings(vec![mapping])
        .map_err(io::Error::other)?;
    let input = match options.stdin {
        Stdin::Payload => Some(context.job().payload.clone()),
        Stdin::Job => Some(line(&JobLine::new(None, context)).into()),
        Stdin::Nothing => None,
    };
    let log_sink = Arc::clone(&options.starter.log_sink);
    let log = Arc::new(JobLog::new(context.clone(), log_sink));
    let (logged, warned) = (Arc::clone(&log), Arc::clone(&log));
    let log_line: LogSink = Arc::new(move |line| logged.line(line));
    let started = ServedProcess::start(&options.starter, command, input, options.keep, &log_line);
    let mut program = started.await?;

    let (newest, progress) = watch::channel(None);
    let reader = Receiver::from_owned_fd(reader.into())?;
    // Reads on while the process is being stopped, so that it does not block on a full pipe.
    let mut progress_reader = JoinSet::new();
    progress_reader.spawn(progress::read(reader, newest, move |why| warned.line(why)));
    let stopped = tokio::select! {
        biased;
        () = program.process.ended() => None,
        why = context.stopped() => Some(why),
        () = progress::publish(context, progress) => None,
    };
    // After a lost lease it must be gone before another worker starts the job.
    let grace = stopped
        .filter(|why| *why != StopReason::LeaseLost)
        .map(|_| options.kill_after);
    let status = program.end(grace).await?;
    drop(progress_reader);
    log.finish();
    Ok(match stopped {
        Some(why) => stopped_outcome(why, status),
        None => outcome_of_exit(shared, context, status, &program).await,
    })
}

/// The outcome of a process that was asked to stop. Its status is ignored: many programs exit with
/// status 0 on SIGTERM without having finished.
fn stopped_outcome(why: StopReason, status: ExitStatus) -> Outcome {
    match why {
        StopReason::Leaving | StopReason::LeaseLost => Outcome::Release,
        _ => Outcome::failed(format!("the program was stopped: {}", describe(status))),
    }
}

async fn outcome_of_exit(
    shared: &Shared,
    context: &AttemptContext,
    status: ExitStatus,
    program: &ServedProcess,
) -> Outcome {
    let mut text = describe(status);
    // The reason, in most programs: lists show the first line of an error.
    if let Some(line) = context.last_line() {
        text = format!("{text}: {line}");
    }
    let Some(code) = status.code() else {
        shared.missing.found();
        return Outcome::failed(text);
    };
    let meaning = shared.options.exits.meaning(code);
    if meaning == ExitMeaning::Missing {
        let code = u8::try_from(code).unwrap_or_default();
        return missing(shared, context, text, code).await;
    }
    shared.missing.found();
    match meaning {
        ExitMeaning::Done => match program.result() {
            Ok(result) => Outcome::Done(result),
            Err(why) => Outcome::permanent(why),
        },
        ExitMeaning::Failed(retry) => Outcome::Failed {
            error: match (code, retry) {
                (75, RetryWhen::ByPolicy) => format!("the program asked for a retry: {text}"),
                _ => text,
            },
            retry,
        },
        ExitMeaning::Snooze(delay) => Outcome::snooze(delay),
        ExitMeaning::Missing => Outcome::failed(text),
    }
}

/// Fails the attempt, possibly after a delay in which its slot runs no other job.
async fn missing(shared: &Shared, context: &AttemptContext, error: String, code: u8) -> Outcome {
    let wait = shared.missing.not_found();
    if !wait.is_zero() {
        (shared.options.starter.log_sink)(&format!(
            "cannot start the program (status {code}), several times in a row; check its path and permissions; next job in {}",
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
