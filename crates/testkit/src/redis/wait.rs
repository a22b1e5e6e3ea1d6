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
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(missing) => assert!(
                Instant::now() < deadline,
                "{what}: not within {PATIENCE:?}; at last: {missing}"
            ),
        }
        pause();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a poll with a deadline: a server gives no signal of what it has come to"
)]
fn pause() {
    std::thread::sleep(PAUSE);
}
