//! Claims and completes in competition with others; counts only while all of them run.

use std::io::BufRead;
use std::time::{Duration, Instant};

use crate::event::Event;
use windlass_core::{BootId, ClaimRequest, Clock, Error, ErrorKind, JobLease, Result, SystemClock};

use crate::roles::ActorContext;

/// Jobs per claim.
const BATCH: usize = 5;

/// Waits for `FROM UNTIL` on stdin (microseconds on the system clock), starts at once, and counts the
/// jobs completed between the two times.
pub async fn run(context: ActorContext) -> Result<()> {
    context.events.log(Event::Ready);
    let (from_us, until_us) = read_window()?;
    let boot = BootId::generate();
    let (mut jobs, mut longest, mut seq) = (0, Duration::ZERO, 0);
    loop {
        seq += 1;
        let began = Instant::now();
        let request = ClaimRequest::worker(boot.clone(), seq, BATCH);
        let claim = context.store.claim(&context.queue, request).await?;
        let claimed = Instant::now();
        // When the jobs run out, the race is over for all at the same time.
        let Some(claim) = claim else { break };
        let leases = claim
            .jobs
            .into_iter()
            .map(|job| JobLease::new(job.id, claim.token));
        let completions: Vec<_> = leases.map(JobLease::completion).collect();
        let count = completions.len() as u64;
        context
            .store
            .complete(&context.queue, completions, None)
            .await?;
        let now_us = SystemClock.now_us();
        if now_us >= until_us {
            break;
        }
        if now_us >= from_us {
            jobs += count;
            longest = longest.max(claimed - began).max(claimed.elapsed());
        }
    }
    let longest_us = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX);
    context.events.log(Event::Raced(jobs, longest_us));
    Ok(())
}

fn read_window() -> Result<(u64, u64)> {
    let mut line = String::new();
    let bad = |what: String| Error::new(ErrorKind::Invalid, what, "write `FROM UNTIL` to stdin");
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| bad(error.to_string()))?;
    let numbers: Vec<u64> = line.split_whitespace().flat_map(str::parse).collect();
    match numbers[..] {
        [from, until] => Ok((from, until)),
        _ => Err(bad(format!("invalid time window {line:?}"))),
    }
}
