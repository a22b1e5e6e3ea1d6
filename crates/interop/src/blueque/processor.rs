//! Says how a task goes: started, complete or failed.

use bytes::Bytes;
use windlass_core::{Error, ErrorKind, Result};

use super::queue::Queue;
use super::{Blueque, Task, encode, id, refusal, scripts};
use crate::reply;

/// Ends one task, for the listener that held it when it was read.
#[derive(Debug, Clone)]
pub struct Processor {
    queue: Queue,
    id: String,
    listener: String,
    pid: Option<i64>,
    /// Of the last word, where nobody knows whether it was heard.
    unheard: Option<(&'static str, String)>,
}

impl Processor {
    pub(super) fn new(blueque: &Blueque, task: &Task) -> Result<Self> {
        let (Some(queue), Some(listener)) = (&task.queue, &task.node) else {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("the task {} is {}: nobody holds it", task.id, task.status),
                "take a task first with `windlass interop blueque listen QUEUE`",
            ));
        };
        Ok(Self {
            queue: blueque.queue(queue)?,
            id: task.id.clone(),
            listener: listener.clone(),
            pid: task.pid,
            unheard: None,
        })
    }

    /// Says which process runs it.
    pub async fn start(&mut self, pid: u32) -> Result<()> {
        let args = [&self.id, &self.listener, &pid.to_string()];
        let args = args.map(|text| Bytes::from(text.clone())).to_vec();
        let word = self.queue.run(&scripts::START, args).await?;
        refusal::check(&reply::text(word)?, &self.id, self.queue.name())?;
        self.pid = Some(pid.into());
        Ok(())
    }

    /// Ends it well; refused unless it is started, and when it has ended already. The result may be
    /// empty. A call whose outcome is unknown may be made again.
    pub async fn complete(&mut self, result: impl Into<Bytes>) -> Result<()> {
        self.finish("complete", result.into()).await
    }

    /// Ends it as failed; refused when it has ended already. A call whose outcome is unknown may be
    /// made again.
    pub async fn fail(&mut self, error: impl Into<Bytes>) -> Result<()> {
        self.finish("fail", error.into()).await
    }

    async fn finish(&mut self, word: &'static str, text: Bytes) -> Result<()> {
        let ticket = match self.unheard.take() {
            Some((before, ticket)) if before == word => ticket,
            _ => id::ticket()?,
        };
        let pid = self.pid.map_or_else(String::new, |pid| pid.to_string());
        let args = vec![
            Bytes::from(self.id.clone()),
            Bytes::from(self.listener.clone()),
            Bytes::from(pid),
            Bytes::from_static(word.as_bytes()),
            encode(self.queue.blueque.layout, text),
            // The same for every try: the first that was heard is answered again.
            Bytes::from(ticket.clone()),
        ];
        let answer = self.queue.run(&scripts::FINISH, args).await;
        if answer.is_err() {
            self.unheard = Some((word, ticket));
        }
        let answer = answer?;
        refusal::check(&reply::text(answer)?, &self.id, self.queue.name())
    }
}
