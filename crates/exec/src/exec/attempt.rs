//! One attempt: start the process, write its input, read its output, wait for its exit.

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
use windlass_worker::{AttemptContext, Outcome, RetryWhen, StopReason};

use super::{Shared, Stdin, is_too_long};
use crate::environment::{PROGRESS_FD, job_variables};
use crate::exits::{ExitMeaning, describe};
use crate::job::JobLine;
use crate::log::JobLog;
use crate::log_sink::LogSink;
use crate::output::OutputCapture;
use crate::parent_death::status_of;
use crate::process::Process;
use crate::{pipes, progress};

pub(super) async fn run(shared: &Shared, context: &AttemptContext) -> Outcome {
    let arguments = match shared.options.command.fill(context) {
        Ok(arguments) => arguments,
        Err(why) => return Outcome::permanent(why),
    };
    let command = shared.options.launch.command(&arguments);
    let report = match start(shared, context, command).await {
        Ok(running) => running.wait(shared, context).await,
        Err(error) => Err(error),
    };
    match report {
        Ok(ProcessReport {
            stopped: Some(why),
            status,
            ..
        }) => stopped_outcome(why, status),
        Ok(report) => outcome_of_exit(shared, context, &report).await,
        Err(error) if is_too_long(&error) => Outcome::permanent(
            "the arguments of the program are too long; read the payload from stdin instead",
        ),
        Err(error) => {
            let program = shared.options.command.program().display();
            let error_text = format!("cannot start {program}: {error}");
            missing(shared, context, error_text, status_of(&error)).await
        }
    }
}

/// A process and the tasks that read and write its pipes.
struct RunningProcess {
    process: Process,
    pipes: JoinSet<()>,
    capture: Arc<OutputCapture>,
    log: Arc<JobLog>,
    progress: watch::Receiver<Option<progress::ProgressReport>>,
    _progress_reader: JoinSet<()>,
}

/// How the process ended.
struct ProcessReport {
    status: ExitStatus,
    stopped: Option<StopReason>,
    capture: Arc<OutputCapture>,
}

async fn start(
    shared: &Shared,
    context: &AttemptContext,
    mut command: Command,
) -> io::Result<RunningProcess> {
    let options = &shared.options;
    options.environment.apply_to(&mut command);
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
    let (stdin, input) = match options.stdin {
        Stdin::Payload => (Stdio::piped(), context.job().payload.clone()),
        Stdin::Job => (Stdio::piped(), JobLine::new(None, context).to_line().into()),
        Stdin::Nothing => (Stdio::null(), Bytes::new()),
    };
    let mut process = Process::start(&shared.spawner, command, stdin).await?;

    let log = Arc::new(JobLog::new(context.clone(), Arc::clone(&options.log_sink)));
    let limit = Limits::default().payload_bytes_max;
    let capture = Arc::new(OutputCapture::new(options.keep, limit));
    let logged = Arc::clone(&log);
    let log_sink: LogSink = Arc::new(move |line| logged.line(line));
    let pipes = pipes::serve(&mut process, input, &capture, &log_sink);
    let (newest, progress) = watch::channel(None);
    let mut progress_reader = JoinSet::new();
    let reader = Receiver::from_owned_fd(reader.into())?;
    let warned = Arc::clone(&log);
    progress_reader.spawn(progress::read(reader, newest, move |why| warned.line(why)));
    Ok(RunningProcess {
        process,
        pipes,
        capture,
        log,
        progress,
        _progress_reader: progress_reader,
    })
}

impl RunningProcess {
    async fn wait(
        mut self,
        shared: &Shared,
        context: &AttemptContext,
    ) -> io::Result<ProcessReport> {
        let stopped = tokio::select! {
            biased;
            () = self.process.ended() => None,
            why = context.stopped() => Some(why),
            () = progress::publish(context, self.progress.clone()) => None,
        };
        // After a lost lease it must be gone before another worker starts the job.
        let grace = stopped
            .filter(|why| *why != StopReason::LeaseLost)
            .map(|_| shared.options.kill_after);
        let status = self.process.end(grace, &mut self.pipes).await?;
        self.log.finish();
        Ok(ProcessReport {
            status,
            stopped,
            capture: self.capture,
        })
    }
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
    report: &ProcessReport,
) -> Outcome {
    let Some(code) = report.status.code() else {
        shared.missing.found();
        return Outcome::failed(describe(report.status));
    };
    let meaning = shared.options.exits.meaning(code);
    let text = describe(report.status);
    if meaning == ExitMeaning::Missing {
        let code = u8::try_from(code).unwrap_or_default();
        return missing(shared, context, text, code).await;
    }
    shared.missing.found();
    match meaning {
        ExitMeaning::Done => match report.capture.result() {
            Ok(result) => Outcome::Done(result),
            Err(why) => Outcome::permanent(why),
        },
        ExitMeaning::Failed(retry) => Outcome::Failed {
            error: match (code, retry) {
                (75, RetryWhen::ByPolicy) => format!("{text}: the program asked for a retry"),
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
        (shared.options.log_sink)(&format!(
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
