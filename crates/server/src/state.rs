//! The state shared by all requests of one server.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use windlass_api::Route;
use windlass_api::health::Check;
use windlass_core::{QueueName, Store};

use crate::budget::Budget;
use crate::caller::{Caller, Limits};
use crate::counters::Counters;
use crate::dashboard::{BulkTasks, Cached, FormToken, Html, Live, Point, Sessions};
use crate::events::{Hub, Tickets};
use crate::extra::ExtraRoute;
use crate::guard::AuthFailures;
use crate::metrics::MetricsRecorder;
use crate::scope::Grant;
use crate::serve::Options;
use crate::timeouts::Timeouts;
use crate::token::{TokenEntry, Tokens};

/// The largest request body of most routes.
pub(crate) const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The largest request body of a batch.
pub(crate) const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The shared state of a server.
pub(crate) struct AppState {
    pub(crate) store: Arc<dyn Store>,
    tokens: Tokens,
    /// The caller of each token, in the order of `tokens`.
    callers: Vec<Caller>,
    /// The caller of every request if no tokens are configured.
    pub(crate) anonymous: Caller,
    /// The caller of health checks, which are not rate limited.
    pub(crate) probe: Caller,
    /// The caller of the other routes that need no token: those of the page for signing in.
    pub(crate) visitor: Caller,
    pub(crate) sessions: Sessions,
    /// What forms carry if no token is required.
    pub(crate) form_token: FormToken,
    pub(crate) live: Live,
    pub(crate) bulk: BulkTasks,
    pub(crate) health: Arc<Cached<Vec<Check>>>,
    /// The points of charts.
    pub(crate) history: Arc<Cached<Vec<Point>>>,
    /// Accepted `Host` names, in addition to `localhost` and IP addresses.
    pub(crate) hosts: Vec<String>,
    /// The kind of store, for the front page.
    pub(crate) store_kind: &'static str,
    /// The route of another crate.
    pub(crate) extra: Option<Arc<dyn ExtraRoute>>,
    /// Receives the queues in which a request puts schedules.
    put_schedules: Option<mpsc::Sender<QueueName>>,
    /// The `OpenAPI` document and the content of `/docs`, once they were requested.
    pub(crate) openapi: OnceLock<Bytes>,
    pub(crate) docs: OnceLock<Html>,
    /// Cancelled when the server stops; waiting requests then return early.
    pub(crate) stopping: CancellationToken,
    pub(crate) timeouts: Timeouts,
    pub(crate) hub: Hub,
    pub(crate) tickets: Tickets,
    pub(crate) counters: Counters,
    /// The metrics of this process.
    pub(crate) recorder: &'static MetricsRecorder,
    pub(crate) auth_failures: AuthFailures,
    pub(crate) requests: Arc<Semaphore>,
    requests_max: usize,
    /// The memory budget of the process.
    pub(crate) memory: Budget,
}

impl AppState {
    pub(crate) fn new(store: Arc<dyn Store>, options: Options) -> Self {
        let memory = Budget::new(options.memory_max);
        let caller = |entry: &TokenEntry| {
            let quota = entry.quota;
            let limits = Limits {
                rate: quota.rate.or(options.token_rate_max),
                streams: quota.streams.unwrap_or(options.token_streams_max),
                requests: quota.requests.unwrap_or(options.token_requests_max),
                names: quota.names.unwrap_or(options.token_names_max),
                memory: options.token_memory_max,
                process_memory: memory.clone(),
            };
            Caller::new(entry.grant.clone(), limits).named(&entry.name)
        };
        // Without tokens, only the limits of the process apply.
        let unlimited = |rate, streams| Limits {
            rate,
            streams,
            requests: usize::MAX,
            names: usize::MAX,
            memory: usize::MAX,
            process_memory: memory.clone(),
        };
        let all = Grant::all();
        Self {
            hub: Hub::new(Arc::clone(&store), options.streams_max),
            store,
            callers: options.tokens.all().iter().map(caller).collect(),
            anonymous: Caller::new(all.clone(), unlimited(options.token_rate_max, usize::MAX)),
            probe: Caller::new(all, unlimited(None, 0)),
            visitor: Caller::new(Grant::none(), unlimited(None, 0)),
            sessions: Sessions::default(),
            form_token: FormToken::default(),
            live: Live::new(options.streams_max),
            bulk: BulkTasks::default(),
            health: Arc::default(),
            history: Arc::default(),
            tokens: options.tokens,
            hosts: options.hosts,
            store_kind: options.store_kind,
            extra: options.extra,
            put_schedules: options.put_schedules,
            openapi: OnceLock::new(),
            docs: OnceLock::new(),
            stopping: CancellationToken::new(),
            timeouts: options.timeouts,
            tickets: Tickets::default(),
            counters: Counters::default(),
            recorder: MetricsRecorder::install(),
            auth_failures: AuthFailures::default(),
            requests: Arc::new(Semaphore::new(options.requests_max)),
            requests_max: options.requests_max,
            memory,
        }
    }

    /// Returns the route of another crate, if there is one.
    pub(crate) fn extra_route(&self) -> Option<&'static Route> {
        self.extra.as_ref().map(|extra| extra.route())
    }

    /// Reports a queue in which a request puts schedules. If the receiver is behind, it has to search.
    pub(crate) fn report_schedules(&self, queue: &QueueName) {
        if let Some(sender) = &self.put_schedules {
            let _ = sender.try_send(queue.clone());
        }
    }

    /// Waits, or until the server stops.
    pub(crate) async fn pause(&self, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.stopping.cancelled() => {}
        }
    }

    /// Returns whether no token is required.
    pub(crate) fn is_open(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Returns the caller of a token, or `None` if the token is unknown.
    pub(crate) fn caller(&self, secret: &str) -> Option<&Caller> {
        self.callers.get(self.tokens.find(secret)?)
    }

    /// Returns whether a caller needs no token, although the server has some.
    pub(crate) fn is_unproven(&self, caller: &Caller) -> bool {
        self.is_probe(caller) || Arc::ptr_eq(&caller.limiter, &self.visitor.limiter)
    }

    /// Returns whether the request is a health check. Those are served even under overload, so that
    /// a busy server is not restarted.
    pub(crate) fn is_probe(&self, caller: &Caller) -> bool {
        Arc::ptr_eq(&caller.limiter, &self.probe.limiter)
    }

    /// Returns the number of requests in flight.
    pub(crate) fn in_flight(&self) -> usize {
        let free = self.requests.available_permits();
        self.requests_max.saturating_sub(free)
    }
}

impl fmt::Debug for AppState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppState").finish_non_exhaustive()
    }
}
