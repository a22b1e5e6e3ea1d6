//! Looks at queues, and deletes them.

use bytes::Bytes;
use redis::{Value, cmd};
use windlass_core::Result;

use super::keys::{Keys, Layout};
use super::search::Search;
use super::tasks::digest;
use super::{Worqr, arg, nonce, scripts};
use crate::reply;

/// How many deleted tasks are read at once to free their locks: they may be large.
const DELETED_PAGE: usize = 128;

impl Worqr {
    /// The queues that have tasks (`getQueues`), by name. In the document's layout nothing shows
    /// that a key is a queue: those that a worker serves or that we filled are found.
    pub async fn queues(&self) -> Result<Vec<String>> {
        match self.keys.layout() {
            Layout::Released => {
                let start = self.keys.queue("");
                let keys = self.search(Search::Lists(&Keys::pattern(&start))).await?;
                let names = keys.iter().filter_map(|key| key.strip_prefix(&start));
                Ok(names.map(str::to_owned).collect())
            }
            Layout::Document => self.known_queues().await,
        }
    }

    async fn known_queues(&self) -> Result<Vec<String>> {
        let ours = self.keys.own("queues");
        let mut known = self.search(Search::Members(&ours)).await?;
        for worker in self.workers().await? {
            let served = self.keys.served(&worker);
            known.extend(self.search(Search::Members(&served)).await?);
        }
        let mut queues = Vec::new();
        for queue in known {
            let kind = self
                .guest
                .ask(cmd("TYPE").arg(self.keys.queue(&queue)))
                .await?;
            if reply::text(kind)? == "list" {
                queues.push(queue);
            }
        }
        Ok(queues)
    }

    /// The task that is taken next (`peekQueue`).
    pub async fn peek(&self, queue: &str) -> Result<Option<Bytes>> {
        self.check_queue(queue)?;
        let last = cmd("LINDEX").arg(self.keys.queue(queue)).arg(-1).take();
        reply::maybe_bytes(self.guest.ask(&last).await?)
    }

    /// How many tasks wait (`countQueue`).
    pub async fn count(&self, queue: &str) -> Result<u64> {
        self.check_queue(queue)?;
        let length = cmd("LLEN").arg(self.keys.queue(queue)).take();
        amount(&self.guest.ask(&length).await?)
    }

    /// The newest `limit` tasks that wait, newest first (`getTasks`); 0 asks for none.
    pub async fn tasks(&self, queue: &str, limit: usize) -> Result<Vec<Bytes>> {
        self.check_queue(queue)?;
        if limit == 0 {
            return Ok(Vec::new());
        }
        let last = i64::try_from(limit).unwrap_or(i64::MAX) - 1;
        let mut range = cmd("LRANGE");
        range.arg(self.keys.queue(queue)).arg(0).arg(last);
        let tasks = reply::list(self.guest.ask(&range).await?)?;
        tasks.into_iter().map(reply::bytes).collect()
    }

    /// Deletes a queue with all its waiting tasks and tells its workers (`deleteQueue`); answers how
    /// many tasks there were. Processes in progress go on. The locks of unique tasks are freed, some
    /// at a time; should this caller end meanwhile, the next cleanup goes on with it.
    pub async fn delete_queue(&self, queue: &str) -> Result<u64> {
        self.check_queue(queue)?;
        let nonce = nonce::uuid()?;
        let args = vec![arg(queue), arg(&nonce)];
        let count = amount(&self.run_repeating(&scripts::DELETE, args).await?)?;
        if count > 0 {
            self.free_deleted(&nonce).await?;
        }
        Ok(count)
    }

    /// Frees the locks of what is left of all deleted queues.
    pub(super) async fn free_all_deleted(&self) -> Result<()> {
        let deleted = self.keys.own("deleted");
        for nonce in self.search(Search::Members(&deleted)).await? {
            self.free_deleted(&nonce).await?;
        }
        Ok(())
    }

    async fn free_deleted(&self, nonce: &str) -> Result<()> {
        loop {
            let args = vec![arg(nonce), number(DELETED_PAGE)];
            let answer = reply::list(self.run_repeating(&scripts::DELETED, args).await?)?;
            let mut parts = answer.into_iter();
            let mut next = || parts.next().unwrap_or(Value::Nil);
            let length = next();
            let mut args = vec![arg(nonce), arg(&amount(&length)?.to_string())];
            for task in reply::list(next())? {
                args.push(arg(&digest(&reply::bytes(task)?)));
            }
            // WorkerCommand how long the list was, it does nothing when it is repeated.
            let left = self.run_repeating(&scripts::FREE, args).await?;
            if amount(&left)? == 0 {
                return Ok(());
            }
        }
    }
}

/// A number that is never below zero.
pub(super) fn amount(value: &Value) -> Result<u64> {
    Ok(u64::try_from(reply::number(value)?).unwrap_or(0))
}

pub(super) fn number(number: usize) -> Bytes {
    arg(&number.to_string())
}
