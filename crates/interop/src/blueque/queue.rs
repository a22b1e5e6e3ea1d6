//! A queue: tasks come in, now or later, and leave when they are deleted.

use bytes::Bytes;
use redis::Value;
use windlass_core::{Error, Result};

use super::keys::Keys;
use super::listener::{Listener, ListenerOptions};
use super::{Blueque, PAGE, encode, id, refusal, scripts};
use crate::reply;

/// One queue; clones are the same queue.
#[derive(Debug, Clone)]
pub struct Queue {
    pub(super) blueque: Blueque,
    pub(super) keys: Keys,
}

impl Queue {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.keys.queue
    }

    /// Puts a task at the end, and answers its id. Repeated as long as no answer comes: there is
    /// one task in the end.
    pub async fn enqueue(&self, parameters: impl Into<Bytes>) -> Result<String> {
        let (id, _) = self.add(parameters.into(), None).await?;
        Ok(id)
    }

    /// Puts a task into the schedule; one whose time (in seconds) is past goes to the end at once.
    /// Answers its id and its status.
    pub async fn schedule(
        &self,
        parameters: impl Into<Bytes>,
        eta: f64,
    ) -> Result<(String, String)> {
        if !eta.is_finite() {
            return Err(Error::invalid(
                "time",
                format!("{eta} is none"),
                "give seconds since 1970, for example 1700000000.5",
            ));
        }
        self.add(parameters.into(), Some(eta)).await
    }

    async fn add(&self, parameters: Bytes, eta: Option<f64>) -> Result<(String, String)> {
        let id = id::task()?;
        let parameters = encode(self.blueque.layout, parameters);
        let eta = eta.map_or_else(String::new, |eta| eta.to_string());
        let args = vec![Bytes::from(id.clone()), parameters, Bytes::from(eta)];
        let word = self.run(&scripts::ENQUEUE, args).await?;
        let word = match reply::text(word)? {
            // The first of several tries was heard.
            known if known == "known" => self.status(&id).await?,
            status => status,
        };
        Ok((id, word))
    }

    async fn status(&self, id: &str) -> Result<String> {
        let task = self.blueque.get_task(id).await?;
        Ok(task.map_or_else(|| "pending".to_owned(), |task| task.status))
    }

    /// Moves scheduled tasks whose time has come to the end of the queue; says how many. Somebody
    /// has to call this now and then.
    pub async fn enqueue_due_tasks(&self) -> Result<u64> {
        let mut moved = 0;
        loop {
            let args = vec![Bytes::from(PAGE.to_string())];
            let figures = reply::list(self.run(&scripts::DUE, args).await?)?;
            let [looked, pending] = figures.as_slice() else {
                return Ok(moved);
            };
            moved += u64::try_from(reply::number(pending)?).unwrap_or_default();
            if reply::number(looked)? < i64::try_from(PAGE).unwrap_or(i64::MAX) {
                return Ok(moved);
            }
        }
    }

    /// Removes a finished task of this queue.
    pub async fn delete_task(&self, id: &str) -> Result<()> {
        let keys = &self.keys;
        let args = keys.args(vec![Bytes::from(id.to_owned())]);
        // Not repeated: a second try would be told that there is no such task.
        let guest = &self.blueque.server.guest;
        let word = guest.run(&scripts::DELETE, keys.declared(), args).await?;
        refusal::check(&reply::text(word)?, id, self.name())
    }

    /// A listener of this queue, known and alive from now on.
    pub async fn join(&self, options: ListenerOptions) -> Result<Listener> {
        Listener::join(self.clone(), options).await
    }

    pub(super) async fn run(
        &self,
        script: &'static windlass_store_redis::guest::GuestScript,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        self.blueque.run(script, &self.keys, args).await
    }
}
