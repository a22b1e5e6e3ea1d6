//! Polls until a condition holds in another process.

use std::time::{Duration, Instant};

/// How long any wait here may take: far more than a busy machine needs.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// The poll interval.
const INTERVAL: Duration = Duration::from_millis(2);

/// Calls `ask` until it returns `Ok`. The `Err` says what is still missing.
///
/// # Panics
///
/// Panics after [`TIMEOUT`], with the last `Err`.
pub fn until<T>(what: &str, ask: impl FnMut() -> Result<T, String>) -> T {
    try_until(what, ask).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Like [`until`], but returns the last `Err` after [`TIMEOUT`].
pub(crate) fn try_until<T>(
    what: &str,
    mut ask: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match ask() {
            Ok(value) => return Ok(value),
            Err(missing) if Instant::now() >= deadline => {
                return Err(format!(
                    "timed out after {TIMEOUT:?} waiting until {what}; last: {missing}"
                ));
            }
            Err(_) => pause(),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "polls with a deadline: the server sends no signal"
)]
fn pause() {
    std::thread::sleep(INTERVAL);
}
