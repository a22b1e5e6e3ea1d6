//! Starts, completes and fails tasks.

use bytes::Bytes;
use windlass_core::{Error, ErrorKind, Result};

use super::queue::BluequeQueue;
use super::{Blueque, Task, encode, error, scripts};
use crate::{id, reply};

/// Starts and ends one task on behalf of the listener that held it when it was read.
#[derive(Debug, Clone)]
pub struct BluequeProcessor {
    queue: BluequeQueue,
    id: String,
    listener: String,
    pid: Option<i64>,
    /// Operation and ticket of the last call, if its outcome is unknown.
    unconfirmed: Option<(&'static str, String)>,
}

impl BluequeProcessor {
    pub(super) fn new(blueque: &Blueque, task: &Task) -> Result<Self> {
        let (Some(queue), Some(listener)) = (&task.queue, &task.node) else {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "task {} is {} and not held by a listener",
                    task.id, task.status
                ),
                "take a task first with `windlass interop blueque listen QUEUE`",
            ));
        };
        Ok(Self {
            queue: blueque.queue(queue)?,
            id: task.id.clone(),
            listener: listener.clone(),
            pid: task.pid,
            unconfirmed: None,
        })
    }

    /// Starts the task and records the pid of the process that runs it.
    pub async fn start(&mut self, pid: u32) -> Result<()> {
        let args = [&self.id, &self.listener, &pid.to_string()];
        let args = args.map(|text| Bytes::from(text.clone())).to_vec();
        let reply = self.queue.run(&scripts::START, args).await?;
        error::check(&reply::text(reply)?, &self.id, self.queue.name())?;
        self.pid = Some(pid.into());
        Ok(())
    }

    /// Completes the task. Fails unless it is started. The result may be empty. A call whose outcome is
    /// unknown can be retried.
    pub async fn complete(&mut self, result: impl Into<Bytes>) -> Result<()> {
        self.finish("complete", result.into()).await
    }

    /// Fails the task. Returns an error if it has already ended. A call whose outcome is unknown can be
    /// retried.
    pub async fn fail(&mut self, error: impl Into<Bytes>) -> Result<()> {
        self.finish("fail", error.into()).await
    }

    async fn finish(&mut self, operation: &'static str, text: Bytes) -> Result<()> {
        let ticket = match self.unconfirmed.take() {
            Some((before, ticket)) if before == operation => ticket,
            _ => id::random_hex::<8>()?,
        };
        let pid = self.pid.map_or_else(String::new, |pid| pid.to_string());
        let args = vec![
            Bytes::from(self.id.clone()),
            Bytes::from(self.listener.clone()),
            Bytes::from(pid),
            Bytes::from_static(operation.as_bytes()),
            encode(self.queue.blueque.layout, text),
            // The same for every retry, which then gets the reply of the first call.
            Bytes::from(ticket.clone()),
        ];
        let reply = self.queue.run(&scripts::FINISH, args).await;
        if reply.is_err() {
            self.unconfirmed = Some((operation, ticket));
        }
        error::check(&reply::text(reply?)?, &self.id, self.queue.name())
    }
}
