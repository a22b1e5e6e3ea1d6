//! The handlers of a worker by the kind of job they run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::{Error, Kind, QueueName, Result};
use windlass_worker::{AttemptFuture, Outcome};

use crate::context::{Context, Shared};
use crate::extract::{DataMap, Needs};
use crate::handler::Run;
use crate::hook::{Hook, Next};

/// Handlers by kind, and one for the rest.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    kinds: BTreeMap<Kind, Entry>,
    fallback: Option<Entry>,
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) run: Run,
    pub(crate) needs: Needs,
    /// What its author calls it.
    pub(crate) name: &'static str,
    /// The queue of a typed job.
    pub(crate) queue: Option<QueueName>,
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
            let why = "it has two fallbacks";
            return Err(Error::invalid("worker", why, "give it one fallback"));
        }
        Ok(())
    }

    /// The queues of the typed jobs it knows, each once.
    pub(crate) fn queues(&self) -> BTreeSet<QueueName> {
        let entries = self.kinds.values();
        entries.filter_map(|entry| entry.queue.clone()).collect()
    }

    /// Checks that there is a handler, and that each has the data it asks for.
    pub(crate) fn check(&self, data: &DataMap) -> Result<()> {
        let mut entries = self.kinds.values().chain(&self.fallback).peekable();
        if entries.peek().is_none() {
            let help = "give it handlers with Worker::handle, handle_raw or fallback";
            return Err(Error::invalid("worker", "it has no handler", help));
        }
        for entry in entries {
            if let Some(missing) = entry.needs.missing(data) {
                let name = entry.name;
                let why = format!("{name} asks for Data<{missing}>, which it was not given");
                let help = format!("give it with Worker::data, as a value of type {missing}");
                return Err(Error::invalid("worker", why, help));
            }
        }
        Ok(())
    }

    fn choose(&self, kind: Option<&Kind>) -> Run {
        let known = kind.and_then(|kind| self.kinds.get(kind));
        match known.or(self.fallback.as_ref()) {
            Some(entry) => Arc::clone(&entry.run),
            None => self.unknown(kind),
        }
    }

    /// Another worker may know the kind, so this is a failed attempt like any other.
    fn unknown(&self, kind: Option<&Kind>) -> Run {
        let known: Vec<_> = self.kinds.keys().map(Kind::as_str).collect();
        let known = known.join(", ");
        let what = kind.map_or_else(
            || "the job has no kind".to_owned(),
            |kind| format!("this worker has no handler for kind {kind:?}"),
        );
        let error = format!("{what}; it knows: {known}");
        Arc::new(move |_| Box::pin(std::future::ready(Outcome::failed(error.clone()))))
    }
}

/// Hands each job to its handler, through the hooks.
pub(crate) struct Dispatch {
    pub(crate) registry: Registry,
    pub(crate) hooks: Arc<[Hook]>,
    pub(crate) shared: Arc<Shared>,
}

impl windlass_worker::Handle for Dispatch {
    fn handle(&self, attempt: windlass_worker::AttemptContext) -> AttemptFuture {
        let context = Context::new(attempt, Arc::clone(&self.shared));
        let run = self.registry.choose(context.job().kind.as_ref());
        Box::pin(Next::new(Arc::clone(&self.hooks), run).run(context))
    }
}
