//! Keeps one resident process running: restarts it when it exits, with growing waits while it
//! completes no job.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::duration;

use super::Shared;
use super::instance::{InstanceExit, run_instance};
use super::pool::InstanceId;

/// The first and the longest wait before a restart.
const WAIT_FIRST: Duration = Duration::from_millis(100);
const WAIT_MAX: Duration = Duration::from_secs(30);

/// How long a process that writes nothing must run before it gets its first job. Doubles with each
/// instance that completed no job.
const STARTUP_WAIT_FIRST: Duration = Duration::from_millis(500);

/// Restarts a process until the worker stops.
pub(super) async fn supervise(shared: Arc<Shared>, slot: usize) {
    let mut number = 0;
    let mut failures = 0;
    while !shared.draining.is_cancelled() {
        number += 1;
        let startup_wait = doubled(STARTUP_WAIT_FIRST, failures);
        let InstanceExit { why, is_healthy } =
            match run_instance(&shared, InstanceId { slot, number }, startup_wait).await {
                Ok(ended) => ended,
                Err(error) => InstanceExit {
                    why: format!(
                        "cannot start {}: {error}",
                        shared.options.command.program().display()
                    ),
                    is_healthy: false,
                },
            };
        if shared.draining.is_cancelled() {
            return;
        }
        failures = if is_healthy { 0 } else { failures + 1 };
        let wait = wait(failures, fastrand::f64());
        let when = duration::format(wait);
        (shared.options.starter.log_sink)(&format!(
            "process {}: {why}; restarting in {when}",
            slot + 1
        ));
        tokio::select! {
            () = sleep(wait) => {}
            () = shared.draining.cancelled() => return,
        }
    }
}

/// The wait after this many failures in a row, with jitter so that processes that crashed together
/// do not restart together.
fn wait(failures: u32, random: f64) -> Duration {
    match failures.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => {
            let wait = doubled(WAIT_FIRST, doublings).mul_f64(0.5 + random / 2.0);
            Duration::from_millis(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
        }
    }
}

fn doubled(first: Duration, doublings: u32) -> Duration {
    first.saturating_mul(1 << doublings.min(20)).min(WAIT_MAX)
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
