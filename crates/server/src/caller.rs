//! The caller of a request: its permissions and its limits.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Duration, Instant};
use windlass_api::Code;

use crate::budget::{Budget, Reserved, UsedUp};
use crate::dashboard::Session;
use crate::error::HttpError;
use crate::handlers::KnownQueues;
use crate::scope::Grant;

/// How a request shows who sent it.
#[derive(Debug, Clone)]
pub(crate) enum Credential {
    /// It needs none: the server has no tokens, or the route is open.
    None,
    /// A token or a ticket in the request, which no page of another site can add.
    Token,
    /// The cookie of a browser that signed in. Browsers send it by themselves.
    Session(Arc<Session>),
}

/// An authenticated caller. All requests with the same token share one limiter.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The name of the token, for the access log.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) grant: Grant,
    pub(crate) limiter: Arc<Limiter>,
    pub(crate) credential: Credential,
}

/// The limits of a caller.
#[derive(Debug)]
pub(crate) struct Limits {
    /// Requests per second.
    pub(crate) rate: Option<NonZeroU32>,
    /// Open event streams.
    pub(crate) streams: usize,
    /// Requests in flight.
    pub(crate) requests: usize,
    /// Queues, and workers.
    pub(crate) names: usize,
    /// Buffered bytes of this caller.
    pub(crate) memory: usize,
    /// Buffered bytes of all callers.
    pub(crate) process_memory: Budget,
}

impl Caller {
    pub(crate) fn new(grant: Grant, limits: Limits) -> Self {
        let semaphore = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        let limiter = Limiter {
            rate_limit: limits.rate.map(RateLimit::new),
            streams: semaphore(limits.streams),
            requests: semaphore(limits.requests),
            memory: Budget::new(limits.memory),
            process_memory: limits.process_memory,
            names_max: limits.names,
            queues: KnownQueues::default(),
        };
        Self {
            name: None,
            grant,
            limiter: Arc::new(limiter),
            credential: Credential::None,
        }
    }

    pub(crate) fn named(mut self, name: &Arc<str>) -> Self {
        self.name = Some(Arc::clone(name));
        self.credential = Credential::Token;
        self
    }

    /// Returns the same caller, signed in.
    pub(crate) fn in_session(mut self, session: Arc<Session>) -> Self {
        self.credential = Credential::Session(session);
        self
    }

    /// Returns the session, if the caller signed in.
    pub(crate) const fn session(&self) -> Option<&Arc<Session>> {
        match &self.credential {
            Credential::Session(session) => Some(session),
            Credential::None | Credential::Token => None,
        }
    }
}

/// The limits of one token.
#[derive(Debug)]
pub(crate) struct Limiter {
    rate_limit: Option<RateLimit>,
    streams: Arc<Semaphore>,
    requests: Arc<Semaphore>,
    memory: Budget,
    process_memory: Budget,
    /// The most queues, and the most workers.
    pub(crate) names_max: usize,
    pub(crate) queues: KnownQueues,
}

impl Limiter {
    /// Counts a request in flight, or rejects it if the token has too many.
    pub(crate) fn start_request(&self) -> Result<OwnedSemaphorePermit, HttpError> {
        let permit = Arc::clone(&self.requests).try_acquire_owned();
        permit.map_err(|_| {
            let why = "too many requests are in flight for this token";
            let help = "wait for some of them; requests=N in the token file sets the limit";
            HttpError::new(Code::TooManyRequests, why, help)
        })
    }

