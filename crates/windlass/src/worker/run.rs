//! Running a worker until it is told to stop.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use windlass_core::{Error, Result};
use windlass_worker::{Runtime, Source, Summary};

use super::signals::Signals;
use super::{Running, Worker};
use crate::context::Shared;
use crate::registry::Dispatch;

impl Worker {
    /// Works until the process gets SIGTERM or SIGINT. Then it claims no more, lets its jobs run for
    /// the grace and gives the rest back; a second signal gives all back now.
    ///
    /// Fails before the first job is claimed when something is missing: a handler, a queue, data that
    /// a handler asks for.
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

    /// Works until `end` completes, then stops as [`run`](Self::run) does. Signals are left to you.
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

    /// Works beside other code of the program, until it is told to stop. Signals are left to you.
    pub fn start(self) -> Result<Running> {
        Ok(Running::start(self.into_runtime()?))
    }

    fn into_runtime(mut self) -> Result<Runtime> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let handler = self.dispatch()?;
        self.options.queues = self.sources()?;
        Runtime::new(self.client.stores(), self.options, handler)
    }

    /// The queues it serves.
    pub(crate) fn sources(&self) -> Result<Vec<Source>> {
        if !self.options.queues.is_empty() {
            return Ok(self.options.queues.clone());
        }
        let queues = self.registry.queues();
        if queues.is_empty() {
            let why = "it has no queue, and no typed job that names one";
            let help = "name its queues with Worker::queue";
            return Err(Error::invalid("worker", why, help));
        }
        Ok(queues.into_iter().map(Source::new).collect())
    }

    /// What runs its jobs; fails when a handler asks for data that is not there.
    pub(crate) fn dispatch(&self) -> Result<Arc<dyn windlass_worker::Handle>> {
        self.registry.check(&self.data)?;
        Ok(Arc::new(Dispatch {
            registry: self.registry.clone(),
            hooks: self.hooks.clone().into(),
            shared: Arc::new(Shared {
                client: self.client.clone(),
                data: self.data.clone(),
            }),
        }))
    }
}

/// What a drain needs of a worker: its queues, what runs its jobs, and what its claims promise.
#[cfg(feature = "testing")]
pub(crate) type Rehearsal = (
    Vec<windlass_core::QueueName>,
    Arc<dyn windlass_worker::Handle>,
    windlass_core::Mode,
);

#[cfg(feature = "testing")]
impl Worker {
    pub(crate) fn client(&self) -> &crate::client::Client {
        &self.client
    }

    /// The worker as it would start.
    pub(crate) fn rehearsed(&self) -> Result<Rehearsal> {
        if let Some(fault) = &self.fault {
            let (what, help) = (fault.to_string(), fault.help().to_owned());
            return Err(Error::new(fault.kind(), what, help));
        }
        let handler = self.dispatch()?;
        let mut options = self.options.clone();
        options.queues = self.sources()?;
        options.check()?;
        let queues = options.queues.into_iter().map(|source| source.queue);
        Ok((queues.collect(), handler, options.mode))
    }
}
