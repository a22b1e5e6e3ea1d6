//! Reads and deletes queues.

use bytes::Bytes;
use redis::{Value, cmd};
use windlass_core::Result;

use super::keys::WorqrLayout;
use super::scan::ScanTarget;
use super::tasks::digest;
use super::{Worqr, arg, scripts};
use crate::id;
use crate::reply::{self, count};
use crate::scan::prefix_pattern;

/// Number of deleted tasks to read at once. Small, because tasks may be large.
const DELETED_PAGE: usize = 128;

impl Worqr {
    /// Returns the names of the queues that have tasks (`getQueues`), sorted. In the document layout a
    /// key does not show that it is a queue, so only queues that a worker serves or that Windlass
    /// filled are found.
    pub async fn queues(&self) -> Result<Vec<String>> {
        match self.keys.layout() {
            WorqrLayout::Released => {
                let prefix = self.keys.queue("");
                let pattern = prefix_pattern(&prefix);
                let keys = self.scan(ScanTarget::Lists(&pattern)).await?;
                let names = keys.iter().filter_map(|key| key.strip_prefix(&prefix));
                Ok(names.map(str::to_owned).collect())
            }
            WorqrLayout::Document => self.known_queues().await,
        }
    }

    async fn known_queues(&self) -> Result<Vec<String>> {
        let ours = self.keys.own("queues");
        let mut known = self.scan(ScanTarget::Members(&ours)).await?;
        for worker in self.workers().await? {
            let served = self.keys.served(&worker);
            known.extend(self.scan(ScanTarget::Members(&served)).await?);
        }
        let mut queues = Vec::new();
        for queue in known {
            let kind = self
                .server
                .client
                .ask(cmd("TYPE").arg(self.keys.queue(&queue)))
                .await?;
            if reply::text(kind)? == "list" {
                queues.push(queue);
            }
        }
        Ok(queues)
    }

    /// Returns the next task without taking it (`peekQueue`).
    pub async fn peek(&self, queue: &str) -> Result<Option<Bytes>> {
        self.check_queue(queue)?;
        let last = cmd("LINDEX").arg(self.keys.queue(queue)).arg(-1).take();
        reply::maybe_bytes(self.server.client.ask(&last).await?)
    }

    /// Returns the number of waiting tasks (`countQueue`).
    pub async fn count(&self, queue: &str) -> Result<u64> {
        self.check_queue(queue)?;
        let length = cmd("LLEN").arg(self.keys.queue(queue)).take();
        count(&self.server.client.ask(&length).await?)
    }

    /// Returns up to `limit` waiting tasks, newest first (`getTasks`).
    pub async fn tasks(&self, queue: &str, limit: usize) -> Result<Vec<Bytes>> {
        self.check_queue(queue)?;
        if limit == 0 {
            return Ok(Vec::new());
        }
        let last = i64::try_from(limit).unwrap_or(i64::MAX) - 1;
        let mut range = cmd("LRANGE");
        range.arg(self.keys.queue(queue)).arg(0).arg(last);
        let tasks = reply::list(self.server.client.ask(&range).await?)?;
        tasks.into_iter().map(reply::bytes).collect()
    }

    /// Deletes a queue with all its waiting tasks and notifies its workers (`deleteQueue`). Returns the
    /// number of tasks. Processes in progress continue. The locks of unique tasks are freed page by
    /// page; if the caller dies meanwhile, the next cleanup continues.
    pub async fn delete_queue(&self, queue: &str) -> Result<u64> {
        self.check_queue(queue)?;
        let nonce = id::uuid()?;
        let args = vec![arg(queue), arg(&nonce)];
        let deleted = count(&self.run_repeating(&scripts::DELETE, args).await?)?;
        if deleted > 0 {
            self.free_deleted(&nonce).await?;
        }
        Ok(deleted)
    }

    /// Frees the remaining locks of all deleted queues.
    pub(super) async fn free_all_deleted(&self) -> Result<()> {
        let deleted = self.keys.own("deleted");
        for nonce in self.scan(ScanTarget::Members(&deleted)).await? {
            self.free_deleted(&nonce).await?;
        }
        Ok(())
    }

    async fn free_deleted(&self, nonce: &str) -> Result<()> {
        loop {
            let args = vec![arg(nonce), number_arg(DELETED_PAGE)];
            let reply = reply::list(self.run_repeating(&scripts::READ_DELETED, args).await?)?;
            let mut parts = reply.into_iter();
            let mut next = || parts.next().unwrap_or(Value::Nil);
            let length = next();
            let mut args = vec![arg(nonce), arg(&count(&length)?.to_string())];
            for task in reply::list(next())? {
                args.push(arg(&digest(&reply::bytes(task)?)));
            }
            // Idempotent: the script does nothing if the list has another length by now.
            let left = self.run_repeating(&scripts::FREE_LOCKS, args).await?;
            if count(&left)? == 0 {
                return Ok(());
            }
        }
    }
}

pub(super) fn number_arg(number: usize) -> Bytes {
    arg(&number.to_string())
}