    /// Reserves memory for bytes that are about to be buffered, or rejects the request.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<Reserved, HttpError> {
        let reserved = self.memory.reserve(&self.process_memory, bytes);
        reserved.map_err(|used_up| match used_up {
            UsedUp::Token => {
                let why = "the requests and unread replies of this token use too much memory";
                let help = "read replies faster, send less at once, or retry later";
                HttpError::new(Code::TooManyRequests, why, help)
            }
            UsedUp::Process => {
                let why = "all requests and unread replies together use too much memory";
                HttpError::new(Code::Overloaded, why, "retry in a few seconds")
            }
        })
    }

    /// Reserves memory as far as it is available, for a reply that must be sent.
    pub(crate) fn reserve_available(&self, bytes: usize) -> Reserved {
        self.memory.reserve_available(&self.process_memory, bytes)
    }

    /// Counts a request, or rejects it if the token is over its rate limit.
    pub(crate) fn check_rate(&self) -> Result<(), HttpError> {
        let Some(rate_limit) = &self.rate_limit else {
            return Ok(());
        };
        rate_limit.acquire().map_err(|wait| {
            let rate = rate_limit.rate;
            let why = format!("rate limit exceeded: {rate} requests per second for this token");
            let help = "send fewer requests, or send jobs in batches; \
                rate=N in the token file sets the limit";
            HttpError::new(Code::TooManyRequests, why, help).retry_after(wait)
        })
    }

    /// Reserves an event stream of this token.
    pub(crate) fn open_stream(&self) -> Result<OwnedSemaphorePermit, HttpError> {
        let permit = Arc::clone(&self.streams).try_acquire_owned();
        permit.map_err(|_| {
            let why = "too many event streams are open for this token";
            let help = "close one; streams=N in the token file sets the limit";
            HttpError::new(Code::TooManyRequests, why, help)
        })
    }
}

/// A rate limit in requests per second. All requests of a second may come in one burst.
#[derive(Debug)]
struct RateLimit {
    rate: NonZeroU32,
    /// When all accepted requests would be done at exactly this rate.
    done: Mutex<Instant>,
}

/// How much of the rate may be used in one burst.
const BURST: Duration = Duration::from_secs(1);

impl RateLimit {
    fn new(rate: NonZeroU32) -> Self {
        let done = Mutex::new(Instant::now());
        Self { rate, done }
    }

    /// Accepts a request, or returns how long to wait.
    fn acquire(&self) -> Result<(), Duration> {
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
impl Limits {
    /// Returns limits that no test reaches, except those of the rate and of event streams.
    pub(crate) fn of(rate: Option<NonZeroU32>, streams: usize) -> Self {
        Self {
            rate,
            streams,
            requests: usize::MAX,
            names: usize::MAX,
            memory: usize::MAX,
            process_memory: Budget::new(usize::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_token_has_its_requests_per_second_and_no_more() {
        let caller = Caller::new(Grant::all(), Limits::of(NonZeroU32::new(10), 0));
        for second in 0..3 {
            for request in 0..10 {
                assert!(caller.limiter.check_rate().is_ok(), "{second} {request}");
            }
            let error = caller.limiter.check_rate().unwrap_err();
            assert_eq!(error.status, 429);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        // Unused rate does not carry over.
        tokio::time::advance(Duration::from_secs(60)).await;
        let accepted = (0..100)
            .filter(|_| caller.limiter.check_rate().is_ok())
            .count();
        assert_eq!(accepted, 10);
    }

    #[test]
    fn without_a_rate_nothing_is_rejected() {
        let caller = Caller::new(Grant::all(), Limits::of(None, usize::MAX));
        assert!((0..10_000).all(|_| caller.limiter.check_rate().is_ok()));
        assert!(caller.limiter.open_stream().is_ok());
    }

    #[test]
    fn a_stream_that_ends_makes_room_for_another() {
        let caller = Caller::new(Grant::all(), Limits::of(None, 1));
        let permit = caller.limiter.open_stream().unwrap();
        assert_eq!(caller.limiter.open_stream().unwrap_err().status, 429);
        drop(permit);
        assert!(caller.limiter.open_stream().is_ok());
    }

    #[test]
    fn a_token_has_so_many_requests_in_flight() {
        let mut limits = Limits::of(None, 0);
        limits.requests = 1;
        let caller = Caller::new(Grant::all(), limits);
        let permit = caller.limiter.start_request().unwrap();
        assert_eq!(caller.limiter.start_request().unwrap_err().status, 429);
        drop(permit);
        assert!(caller.limiter.start_request().is_ok());
    }
}
