//! A command that is one request: executes it and prints the reply.

use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use windlass::{OpenMode, QueueName, Store, StoreUrl};
use windlass_api::Code;
use windlass_api::request::{ApiResult, QueueRequest, StoreRequest};

use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::session::Session;

/// A request on one queue.
#[derive(Debug, Args)]
pub(crate) struct OnQueue<R: Args> {
    /// Queue name
    pub(super) queue: QueueName,

    #[command(flatten)]
    pub(super) request: R,
}

/// A request on one queue, or on all.
#[derive(Debug, Args)]
pub(crate) struct OnQueues<R: Args> {
    /// Queue name
    #[arg(required_unless_present = "all_queues")]
    queue: Option<QueueName>,

    /// All queues of the store
    #[arg(long, conflicts_with = "queue")]
    pub(super) all_queues: bool,

    #[command(flatten)]
    pub(super) request: R,
}

impl<R: Args> OnQueues<R> {
    /// Returns the request if it is on one queue.
    pub(super) fn on_one(self) -> Option<OnQueue<R>> {
        let request = self.request;
        self.queue.map(|queue| OnQueue { queue, request })
    }

    /// Returns the queue, or all queues by name.
    pub(super) async fn queues(&self, store: &dyn Store) -> Result<Vec<QueueName>> {
        match &self.queue {
            Some(queue) => Ok(vec![queue.clone()]),
            None => Ok(store.queues().await?),
        }
    }

    /// Opens the store, which must exist, if the request is valid.
    pub(super) async fn store(
        &self,
        request: &impl QueueRequest,
        session: &Session,
    ) -> Result<Arc<dyn Store>> {
        let any = QueueName::new("any")?;
        store_for(request, self.queue.as_ref().unwrap_or(&any), session).await
    }
}

/// A reply that can be printed as text.
pub(crate) trait Print: Serialize {
    fn print(&self, output: &mut Output);

    /// Prints the reply as JSON or as text.
    fn show(&self, session: &mut Session) -> Exit
    where
        Self: Sized,
    {
        session.output.result(self, |output| self.print(output));
        Exit::Ok
    }
}

/// Executes a request on one queue and prints its reply.
pub(super) async fn run<R>(arguments: OnQueue<R>, session: &mut Session) -> Result<Exit>
where
    R: QueueRequest<Reply: Print> + Args,
{
    let OnQueue { queue, request } = arguments;
    let store = store_for(&request, &queue, session).await?;
    let reply = request.execute(store.as_ref(), &queue).await?;
    Ok(reply.show(session))
}

/// Executes a request on the store and prints its reply.
pub(super) async fn run_on_store<R>(request: R, session: &mut Session) -> Result<Exit>
where
    R: StoreRequest<Reply: Print>,
{
    check_on_store(&request).await?;
    let store = session.store().await?;
    Ok(request.execute(store.as_ref()).await?.show(session))
}

/// Rejects an invalid request on the store before the store is opened.
pub(super) async fn check_on_store(request: &impl StoreRequest) -> Result<()> {
    let empty = empty_store().await?;
    reject_invalid(request.clone().execute(empty.as_ref()).await)
}

/// Opens the store, which must exist, if the request is valid.
pub(super) async fn store_for(
    request: &impl QueueRequest,
    queue: &QueueName,
    session: &Session,
) -> Result<Arc<dyn Store>> {
    check(request, queue).await?;
    session.store().await
}

/// Rejects an invalid request before a store is opened or created for it.
pub(super) async fn check(request: &impl QueueRequest, queue: &QueueName) -> Result<()> {
    let empty = empty_store().await?;
    reject_invalid(request.clone().execute(empty.as_ref(), queue).await)
}

/// Returns an empty store. It rejects invalid requests for the same reasons as the real one, which is
/// not opened for them.
async fn empty_store() -> Result<Arc<dyn Store>> {
    Ok(windlass::open(&StoreUrl::Memory, OpenMode::CreateIfMissing).await?)
}

fn reject_invalid<T>(reply: ApiResult<T>) -> Result<()> {
    match reply {
        Err(error) if error.code == Code::Invalid => Err(error.into()),
        _ => Ok(()),
    }
}
