//! The handlers of a worker, by job kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::store::Kind;
use windlass_core::{Error, QueueName, Result};
use windlass_worker::{AttemptFuture, Outcome};

use crate::context::{Context, Shared};
use crate::extract::DataMap;
use crate::handler::{BoxedHandler, Entry};
use crate::middleware::{Middleware, Next};

/// The handlers by kind, and the fallback.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    kinds: BTreeMap<Kind, Entry>,
    fallback: Option<Entry>,
}

impl Registry {
    pub(crate) fn add(&mut self, kind: &str, entry: Entry) -> Result<()> {
        let kind = Kind::new(kind)?;
        let name = entry.name;
        if let Some(first) = self.kinds.insert(kind.clone(), entry) {
            let why = format!("{} and {name} both handle {kind:?}", first.name);
            return Err(Error::invalid("worker", why, "handle each kind once"));
        }
        Ok(())
    }

    pub(crate) fn set_fallback(&mut self, entry: Entry) -> Result<()> {
        if self.fallback.replace(entry).is_some() {
            let why = "two fallbacks were added";
            return Err(Error::invalid("worker", why, "add one fallback"));
        }
        Ok(())
    }

    /// Returns the queues of all typed jobs.
    pub(crate) fn queues(&self) -> BTreeSet<QueueName> {
        let entries = self.kinds.values();
        entries.filter_map(|entry| entry.queue.clone()).collect()
    }

    /// Checks that there is a handler, and that all data they need is there.
    pub(crate) fn check(&self, data: &DataMap) -> Result<()> {
        let mut entries = self.kinds.values().chain(&self.fallback).peekable();
        if entries.peek().is_none() {
            let help = "add one with Worker::handle, handle_raw or fallback";
            return Err(Error::invalid("worker", "no handler is set", help));
        }
        for entry in entries {
            if let Some(missing) = entry.needs.missing(data) {
                let name = entry.name;
                let why = format!("{name} takes Data<{missing}>, but no such data was added");
                let help = format!("add it with Worker::data, as a value of type {missing}");
                return Err(Error::invalid("worker", why, help));
            }
        }
        Ok(())
    }

    fn choose(&self, kind: Option<&Kind>) -> BoxedHandler {
        let known = kind.and_then(|kind| self.kinds.get(kind));
        match known.or(self.fallback.as_ref()) {
            Some(entry) => Arc::clone(&entry.run),
            None => self.unknown(kind),
        }
    }

    /// A handler that fails the attempt. Not permanent, since another worker may have a handler.
    fn unknown(&self, kind: Option<&Kind>) -> BoxedHandler {
        let known: Vec<_> = self.kinds.keys().map(Kind::as_str).collect();
        let known = known.join(", ");
        let what = kind.map_or_else(
            || "the job has no kind".to_owned(),
            |kind| format!("this worker has no handler for kind {kind:?}"),
        );
        let error = format!("{what}; known kinds: {known}");
        Arc::new(move |_| Box::pin(std::future::ready(Outcome::failed(error.clone()))))
    }
}

/// Runs each job with its handler, through the middleware.
pub(crate) struct Dispatch {
    pub(crate) registry: Registry,
    pub(crate) middleware: Arc<[Middleware]>,
    pub(crate) shared: Arc<Shared>,
}

impl windlass_worker::Handle for Dispatch {
    fn handle(&self, attempt: windlass_worker::AttemptContext) -> AttemptFuture {
        let context = Context::new(attempt, Arc::clone(&self.shared));
        let run = self.registry.choose(context.job().kind.as_ref());
        Box::pin(Next::new(Arc::clone(&self.middleware), run).run(context))
    }
}
