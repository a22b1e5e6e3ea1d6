//! Lists the queues of the older systems on a server. Scans all keys in pages; read-only.
//!
//! Blueque keeps a table of its queues. Queues of the others are recognised by their key names.

use std::collections::BTreeSet;

use redis::cmd;
use serde::Serialize;
use windlass_core::Result;

use crate::blueque::{Blueque, BluequeLayout};
use crate::delayed_queue::{DelayedQueue, PREFIX};
use crate::{InteropServer, reply};

/// Number of keys per page.
const PAGE: usize = 1000;

/// One queue of an older system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct FoundQueue {
    /// `redis-work-queue`, `worqr`, `blueque`, `processor` or `delayed-queue`.
    pub system: &'static str,
    /// Key layout.
    pub layout: &'static str,
    /// Key prefix, for systems where it can be chosen.
    pub prefix: Option<String>,
    /// Queue name. `None` for redis-work-queue and the Delayed Queue App, whose queues are identified
    /// by their prefix.
    pub queue: Option<String>,
    /// Number of waiting items.
    pub waiting: u64,
    /// Number of items held by workers, including dead ones.
    pub running: u64,
}

/// A queue recognised by one of its keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum QueueKey {
    WorkQueue { prefix: String },
    Worqr { prefix: String, queue: String },
    Processor { queue: String },
    DelayedQueue,
}

impl QueueKey {
    /// Recognises a queue by the key of a list.
    fn from_list(key: &str) -> Option<Self> {
        if let Some((prefix, queue)) = key.split_once(":queues:") {
            return Some(Self::worqr(prefix, queue));
        }
        if let Some(queue) = key.strip_prefix("jobs_queued:") {
            return Some(Self::processor(queue));
        }
        if let Some((PREFIX, "dueJobs" | "unackedJobs")) = key.split_once(':') {
            return Some(Self::DelayedQueue);
        }
        let mut suffixes = [":queue", ":processing"].into_iter();
        let prefix = suffixes.find_map(|suffix| key.strip_suffix(suffix))?;
        Some(Self::WorkQueue {
            prefix: prefix.to_owned(),
        })
    }

    /// Recognises a queue by the key of a set.
    fn from_set(key: &str) -> Option<Self> {
        let (prefix, queue) = key.split_once(":workingProcesses:")?;
        Some(Self::worqr(prefix, queue))
    }

    /// Recognises a queue by the key of a sorted set.
    fn from_sorted_set(key: &str) -> Option<Self> {
        match key.split_once(':')? {
            ("jobs_dispatched" | "jobs_processing", queue) => Some(Self::processor(queue)),
            (PREFIX, "jobs") => Some(Self::DelayedQueue),
            _ => None,
        }
    }

    fn processor(queue: &str) -> Self {
        Self::Processor {
            queue: queue.to_owned(),
        }
    }

    fn worqr(prefix: &str, queue: &str) -> Self {
        Self::Worqr {
            prefix: prefix.to_owned(),
            queue: queue.to_owned(),
        }
    }
}

/// Finds the queues of the older systems. Queues in Worqr's document layout are not found, because
/// their key names cannot be recognised.
pub async fn find_queues(server: &InteropServer) -> Result<Vec<FoundQueue>> {
    let mut keys = BTreeSet::new();
    // Redis deletes empty lists: a queue with only tasks in progress is found by its set.
    keys.extend(scan(server, "list", QueueKey::from_list).await?);
    keys.extend(scan(server, "set", QueueKey::from_set).await?);
    keys.extend(scan(server, "zset", QueueKey::from_sorted_set).await?);
    let mut found = Vec::new();
    for key in keys {
        found.push(count(server, key).await?);
    }
    found.extend(blueque(server, BluequeLayout::Released, "released").await?);
    found.extend(blueque(server, BluequeLayout::Document, "document").await?);
    Ok(found)
}

async fn scan(
    server: &InteropServer,
    kind: &str,
    recognise: fn(&str) -> Option<QueueKey>,
) -> Result<BTreeSet<QueueKey>> {
    let page = |cursor: &str| {
        let mut scan = cmd("SCAN");
        scan.arg(cursor).arg("COUNT").arg(PAGE);
        scan.arg("TYPE").arg(kind);
        scan
    };
    let mut keys = BTreeSet::new();
    let add = |key| {
        keys.extend(recognise(&reply::text(key)?));
        Ok(())
    };
    server.scan(page, add).await?;
    Ok(keys)
}

