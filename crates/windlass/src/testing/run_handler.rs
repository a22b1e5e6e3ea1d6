//! Runs a single handler, without a queue.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use windlass_core::store::ClaimedJob;
use windlass_core::{ClaimRequest, Token};
use windlass_worker::{Outcome, run_handler};

use super::Testing;
use crate::client::Client;
use crate::context::{Context, Shared};
use crate::extract::DataMap;
use crate::handler::{Entry, Function, IntoOutcome, TypedArguments};

/// Runs a handler with a job as a worker would: through JSON, with a context. Await the returned value
/// to get the outcome.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use windlass::{Data, Outcome, TypedJob, testing};
/// # #[derive(Serialize, Deserialize, TypedJob)]
/// # #[job(kind = "add", output = u32)]
/// # struct Add(u32);
/// async fn add(Add(number): Add, more: Data<u32>) -> Result<u32, std::io::Error> {
///     Ok(number + *more)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let outcome = testing::run(add, Add(3)).data(4_u32).await;
/// assert_eq!(outcome, Outcome::Done(Some("7".into())));
/// # }
/// ```
pub fn run<F, A, M>(function: F, job: A::Job) -> HandlerRun<A::Job>
where
    F: Function<A>,
    F::Future: Send + 'static,
    F::Output: IntoOutcome<A::Job, M>,
    A: TypedArguments,
{
    HandlerRun {
        handler: Entry::typed(function),
        job,
        data: DataMap::default(),
        attempt: 1,
    }
}

/// A handler to run. See [`run`].
#[must_use = "the handler does not run until this is awaited"]
pub struct HandlerRun<J> {
    handler: Entry,
    job: J,
    data: DataMap,
    attempt: u32,
}

impl<J> HandlerRun<J> {
    /// Adds shared data.
    pub fn data<T: Send + Sync + 'static>(mut self, data: T) -> Self {
        self.data.insert(data);
        self
    }

    /// Sets the number of the attempt (default: 1).
    pub fn attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }
}

impl<J: crate::TypedJob> IntoFuture for HandlerRun<J> {
    type Output = Outcome;
    type IntoFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let Entry {
            run, needs, name, ..
        } = self.handler;
        if let Some(missing) = needs.missing(&self.data) {
            panic!("{name} takes Data<{missing}>; add it with .data()");
        }
        Box::pin(async move {
            let client = Testing::new().client();
            let handle = client.enqueue(self.job).await;
            let handle = handle.unwrap_or_else(|error| panic!("{error}; {}", error.help()));
            let (mut job, token) = claimed(&client, handle.queue()).await;
            job.attempt = self.attempt;
            let (store, queue) = (client.store().clone(), handle.queue().clone());
            let attempt = windlass_worker::AttemptContext::detached(store, queue, job, token);
            let data = self.data;
            let shared = Arc::new(Shared { client, data });
            let context = Context::new(attempt, shared);
            run_handler(&context, || run(context.clone())).await
        })
    }
}

async fn claimed(client: &Client, queue: &windlass_core::QueueName) -> (ClaimedJob, Token) {
    let claim = client.store().claim(queue, ClaimRequest::single(1)).await;
    let claim = claim.expect("the store replies");
    let claim = claim.expect("a delayed job cannot be run by itself");
    let job = claim.jobs.into_iter().next();
    (job.expect("a claim has a job"), claim.token)
}

impl<J> fmt::Debug for HandlerRun<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerRun")
            .field("handler", &self.handler.name)
            .finish_non_exhaustive()
    }
}
