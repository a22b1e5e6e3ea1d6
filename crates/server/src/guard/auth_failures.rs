//! Counts unknown tokens per address. Requests with a valid token are never rejected because of
//! them: behind a proxy all clients share one address, and one that guesses must not lock out others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use tokio::time::{Duration, Instant};

use crate::error::HttpError;

/// How many unknown tokens an address may send per window.
const FAILURES_MAX: u32 = 30;

/// How long failures are counted.
const WINDOW: Duration = Duration::from_secs(60);

/// How many addresses are tracked. When the limit is reached, all are cleared.
const ADDRESSES_MAX: usize = 10_000;

/// The start of the window and the number of failures, per address.
#[derive(Debug, Default)]
pub(crate) struct AuthFailures(Mutex<HashMap<IpAddr, (Instant, u32)>>);

impl AuthFailures {
    /// Counts an unknown token. Returns an error if the address sent too many.
    pub(super) fn count(&self, peer: Option<IpAddr>) -> Result<(), HttpError> {
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
        let why = "too many unknown tokens from this address";
        let help = "wait a minute, or use a valid token, which is always accepted";
        let remaining = WINDOW.saturating_sub(since.elapsed());
        Err(HttpError::new("too_many_requests", why, help).retry_after(remaining))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_address_that_guesses_has_to_wait_and_others_do_not() {
        let failures = AuthFailures::default();
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
        let failures = AuthFailures::default();
        for n in 0..(ADDRESSES_MAX + 10) {
            let peer = IpAddr::from(u32::try_from(n).unwrap().to_be_bytes());
            assert!(failures.count(Some(peer)).is_ok());
        }
        let seen = failures.0.lock().unwrap();
        assert!(seen.len() <= ADDRESSES_MAX, "{}", seen.len());
    }
}
