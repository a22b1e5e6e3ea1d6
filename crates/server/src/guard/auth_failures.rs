//! Wrong tokens, counted by address. A right one is never refused for them: behind a proxy all
//! callers have one address, and whoever guesses must not lock the others out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use tokio::time::{Duration, Instant};

use crate::error::Refusal;

/// How many wrong tokens an address may show within the window.
const FAILURES_MAX: u32 = 30;

/// How long failures count.
const WINDOW: Duration = Duration::from_secs(60);

/// How many addresses are remembered; when there are more, all are forgotten.
const ADDRESSES_MAX: usize = 10_000;

/// Who failed how often, and since when.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<HashMap<IpAddr, (Instant, u32)>>);

impl Failures {
    /// Counts a wrong token; refuses an address that showed too many.
    pub(super) fn count(&self, peer: Option<IpAddr>) -> Result<(), Refusal> {
        let Some(peer) = peer else { return Ok(()) };
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= ADDRESSES_MAX && !seen.contains_key(&peer) {
            seen.clear();
        }
        let (since, count) = seen.entry(peer).or_insert_with(|| (Instant::now(), 0));
        if since.elapsed() >= WINDOW {
            (*since, *count) = (Instant::now(), 0);
        }
        if *count < FAILURES_MAX {
            *count += 1;
            return Ok(());
        }
        let why = "too many wrong tokens came from this address";
        let help = "wait a minute, or use a token that is known: it is let in at any time";
        let rest = WINDOW.saturating_sub(since.elapsed());
        Err(Refusal::new("too_many_requests", why, help).after(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_address_that_guesses_has_to_wait_and_others_do_not() {
        let failures = Failures::default();
        let (guesser, other) = (
            Some("10.0.0.1".parse().unwrap()),
            Some("10.0.0.2".parse().unwrap()),
        );
        for _ in 0..FAILURES_MAX {
            assert!(failures.count(guesser).is_ok());
        }

        assert!(failures.count(guesser).is_err());
        assert!(failures.count(other).is_ok());
        tokio::time::advance(WINDOW).await;
        assert!(failures.count(guesser).is_ok());
    }

    #[test]
    fn many_addresses_do_not_need_much_memory() {
        let failures = Failures::default();
        for n in 0..(ADDRESSES_MAX + 10) {
            let peer = IpAddr::from(u32::try_from(n).unwrap().to_be_bytes());
            assert!(failures.count(Some(peer)).is_ok());
        }
        let seen = failures.0.lock().unwrap();
        assert!(seen.len() <= ADDRESSES_MAX, "{}", seen.len());
    }
}
