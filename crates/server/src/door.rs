//! What every way to answer has at hand: the store, the rules of this door, and its counts.

use std::fmt;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use windlass_core::{QueueName, Store};

use crate::counts::Counts;
use crate::events::Hub;
use crate::guard::Failures;
use crate::token::Tokens;

/// The largest body of most routes.
pub(crate) const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The largest body of a batch.
pub(crate) const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How many requests are under way at most, those that wait among them.
const REQUESTS_MAX: usize = 4096;

/// One server's door.
pub(crate) struct Door {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tokens: Tokens,
    /// Names it is called by, besides `localhost` and addresses.
    pub(crate) hosts: Vec<String>,
    /// Where `POST /` puts jobs.
    pub(crate) delayed_queue: QueueName,
    /// Set when the server stops: whoever waits is answered.
    pub(crate) stopping: CancellationToken,
    pub(crate) hub: Hub,
    pub(crate) counts: Counts,
    pub(crate) failures: Failures,
    pub(crate) requests: Arc<Semaphore>,
}

impl Door {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        tokens: Tokens,
        hosts: Vec<String>,
        delayed_queue: QueueName,
        stopping: CancellationToken,
    ) -> Self {
        Self {
            hub: Hub::new(Arc::clone(&store)),
            store,
            tokens,
            hosts,
            delayed_queue,
            stopping,
            counts: Counts::default(),
            failures: Failures::default(),
            requests: Arc::new(Semaphore::new(REQUESTS_MAX)),
        }
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").finish_non_exhaustive()
    }
}
