//! What the doors on standard input and output have in common: signals, bounds and how they end.

use windlass_stdio::{CancellationToken, Cause, Ended, Returned};

use crate::exit::{Exit, Failure, Result};
use crate::session::Session;
use crate::signals::Signals;

/// The shortest and the longest bound of a line.
const LINE_MAX_RANGE: std::ops::RangeInclusive<usize> = 1024..=256 * 1024 * 1024;

/// Refuses a bound that no request fits in, or that memory does not bear.
pub(crate) fn check_line_max(bytes: usize) -> Result<()> {
    if LINE_MAX_RANGE.contains(&bytes) {
        return Ok(());
    }
    Err(Failure::usage(
        format!("--line-max {bytes} is out of range"),
        format!(
            "use {} to {} bytes",
            LINE_MAX_RANGE.start(),
            LINE_MAX_RANGE.end()
        ),
    ))
}

/// What SIGTERM and SIGINT cancel: the door reads no more, finishes and ends well. A second SIGINT
/// does not wait for that.
pub(crate) fn stop(session: &Session) -> Result<CancellationToken> {
    let mut signals = Signals::listen()?;
    session.clearing.begin();
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        signals.next().await;
        stopping.cancel();
    });
    Ok(stop)
}

/// The exit of a door: whoever closes the output has what it wanted.
pub(crate) fn outcome(session: &mut Session, ended: Ended) -> Result<Exit> {
    for returned in &ended.returned {
        session.output.talk(&match returned {
            Returned::Back(id) => format!("nobody heard of job {id}: it went back"),
            Returned::Lost(id) => {
                format!("nobody heard of job {id}: it was claimed at most once and is lost")
            }
            Returned::Later(id) => {
                format!("nobody heard of job {id}: it goes back when its lease ends")
            }
        });
    }
    match ended.cause {
        Cause::InputEnded | Cause::Stopped | Cause::OutputClosed => Ok(Exit::Ok),
        Cause::OutputFailed(error) => Err(Failure::unwritable(&error.to_string())),
        Cause::InputFailed(error) => Err(Failure::unreadable("standard input", &error)),
    }
}