async fn count(server: &InteropServer, key: QueueKey) -> Result<FoundQueue> {
    Ok(match key {
        QueueKey::WorkQueue { prefix } => FoundQueue {
            system: "redis-work-queue",
            layout: work_queue_layout(server, &prefix).await?,
            waiting: length(server, "LLEN", &format!("{prefix}:queue")).await?,
            running: length(server, "LLEN", &format!("{prefix}:processing")).await?,
            prefix: Some(prefix),
            queue: None,
        },
        QueueKey::Worqr { prefix, queue } => FoundQueue {
            system: "worqr",
            layout: "released",
            waiting: length(server, "LLEN", &format!("{prefix}:queues:{queue}")).await?,
            running: length(
                server,
                "SCARD",
                &format!("{prefix}:workingProcesses:{queue}"),
            )
            .await?,
            prefix: Some(prefix),
            queue: Some(queue),
        },
        QueueKey::Processor { queue } => FoundQueue {
            system: "processor",
            layout: "released",
            waiting: length(server, "LLEN", &format!("jobs_queued:{queue}")).await?,
            running: length(server, "ZCARD", &format!("jobs_dispatched:{queue}")).await?
                + length(server, "ZCARD", &format!("jobs_processing:{queue}")).await?,
            prefix: None,
            queue: Some(queue),
        },
        QueueKey::DelayedQueue => {
            let counts = DelayedQueue::new(server.clone(), PREFIX).counts().await?;
            FoundQueue {
                system: "delayed-queue",
                layout: "released",
                waiting: counts.delayed + counts.due,
                running: counts.unacked,
                prefix: Some(PREFIX.to_owned()),
                queue: None,
            }
        }
    })
}

async fn blueque(
    server: &InteropServer,
    layout: BluequeLayout,
    name: &'static str,
) -> Result<Vec<FoundQueue>> {
    let blueque = Blueque::new(server.clone(), layout);
    let mut found = Vec::new();
    for queue in blueque.queues().await? {
        let stats = blueque.queue(&queue)?.stats().await?;
        found.push(FoundQueue {
            system: "blueque",
            layout: name,
            waiting: stats.pending + stats.scheduled,
            running: stats.started,
            prefix: None,
            queue: Some(queue),
        });
    }
    Ok(found)
}

/// Returns 0.1 if a lease or the cleaning list of that layout exists, else 0.3.
async fn work_queue_layout(server: &InteropServer, prefix: &str) -> Result<&'static str> {
    let mut running = cmd("LRANGE");
    running.arg(format!("{prefix}:processing")).arg(0).arg(PAGE);
    for id in reply::list(server.client.ask(&running).await?)? {
        let id = reply::text(id)?;
        if length(
            server,
            "EXISTS",
            &format!("{prefix}:leased_by_session:{id}"),
        )
        .await?
            > 0
        {
            return Ok("0.1");
        }
    }
    let is_cleaning = length(server, "EXISTS", &format!("{prefix}:cleaning")).await? > 0;
    Ok(if is_cleaning { "0.1" } else { "0.3" })
}

async fn length(server: &InteropServer, command: &str, key: &str) -> Result<u64> {
    let mut length = cmd(command);
    length.arg(key);
    reply::count(&server.client.ask(&length).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_recognised_by_its_keys() {
        let work = |prefix: &str| QueueKey::WorkQueue {
            prefix: prefix.to_owned(),
        };
        assert_eq!(QueueKey::from_list("a:b:queue"), Some(work("a:b")));
        assert_eq!(QueueKey::from_list("a:processing"), Some(work("a")));
        assert_eq!(
            QueueKey::from_list("worqr:queues:mail:out"),
            Some(QueueKey::Worqr {
                prefix: "worqr".to_owned(),
                queue: "mail:out".to_owned()
            })
        );
        assert_eq!(QueueKey::from_list("blueque_complete_tasks_q"), None);
        assert_eq!(QueueKey::from_list("another:key"), None);
        let encode = QueueKey::processor("a:b");
        assert_eq!(QueueKey::from_list("jobs_queued:a:b"), Some(encode.clone()));
        let accepted = QueueKey::from_sorted_set("jobs_processing:a:b");
        assert_eq!(accepted, Some(encode));
        let delayed = QueueKey::from_sorted_set("delayed-queue:jobs");
        assert_eq!(delayed, Some(QueueKey::DelayedQueue));
        assert_eq!(QueueKey::from_sorted_set("jobs_progress:a"), None);
    }
}
