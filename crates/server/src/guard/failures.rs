//! Wrong tokens, counted by address: whoever guesses is made to wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use tokio::time::{Duration, Instant};

use crate::refusal::Refusal;

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
    /// Refuses an address that failed too often.
    pub(super) fn check(&self, peer: Option<IpAddr>) -> Result<(), Refusal> {
        let Some(peer) = peer else { return Ok(()) };
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((since, count)) = seen.get(&peer).copied() else {
            return Ok(());
        };
        if since.elapsed() >= WINDOW {
            seen.remove(&peer);
            return Ok(());
        }
        if count < FAILURES_MAX {
            return Ok(());
        }
        let why = "too many wrong tokens came from this address";
        let help = "wait a minute, then use a token that is known";
        Err(Refusal::new("too_many_requests", why, help))
    }

    /// Counts a wrong token.
    pub(super) fn note(&self, peer: Option<IpAddr>) {
        let Some(peer) = peer else { return };
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= ADDRESSES_MAX && !seen.contains_key(&peer) {
            seen.clear();
        }
        seen.entry(peer).or_insert_with(|| (Instant::now(), 0)).1 += 1;
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
            assert!(failures.check(guesser).is_ok());
            failures.note(guesser);
        }

        assert!(failures.check(guesser).is_err());
        assert!(failures.check(other).is_ok());
        tokio::time::advance(WINDOW).await;
        assert!(failures.check(guesser).is_ok());
    }
}
