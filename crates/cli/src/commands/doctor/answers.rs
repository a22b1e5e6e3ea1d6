//! Whether the store takes writes, and how long a step takes.

use std::time::{Duration, Instant};

use windlass::store::WorkerCommand;
use windlass::{BootId, Store, duration};

use super::{Check, Status};
use crate::exit::Failure;

/// How many steps are timed; the best of them says what the way to the store costs.
const STEPS: usize = 5;

/// Past this a step is slow: every claim and every end of a job takes one.
const SLOW: Duration = Duration::from_millis(100);

/// Sends steps that may write and have nothing to change: word for a worker that nobody knows.
pub(super) async fn examine(store: &dyn Store, is_redis: bool, checks: &mut Vec<Check>) {
    let mut best = Duration::MAX;
    for _ in 0..STEPS {
        let began = Instant::now();
        if let Err(error) = store
            .command(&BootId::generate(), WorkerCommand::Continue)
            .await
        {
            checks.push(Check::failed("writes", &Failure::from(error)));
            return;
        }
        best = best.min(began.elapsed());
    }
    checks.push(Check::ok(
        "writes",
        if is_redis {
            "a script ran that may write"
        } else {
            "a transaction ran that may write"
        },
    ));
    checks.push(latency(best, is_redis));
}

fn latency(best: Duration, is_redis: bool) -> Check {
    let ms = best.as_secs_f64() * 1000.0;
    let what = format!("a step takes {ms:.1} ms at best");
    if best <= SLOW {
        return Check::ok("latency", what);
    }
    let limit = duration::format(SLOW);
    let fix = if is_redis {
        "run workers near the server; look for slow commands with SLOWLOG GET"
    } else {
        "put the file on a faster disk, or look which process writes so much"
    };
    let what = format!("{what}, more than {limit}: each claim and each end of a job takes one");
    Check::new(Status::Warn, "latency", what, fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_step_is_a_warning_with_a_fix() {
        for is_redis in [false, true] {
            assert_eq!(latency(SLOW, is_redis).status, Status::Ok);
            let slow = latency(SLOW * 2, is_redis);
            assert_eq!(slow.status, Status::Warn);
            assert!(slow.fix.is_some());
        }
    }
}
