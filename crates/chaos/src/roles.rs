//! What actors do, a file per role; and what they do it with.

pub mod calls;
pub mod drainer;
pub mod enqueuer;
pub mod hand;
pub mod producer;
pub mod racer;
pub mod stop;
pub mod voice;
pub mod waiter;
pub mod worker;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::{DurabilityLevel, QueueName, Result, Store};

use self::calls::Calls;
use self::voice::Voice;

/// The longest pause before a call is repeated.
const PAUSE_MAX_US: u64 = 10_000;

/// Where an actor acts.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The queue.
    pub queue: QueueName,
    /// Where it says what happens.
    pub voice: Voice,
    /// How long its calls took, and how long they may take.
    pub calls: Calls,
    /// How safe a job has to be for an answer to count.
    pub level: DurabilityLevel,
    /// A failover may undo what was not replicated: claims and completions among it.
    pub may_roll_back: bool,
}

impl Scene {
    /// An actor on a store, with no bound on its calls and content with any level.
    pub fn new(store: Arc<dyn Store>, queue: QueueName, voice: Voice) -> Self {
        Self {
            store,
            queue,
            voice,
            calls: Calls::default(),
            level: DurabilityLevel::Memory,
            may_roll_back: false,
        }
    }

    /// Makes a call, and repeats it for as long as the store cannot answer: every call may be
    /// repeated, and the first answer comes back.
    pub async fn insist<T, F>(&self, call: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        loop {
            if let Some(answer) = self.once(call()).await? {
                return Ok(answer);
            }
            sleep(Duration::from_micros(fastrand::u64(..PAUSE_MAX_US))).await;
        }
    }

    /// Makes a call once; nothing when the store could not answer for now.
    pub async fn once<T>(&self, call: impl Future<Output = Result<T>>) -> Result<Option<T>> {
        self.heard(self.calls.measured(&self.voice, call).await)
    }

    /// The same for a call that may wait for so long besides.
    pub async fn wait<T>(
        &self,
        wait: Duration,
        call: impl Future<Output = Result<T>>,
    ) -> Result<Option<T>> {
        self.heard(self.calls.bounded(&self.voice, wait, call).await)
    }

    fn heard<T>(&self, answer: Result<T>) -> Result<Option<T>> {
        match answer {
            Err(error) if error.is_transient() => {
                self.voice.trouble(&error);
                Ok(None)
            }
            answer => answer.map(Some),
        }
    }
}
