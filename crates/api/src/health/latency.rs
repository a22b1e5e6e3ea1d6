//! Whether the store accepts writes, and how long a write takes.

use std::time::{Duration, Instant};

use windlass_core::store::WorkerCommand;
use windlass_core::{BootId, Store, duration};

use super::Check;
use crate::error::Error;

/// Number of timed writes. The fastest is reported, as it shows the cost of reaching the store.
const WRITES: usize = 5;

/// Above this a write is slow: every claim and every outcome needs one.
const SLOW: Duration = Duration::from_millis(100);

/// Sends write transactions that change nothing: commands for a worker that does not exist.
pub(super) async fn examine(store: &dyn Store, is_redis: bool, checks: &mut Vec<Check>) {
    let mut best = Duration::MAX;
    for _ in 0..WRITES {
        let began = Instant::now();
        if let Err(error) = store
            .command(&BootId::generate(), WorkerCommand::Continue)
            .await
        {
            checks.push(Check::failed("writes", &Error::from(&error)));
            return;
        }
        best = best.min(began.elapsed());
    }
    checks.push(Check::ok(
        "writes",
        if is_redis {
            "a write script ran"
        } else {
            "a write transaction ran"
        },
    ));
    checks.push(latency(best, is_redis));
}

fn latency(best: Duration, is_redis: bool) -> Check {
    let ms = best.as_secs_f64() * 1000.0;
    let message = format!("fastest write took {ms:.1} ms");
    if best <= SLOW {
        return Check::ok("latency", message);
    }
    let limit = duration::format(SLOW);
    let fix = if is_redis {
        "run workers closer to the server; find slow commands with SLOWLOG GET"
    } else {
        "move the file to a faster disk, or find out which process writes so much"
    };
    let message =
        format!("{message}, more than {limit}; every claim and every outcome needs a write");
    Check::warn("latency", message, fix)
}

#[cfg(test)]
mod tests {
    use super::super::CheckStatus as Status;
    use super::*;

    #[test]
    fn a_slow_write_is_a_warning_with_a_fix() {
        for is_redis in [false, true] {
            assert_eq!(latency(SLOW, is_redis).status, Status::Ok);
            let slow = latency(SLOW * 2, is_redis);
            assert_eq!(slow.status, Status::Warn);
            assert!(slow.fix.is_some());
        }
    }
}
