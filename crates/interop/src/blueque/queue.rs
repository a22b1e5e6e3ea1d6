//! A queue: enqueues, schedules and deletes tasks.

use bytes::Bytes;
use redis::Value;
use windlass_core::{Error, Result};

use super::keys::Keys;
use super::listener::{BluequeListener, ListenerOptions};
use super::{Blueque, PAGE, encode, error, scripts};
use crate::{id, reply};

/// A queue. Clones refer to the same queue.
#[derive(Debug, Clone)]
pub struct BluequeQueue {
    pub(super) blueque: Blueque,
    pub(super) keys: Keys,
}

impl BluequeQueue {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.keys.queue
    }

    /// Adds a task to the end of the queue and returns its id. Retries lost calls without adding a
    /// second task.
    pub async fn enqueue(&self, parameters: impl Into<Bytes>) -> Result<String> {
        let (id, _) = self.add(parameters.into(), None).await?;
        Ok(id)
    }

    /// Schedules a task for `eta`, in seconds since 1970. If that is past, the task is enqueued
    /// immediately. Returns its id and status.
    pub async fn schedule(
        &self,
        parameters: impl Into<Bytes>,
        eta: f64,
    ) -> Result<(String, String)> {
        if !eta.is_finite() {
            return Err(Error::invalid(
                "time",
                format!("{eta} is not a finite number"),
                "use seconds since 1970, for example 1700000000.5",
            ));
        }
        self.add(parameters.into(), Some(eta)).await
    }

    async fn add(&self, parameters: Bytes, eta: Option<f64>) -> Result<(String, String)> {
        let id = id::uuid()?;
        let parameters = encode(self.blueque.layout, parameters);
        let eta = eta.map_or_else(String::new, |eta| eta.to_string());
        let args = vec![Bytes::from(id.clone()), parameters, Bytes::from(eta)];
        let reply = self.run(&scripts::ENQUEUE, args).await?;
        let status = match reply::text(reply)? {
            // An earlier try of this call succeeded.
            known if known == "known" => self.status(&id).await?,
            status => status,
        };
        Ok((id, status))
    }

    async fn status(&self, id: &str) -> Result<String> {
        let task = self.blueque.get_task(id).await?;
        Ok(task.map_or_else(|| "pending".to_owned(), |task| task.status))
    }

    /// Moves due delayed tasks to the end of the queue and returns their number. Must be
    /// called regularly.
    pub async fn enqueue_due_tasks(&self) -> Result<u64> {
        let mut moved = 0;
        loop {
            let args = vec![Bytes::from(PAGE.to_string())];
            let counts = reply::list(self.run(&scripts::DUE, args).await?)?;
            let [checked, pending] = counts.as_slice() else {
                return Ok(moved);
            };
            moved += u64::try_from(reply::number(pending)?).unwrap_or_default();
            if reply::number(checked)? < i64::try_from(PAGE).unwrap_or(i64::MAX) {
                return Ok(moved);
            }
        }
    }

    /// Deletes a finished task of this queue.
    pub async fn delete_task(&self, id: &str) -> Result<()> {
        let keys = &self.keys;
        let args = keys.args(vec![Bytes::from(id.to_owned())]);
        // Not retried: a retry would fail with "not found".
        let client = &self.blueque.server.client;
        let reply = client.run(&scripts::DELETE, keys.declared(), args).await?;
        error::check(&reply::text(reply)?, id, self.name())
    }

    /// Registers a listener.
    pub async fn join(&self, options: ListenerOptions) -> Result<BluequeListener> {
        BluequeListener::join(self.clone(), options).await
    }

    pub(super) async fn run(
        &self,
        script: &'static windlass_redis_link::raw_client::RawScript,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        self.blueque.run(script, &self.keys, args).await
    }
}
