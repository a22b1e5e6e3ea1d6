//! The deadline of a call: every script call that it makes starts before it, however many pages
//! and partitions it has.

use std::time::Duration;

use tokio::time::Instant;

/// The slowest link, in bytes per second, on which a large call is not given up.
const RATE_MIN: usize = 64 * 1024;

/// The longest timeout: a later time may not exist.
const TIMEOUT_MAX: Duration = Duration::from_secs(365 * 86_400);

tokio::task_local! {
    static DEADLINE: Instant;
}

/// Runs a call that sends `bytes` with one deadline for everything it sends, no later than that of the call it
/// is a part of.
pub fn within<F: Future>(
    timeout: Duration,
    bytes: usize,
    call: F,
) -> impl Future<Output = F::Output> {
    let sending = Duration::from_secs(u64::try_from(bytes / RATE_MIN).unwrap_or(u64::MAX));
    let timeout = timeout.saturating_add(sending).min(TIMEOUT_MAX);
    DEADLINE.scope(at_most(Instant::now() + timeout), call)
}

/// Gives a part of the current call, to be spawned as a task, the deadline of the call.
pub fn inherited<F: Future>(part: F) -> impl Future<Output = F::Output> {
    let deadline = current();
    async move {
        match deadline {
            Some(deadline) => DEADLINE.scope(deadline, part).await,
            None => part.await,
        }
    }
}

/// The deadline of the current call.
pub fn current() -> Option<Instant> {
    DEADLINE.try_with(|deadline| *deadline).ok()
}

/// The earlier of a time and the deadline of the current call.
pub(crate) fn at_most(time: Instant) -> Instant {
    current().map_or(time, |deadline| deadline.min(time))
}
