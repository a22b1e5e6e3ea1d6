//! Slows down guessing: replies to unknown tokens of one address are delayed, exponentially longer.
//!
//! Requests with a valid token are never delayed or rejected because of unknown ones: behind a proxy
//! all clients share one address, and one that guesses must not lock out others. A delayed reply
//! costs the guesser one of its connections for that long.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use tokio::time::{Duration, Instant};
use windlass_api::Code;

use crate::error::HttpError;

/// How many unknown tokens of an address are answered at once: mistakes, not guesses.
const FREE_MAX: u32 = 5;

/// The delay of the first reply after the free ones. It doubles with every further unknown token.
const DELAY_MIN: Duration = Duration::from_millis(100);

/// The longest delay of a reply.
const DELAY_MAX: Duration = Duration::from_secs(10);

/// How long an address is remembered after its last unknown token.
const FORGET_AFTER: Duration = Duration::from_secs(15 * 60);

/// How many addresses are tracked. When the limit is reached, the least active one is dropped.
const ADDRESSES_MAX: usize = 10_000;

/// The number of unknown tokens and the time of the last one, per network.
#[derive(Debug, Default)]
pub(crate) struct AuthFailures(Mutex<HashMap<IpAddr, (u32, Instant)>>);

impl AuthFailures {
    /// Counts an unknown token. Returns a delayed error if the address sent too many.
    pub(crate) fn count(&self, peer: Option<IpAddr>) -> Result<(), HttpError> {
        let Some(peer) = peer.map(network) else {
            return Ok(());
        };
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= ADDRESSES_MAX && !seen.contains_key(&peer) {
            let least = seen.iter().min_by_key(|(_, entry)| **entry);
            if let Some(least) = least.map(|(address, _)| *address) {
                seen.remove(&least);
            }
        }
        let (count, last) = seen.entry(peer).or_insert_with(|| (0, Instant::now()));
        if last.elapsed() >= FORGET_AFTER {
            *count = 0;
        }
        *last = Instant::now();
        *count = count.saturating_add(1);
        if *count <= FREE_MAX {
            return Ok(());
        }
        let doubled = 2_u32.saturating_pow(*count - FREE_MAX - 1);
        let delay = DELAY_MIN.saturating_mul(doubled).min(DELAY_MAX);
        let why = "too many unknown tokens from this address";
        let help = "use a valid token, which is always accepted at once";
        let error = HttpError::new(Code::TooManyRequests, why, help);
        Err(error.retry_after(delay).delay(delay))
    }
}

/// Returns what counts as one address: one client usually has a whole IPv6 /64.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let prefix = u128::from(v6) & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from(prefix))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_guesses_has_to_wait_twice_as_long_each_time_and_others_do_not() {
        let failures = AuthFailures::default();
        let (guesser, other) = (Some(address("10.0.0.1")), Some(address("10.0.0.2")));
        for _ in 0..FREE_MAX {
            assert!(failures.count(guesser).is_ok());
        }
        for delay in [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000] {
            let delayed = failures.count(guesser).unwrap_err();
            assert_eq!(delayed.delay, Duration::from_millis(delay));
            tokio::time::advance(delayed.delay).await;
        }
        for _ in 0..1000 {
            assert_eq!(failures.count(guesser).unwrap_err().delay, DELAY_MAX);
        }
        assert!(failures.count(other).is_ok());
        tokio::time::advance(FORGET_AFTER).await;
        assert!(failures.count(guesser).is_ok());
    }

    #[test]
    fn the_addresses_of_one_network_count_as_one() {
        let failures = AuthFailures::default();
        for n in 0..FREE_MAX {
            assert!(
                failures
                    .count(Some(address(&format!("2001:db8::{n}"))))
                    .is_ok()
            );
        }
        assert!(failures.count(Some(address("2001:db8::ffff"))).is_err());
        assert!(failures.count(Some(address("2001:db8:0:1::1"))).is_ok());
        assert_eq!(network(address("::ffff:10.0.0.1")).to_string(), "10.0.0.1");
    }

    #[test]
    fn many_addresses_need_little_memory_and_do_not_hide_the_guesser() {
        let failures = AuthFailures::default();
        let guesser = Some(address("192.0.2.1"));
        for _ in 0..FREE_MAX {
            assert!(failures.count(guesser).is_ok());
        }
        for n in 0..(ADDRESSES_MAX + 10) {
            let peer = IpAddr::from(u32::try_from(n).unwrap().to_be_bytes());
            assert!(failures.count(Some(peer)).is_ok());
        }
        assert!(failures.count(guesser).is_err());
        let seen = failures.0.lock().unwrap();
        assert!(seen.len() <= ADDRESSES_MAX, "{}", seen.len());
    }
}
