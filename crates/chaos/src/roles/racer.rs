//! Claims and completes against others; counts only while all of them run.

use std::io::BufRead;
use std::time::{Duration, Instant};

use crate::event::Event;
use windlass_core::{BootId, ClaimRequest, Clock, Error, ErrorKind, JobLease, Result, SystemClock};

use crate::roles::Scene;

/// Jobs in one claim.
const BATCH: usize = 5;

/// Waits for `FROM UNTIL` on stdin (microseconds of the machine's clock), runs from that line on,
/// and counts what it completed from one moment until the other.
pub async fn run(scene: Scene) -> Result<()> {
    scene.voice.say(Event::Ready);
    let (from_us, until_us) = read_window()?;
    let boot = BootId::generate();
    let (mut jobs, mut longest, mut seq) = (0, Duration::ZERO, 0);
    loop {
        seq += 1;
        let began = Instant::now();
        let request = ClaimRequest::worker(boot.clone(), seq, BATCH);
        let claim = scene.store.claim(&scene.queue, request).await?;
        let claimed = Instant::now();
        // When the jobs run out the race is over, for everybody at the same time.
        let Some(claim) = claim else { break };
        let holds = claim
            .jobs
            .into_iter()
            .map(|job| JobLease::new(job.id, claim.token));
        let completions: Vec<_> = holds.map(JobLease::completion).collect();
        let count = completions.len() as u64;
        scene
            .store
            .complete(&scene.queue, completions, None)
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
    scene.voice.say(Event::Raced(jobs, longest_us));
    Ok(())
}

fn read_window() -> Result<(u64, u64)> {
    let mut line = String::new();
    let bad = |what: String| Error::new(ErrorKind::Invalid, what, "say `FROM UNTIL` on stdin");
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| bad(error.to_string()))?;
    let numbers: Vec<u64> = line.split_whitespace().flat_map(str::parse).collect();
    match numbers[..] {
        [from, until] => Ok((from, until)),
        _ => Err(bad(format!("{line:?} is no window"))),
    }
}
