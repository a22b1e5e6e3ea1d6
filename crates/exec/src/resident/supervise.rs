//! Keeps one resident process alive: when it ends it is started again, with growing waits where
//! it is of no use.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::duration;

use super::Shared;
use super::life::{Ended, live};
use super::pool::Life;

/// The first and the longest wait before another start.
const WAIT_FIRST: Duration = Duration::from_millis(100);
const WAIT_MAX: Duration = Duration::from_secs(30);

/// How long a process that says nothing must live before it gets its first job. Doubles with each
/// life that was of no use.
const SETTLE_FIRST: Duration = Duration::from_millis(500);

/// Starts a process again and again until the worker ends.
pub(super) async fn supervise(shared: Arc<Shared>, seat: usize) {
    let _counted = Counted(&shared);
    let mut number = 0;
    let mut failures = 0;
    while !shared.closing.is_cancelled() && !shared.draining.is_cancelled() {
        number += 1;
        let settle = doubled(SETTLE_FIRST, failures);
        let Ended { why, is_sound } = match live(&shared, Life { seat, number }, settle).await {
            Ok(ended) => ended,
            Err(error) => Ended {
                why: format!(
                    "{} cannot be started: {error}",
                    shared.options.command.program().display()
                ),
                is_sound: false,
            },
        };
        if shared.closing.is_cancelled() || shared.draining.is_cancelled() {
            return;
        }
        failures = if is_sound { 0 } else { failures + 1 };
        let wait = wait(failures, fastrand::f64());
        let when = duration::format(wait);
        (shared.options.talk)(&format!(
            "process {}: {why}; it starts again in {when}",
            seat + 1
        ));
        tokio::select! {
            () = sleep(wait) => {}
            () = shared.closing.cancelled() => return,
            () = shared.draining.cancelled() => return,
        }
    }
}

/// The wait after so many useless lives in a row, drawn from its upper half: processes that fell
/// over together do not start together.
fn wait(failures: u32, chance: f64) -> Duration {
    match failures.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => {
            let wait = doubled(WAIT_FIRST, doublings).mul_f64(0.5 + chance / 2.0);
            Duration::from_millis(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
        }
    }
}

fn doubled(first: Duration, doublings: u32) -> Duration {
    first.saturating_mul(1 << doublings.min(20)).min(WAIT_MAX)
}

/// Says that a process is no longer looked after, however that came to be.
struct Counted<'a>(&'a Arc<Shared>);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.supervised.send_modify(|supervised| *supervised -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_spread() {
        let longest: Vec<_> = (0..12)
            .map(|failures| wait(failures, 1.0).as_millis())
            .collect();
        assert_eq!(
            longest,
            [
                0, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000
            ]
        );
        assert_eq!(wait(1, 0.0).as_millis(), 50);
        assert_eq!(wait(u32::MAX, 0.0), WAIT_MAX / 2);
    }
}
