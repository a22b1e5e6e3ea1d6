//! Runs a worker until it is asked to stop.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use windlass_core::{Error, Result};
use windlass_worker::{Runtime, Source, Summary};

use super::signals::Signals;
use super::{RunningWorker, Worker};
use crate::context::Shared;
use crate::registry::Dispatch;

impl Worker {
    /// Runs until the process receives SIGTERM or SIGINT. Then stops claiming, lets jobs finish within
    /// the grace period and releases the rest. A second signal releases all jobs immediately.
    ///
    /// Fails before the first job is claimed if something is missing: a handler, a queue, or data that
    /// a handler takes.
    pub async fn run(self) -> Result<Summary> {
        let runtime = self.into_runtime()?;
        let mut signals = Signals::listen()?;
        let stopper = runtime.stopper();
        let mut work = pin!(runtime.run());
        tokio::select! {
            done = &mut work => return done,
            () = signals.next() => stopper.stop(),
        }
        tokio::select! {
            done = &mut work => return done,
            () = signals.next() => stopper.stop_now(),
        }
        work.await
    }

    /// Runs until `end` completes, then stops like [`run`](Self::run). Does not handle signals.
    pub async fn run_until(self, end: impl Future) -> Result<Summary> {
        let runtime = self.into_runtime()?;
        let stopper = runtime.stopper();
        let mut work = pin!(runtime.run());
        tokio::select! {
            done = &mut work => return done,
            _ = end => stopper.stop(),
        }
        work.await
    }

    /// Starts the worker in the background. Does not handle signals.
    pub fn start(self) -> Result<RunningWorker> {
        Ok(RunningWorker::start(self.into_runtime()?))
    }

    fn into_runtime(mut self) -> Result<Runtime> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let handler = self.dispatch()?;
        self.options.queues = self.sources()?;
        Runtime::new(self.client.connections(), self.options, handler)
    }

    /// Returns the queues it claims from.
    pub(crate) fn sources(&self) -> Result<Vec<Source>> {
        if !self.options.queues.is_empty() {
            return Ok(self.options.queues.clone());
        }
        let queues = self.registry.queues();
        if queues.is_empty() {
            let why = "no queue is set, and there is no typed job to take it from";
            let help = "add a queue with Worker::queue";
            return Err(Error::invalid("worker", why, help));
        }
        Ok(queues.into_iter().map(Source::new).collect())
    }

    /// Returns the handler of all its jobs. Fails if shared data is missing.
    pub(crate) fn dispatch(&self) -> Result<Arc<dyn windlass_worker::Handle>> {
        self.registry.check(&self.data)?;
        Ok(Arc::new(Dispatch {
            registry: self.registry.clone(),
            middleware: self.middleware.clone().into(),
            shared: Arc::new(Shared {
                client: self.client.clone(),
                data: self.data.clone(),
            }),
        }))
    }
}

/// What a drain needs from a worker: its queues, its handler and its mode.
#[cfg(feature = "testing")]
pub(crate) type DrainParts = (
    Vec<windlass_core::QueueName>,
    Arc<dyn windlass_worker::Handle>,
    windlass_core::Mode,
);

#[cfg(feature = "testing")]
impl Worker {
    pub(crate) fn client(&self) -> &crate::client::Client {
        &self.client
    }

    /// Returns what a drain needs, or why the worker would not start.
    pub(crate) fn drain_parts(&self) -> Result<DrainParts> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let handler = self.dispatch()?;
        let mut options = self.options.clone();
        options.queues = self.sources()?;
        options.check()?;
        let queues = options.queues.into_iter().map(|source| source.queue);
        Ok((queues.collect(), handler, options.mode))
    }
}
