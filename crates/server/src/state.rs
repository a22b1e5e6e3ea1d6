//! What every way to answer has at hand: the store, the rules of this door, and its counts.

use std::fmt;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use windlass_core::{QueueName, Store};

use crate::caller::Pass;
use crate::counters::Counts;
use crate::events::{Hub, Tickets};
use crate::guard::Failures;
use crate::scope::Grant;
use crate::serve::Options;
use crate::timeouts::Waits;
use crate::token::{Known, Tokens};

/// The largest body of most routes.
pub(crate) const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The largest body of a batch.
pub(crate) const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One server's door.
pub(crate) struct Door {
    pub(crate) store: Arc<dyn Store>,
    tokens: Tokens,
    /// What each of the tokens gives, in their order.
    passes: Vec<Pass>,
    /// For everybody, where there are no tokens.
    pub(crate) everybody: Pass,
    /// For probes, which are not counted.
    pub(crate) probe: Pass,
    /// Names it is called by, besides `localhost` and addresses.
    pub(crate) hosts: Vec<String>,
    /// Where `POST /` puts jobs.
    pub(crate) delayed_queue: QueueName,
    /// Set when the server stops: whoever waits is answered.
    pub(crate) stopping: CancellationToken,
    pub(crate) waits: Waits,
    pub(crate) hub: Hub,
    pub(crate) tickets: Tickets,
    pub(crate) counts: Counts,
    pub(crate) failures: Failures,
    pub(crate) requests: Arc<Semaphore>,
    requests_max: usize,
}

impl Door {
    pub(crate) fn new(store: Arc<dyn Store>, options: Options) -> Self {
        let pass = |known: &Known| {
            let rate = known.quota.rate.or(options.token_rate_max);
            let streams = known.quota.streams.unwrap_or(options.token_streams_max);
            Pass::new(known.grant.clone(), rate, streams)
        };
        let all = Grant::all();
        Self {
            hub: Hub::new(Arc::clone(&store), options.streams_max),
            store,
            passes: options.tokens.all().iter().map(pass).collect(),
            everybody: Pass::new(all.clone(), options.token_rate_max, usize::MAX),
            probe: Pass::new(all, None, 0),
            tokens: options.tokens,
            hosts: options.hosts,
            delayed_queue: options.delayed_queue,
            stopping: CancellationToken::new(),
            waits: options.waits,
            tickets: Tickets::default(),
            counts: Counts::default(),
            failures: Failures::default(),
            requests: Arc::new(Semaphore::new(options.requests_max)),
            requests_max: options.requests_max,
        }
    }

    /// Whether everybody is let in.
    pub(crate) fn is_open(&self) -> bool {
        self.tokens.is_empty()
    }

    /// What a token gives; nothing where it is unknown.
    pub(crate) fn pass(&self, secret: &str) -> Option<&Pass> {
        self.passes.get(self.tokens.find(secret)?)
    }

    /// Whether this is the pass of a probe: it is answered even when there is no room for others,
    /// lest somebody restarts a server because it is busy.
    pub(crate) fn is_probe(&self, pass: &Pass) -> bool {
        Arc::ptr_eq(&pass.meter, &self.probe.meter)
    }

    /// How many requests are being answered now.
    pub(crate) fn under_way(&self) -> usize {
        let free = self.requests.available_permits();
        self.requests_max.saturating_sub(free)
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").finish_non_exhaustive()
    }
}
