//! Runs a worker until it is asked to stop.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use windlass_core::{Error, ErrorKind, Result};
use windlass_worker::{Handle, Options, Runtime, Source, Summary};

use super::{RunningWorker, Worker};
#[cfg(feature = "testing")]
use crate::client::Client;
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

    fn into_runtime(self) -> Result<Runtime> {
        let (options, handler) = self.parts()?;
        Runtime::new(self.client.connections(), options, handler)
    }

    /// Returns its options with its queues, and the handler of all its jobs; or why it cannot start.
    pub(crate) fn parts(&self) -> Result<(Options, Arc<dyn Handle>)> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        self.registry.check(&self.data)?;
        let mut options = self.options.clone();
        if options.queues.is_empty() {
            let queues = self.registry.queues();
            options.queues = queues.into_iter().map(Source::new).collect();
        }
        if options.queues.is_empty() {
            let why = "no queue is set, and there is no typed job to take it from";
            let help = "add a queue with Worker::queue";
            return Err(Error::invalid("worker", why, help));
        }
        options.check()?;
        let handler = Dispatch {
            registry: self.registry.clone(),
            middleware: self.middleware.clone().into(),
            shared: Arc::new(Shared {
                client: self.client.clone(),
                data: self.data.clone(),
            }),
        };
        Ok((options, Arc::new(handler)))
    }

    #[cfg(feature = "testing")]
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }
}

/// Receives SIGTERM and SIGINT, from its creation on.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                let what = "cannot install signal handlers";
                let help = "use Worker::run_until or Worker::start, and stop the worker from code";
                Error::new(ErrorKind::Internal, what, help).caused_by(error)
            })
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
