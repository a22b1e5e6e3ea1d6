//! What a caller goes by: what it may do, and how much of it.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Duration, Instant};

use crate::error::Refusal;
use crate::scope::Grant;

/// The pass of one token; all who show the token share it.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    pub(crate) grant: Grant,
    pub(crate) meter: Arc<Meter>,
}

impl Pass {
    pub(crate) fn new(grant: Grant, rate: Option<NonZeroU32>, streams: usize) -> Self {
        let streams = streams.min(Semaphore::MAX_PERMITS);
        let meter = Meter {
            pace: rate.map(Pace::new),
            streams: Arc::new(Semaphore::new(streams)),
        };
        Self {
            grant,
            meter: Arc::new(meter),
        }
    }
}

/// How much one token has asked for.
#[derive(Debug)]
pub(crate) struct Meter {
    pace: Option<Pace>,
    streams: Arc<Semaphore>,
}

impl Meter {
    /// Counts a request, or refuses it.
    pub(crate) fn count(&self) -> Result<(), Refusal> {
        let Some(pace) = &self.pace else {
            return Ok(());
        };
        pace.step().map_err(|wait| {
            let why = format!("the token has made its {} requests of a second", pace.rate);
            let help = "send fewer, or many jobs in one; the rate is set where the token is";
            Refusal::new("too_many_requests", why, help).after(wait)
        })
    }

    /// Room for one more stream of events of this token.
    pub(crate) fn seat(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let seat = Arc::clone(&self.streams).try_acquire_owned();
        seat.map_err(|_| {
            let why = "the token has as many streams of events open as it may";
            let help = "close one, or let several readers share it";
            Refusal::new("too_many_requests", why, help)
        })
    }
}

/// Requests of one second: all at once or spread, as they come.
#[derive(Debug)]
struct Pace {
    rate: NonZeroU32,
    /// When all that was asked for would be done, one after the other.
    done: Mutex<Instant>,
}

/// What may be asked for at once.
const BURST: Duration = Duration::from_secs(1);

impl Pace {
    fn new(rate: NonZeroU32) -> Self {
        let done = Mutex::new(Instant::now());
        Self { rate, done }
    }

    /// One more; or how long until there is room for it.
    fn step(&self) -> Result<(), Duration> {
        let now = Instant::now();
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let next = (*done).max(now) + BURST / self.rate.get();
        let wait = next.duration_since(now).saturating_sub(BURST);
        if wait.is_zero() {
            *done = next;
            return Ok(());
        }
        Err(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_token_has_its_requests_of_a_second_and_no_more() {
        let pass = Pass::new(Grant::all(), NonZeroU32::new(10), 0);
        for second in 0..3 {
            for request in 0..10 {
                assert!(pass.meter.count().is_ok(), "{second} {request}");
            }
            let refusal = pass.meter.count().unwrap_err();
            assert_eq!(refusal.status, 429);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        // A long rest saves nothing up.
        tokio::time::advance(Duration::from_secs(60)).await;
        let taken = (0..100).filter(|_| pass.meter.count().is_ok()).count();
        assert_eq!(taken, 10);
    }

    #[test]
    fn without_a_rate_nothing_is_refused() {
        let pass = Pass::new(Grant::all(), None, usize::MAX);
        assert!((0..10_000).all(|_| pass.meter.count().is_ok()));
        assert!(pass.meter.seat().is_ok());
    }

    #[test]
    fn a_stream_that_ends_makes_room_for_another() {
        let pass = Pass::new(Grant::all(), None, 1);
        let seat = pass.meter.seat().unwrap();
        assert_eq!(pass.meter.seat().unwrap_err().status, 429);
        drop(seat);
        assert!(pass.meter.seat().is_ok());
    }
}
