//! Waiting for another process to come to a state that it tells nobody about: by asking.

use std::time::{Duration, Instant};

/// How long anything here may take before it counts as broken: far more than a busy machine needs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Between two questions: short against what is waited for, long against the question itself.
const PAUSE: Duration = Duration::from_millis(2);

/// Asks until there is an answer. The `Err` of a question says what is still missing.
///
/// # Panics
///
/// When [`PATIENCE`] is over, with what was missing last.
pub fn until<T>(what: &str, ask: impl FnMut() -> Result<T, String>) -> T {
    try_until(what, ask).unwrap_or_else(|failure| panic!("{failure}"))
}

/// As [`until`]; when [`PATIENCE`] is over, what was missing last is the `Err`.
pub(crate) fn try_until<T>(
    what: &str,
    mut ask: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ask() {
            Ok(answer) => return Ok(answer),
            Err(missing) if Instant::now() >= deadline => {
                return Err(format!(
                    "{what}: not within {PATIENCE:?}; at last: {missing}"
                ));
            }
            Err(_) => pause(),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a poll with a deadline: a server gives no signal of what it has come to"
)]
fn pause() {
    std::thread::sleep(PAUSE);
}
