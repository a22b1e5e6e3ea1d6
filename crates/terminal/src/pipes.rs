//! Shared by `stdio` and `processor`: signals, limits and the exit code.

use tokio_util::sync::CancellationToken;
use windlass_api::lines::{Cause, SessionEnd, UndeliveredJob};

use crate::exit::{CliError, Exit, Result};
use crate::session::Session;
use crate::signals::Signals;

/// Valid values of `--line-max`.
const LINE_MAX_RANGE: std::ops::RangeInclusive<usize> = 1024..=256 * 1024 * 1024;

/// Checks `--line-max`.
pub fn check_line_max(bytes: usize) -> Result<()> {
    if LINE_MAX_RANGE.contains(&bytes) {
        return Ok(());
    }
    Err(CliError::usage(
        format!("--line-max {bytes} is out of range"),
        format!(
            "use {} to {} bytes",
            LINE_MAX_RANGE.start(),
            LINE_MAX_RANGE.end()
        ),
    ))
}

/// Returns a token that SIGTERM and SIGINT cancel: the command stops reading, finishes its requests
/// and exits with 0. A second SIGINT exits immediately.
pub fn stop(session: &Session) -> Result<CancellationToken> {
    let mut signals = Signals::listen()?;
    session.interrupts.begin_cleanup();
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        signals.next().await;
        stopping.cancel();
    });
    Ok(stop)
}

/// Returns the exit code. A closed stdout is not an error.
pub fn outcome(session: &mut Session, ended: SessionEnd) -> Result<Exit> {
    for job in &ended.undelivered {
        session.output.note(&match job {
            UndeliveredJob::Released(id) => format!("job {id} could not be delivered; it was returned to its queue"),
            UndeliveredJob::Lost(id) => {
                format!("job {id} could not be delivered; it was claimed at most once and is lost")
            }
            UndeliveredJob::Leased(id) => {
                format!("job {id} could not be delivered; it returns to its queue when its lease expires")
            }
        });
    }
    match ended.cause {
        Cause::InputEnded | Cause::Stopped | Cause::OutputClosed => Ok(Exit::Ok),
        Cause::OutputFailed(error) => Err(CliError::unwritable(&error.to_string())),
        Cause::InputFailed(error) => Err(CliError::unreadable("stdin", &error)),
    }
}
