//! What the older systems have on a server: one look over all keys, in pages, that changes nothing.
//!
//! Blueque keeps a table of its queues; the other two show by the names of their lists.

use std::collections::BTreeSet;

use redis::cmd;
use serde::Serialize;
use windlass_core::Result;

use crate::blueque::{Blueque, Layout};
use crate::{Server, reply};

/// Keys of one page.
const PAGE: usize = 1000;

/// One queue of an older system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Seen {
    /// `redis-work-queue`, `worqr` or `blueque`.
    pub system: &'static str,
    /// Which names its keys have.
    pub layout: &'static str,
    /// What its keys begin with, where that is free.
    pub prefix: Option<String>,
    /// The queue; that system which has none is known by its prefix alone.
    pub queue: Option<String>,
    /// Waiting.
    pub waiting: u64,
    /// In the hands of workers, dead ones among them.
    pub running: u64,
}

/// A key that gives a queue away.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Trace {
    WorkQueue { prefix: String },
    Worqr { prefix: String, queue: String },
}

impl Trace {
    /// What the name of a list tells.
    fn of_list(key: &str) -> Option<Self> {
        if let Some((prefix, queue)) = key.split_once(":queues:") {
            return Some(Self::worqr(prefix, queue));
        }
        let mut ends = [":queue", ":processing"].into_iter();
        let prefix = ends.find_map(|end| key.strip_suffix(end))?;
        Some(Self::WorkQueue {
            prefix: prefix.to_owned(),
        })
    }

    /// What the name of a set tells.
    fn of_set(key: &str) -> Option<Self> {
        let (prefix, queue) = key.split_once(":workingProcesses:")?;
        Some(Self::worqr(prefix, queue))
    }

    fn worqr(prefix: &str, queue: &str) -> Self {
        Self::Worqr {
            prefix: prefix.to_owned(),
            queue: queue.to_owned(),
        }
    }
}

/// Looks for queues of the older systems; Worqr's of the design document have names like any other
/// key and are not found.
pub async fn look(server: &Server) -> Result<Vec<Seen>> {
    let mut traces = BTreeSet::new();
    // An empty list is no list: what is in progress shows by its set.
    traces.extend(scan(server, "list", Trace::of_list).await?);
    traces.extend(scan(server, "set", Trace::of_set).await?);
    let mut seen = Vec::new();
    for trace in traces {
        seen.push(count(server, trace).await?);
    }
    seen.extend(blueque(server, Layout::Released, "released").await?);
    seen.extend(blueque(server, Layout::Document, "document").await?);
    Ok(seen)
}

async fn scan(
    server: &Server,
    kind: &str,
    read: fn(&str) -> Option<Trace>,
) -> Result<BTreeSet<Trace>> {
    let mut traces = BTreeSet::new();
    let mut cursor = "0".to_owned();
    loop {
        let mut scan = cmd("SCAN");
        scan.arg(&cursor).arg("COUNT").arg(PAGE);
        scan.arg("TYPE").arg(kind);
        let mut page = reply::list(server.guest.ask(&scan).await?)?.into_iter();
        cursor = reply::text(page.next().unwrap_or(redis::Value::Nil))?;
        for key in reply::list(page.next().unwrap_or(redis::Value::Nil))? {
            traces.extend(read(&reply::text(key)?));
        }
        if cursor == "0" {
            return Ok(traces);
        }
    }
}

async fn count(server: &Server, trace: Trace) -> Result<Seen> {
    Ok(match trace {
        Trace::WorkQueue { prefix } => Seen {
            system: "redis-work-queue",
            layout: work_queue_layout(server, &prefix).await?,
            waiting: length(server, "LLEN", &format!("{prefix}:queue")).await?,
            running: length(server, "LLEN", &format!("{prefix}:processing")).await?,
            prefix: Some(prefix),
            queue: None,
        },
        Trace::Worqr { prefix, queue } => Seen {
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
    })
}

async fn blueque(server: &Server, layout: Layout, name: &'static str) -> Result<Vec<Seen>> {
    let blueque = Blueque::new(server.clone(), layout);
    let mut seen = Vec::new();
    for queue in blueque.queues().await? {
        let figures = blueque.queue(&queue)?.figures().await?;
        seen.push(Seen {
            system: "blueque",
            layout: name,
            waiting: figures.pending + figures.scheduled,
            running: figures.started,
            prefix: None,
            queue: Some(queue),
        });
    }
    Ok(seen)
}

/// Only a lease or a list of the older layout tells them apart; without one it is the newer.
async fn work_queue_layout(server: &Server, prefix: &str) -> Result<&'static str> {
    let mut running = cmd("LRANGE");
    running.arg(format!("{prefix}:processing")).arg(0).arg(PAGE);
    for id in reply::list(server.guest.ask(&running).await?)? {
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

async fn length(server: &Server, verb: &str, key: &str) -> Result<u64> {
    let mut length = cmd(verb);
    length.arg(key);
    let number = reply::number(&server.guest.ask(&length).await?)?;
    Ok(u64::try_from(number).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_the_queue_they_belong_to() {
        let work = |prefix: &str| Trace::WorkQueue {
            prefix: prefix.to_owned(),
        };
        assert_eq!(Trace::of_list("a:b:queue"), Some(work("a:b")));
        assert_eq!(Trace::of_list("a:processing"), Some(work("a")));
        assert_eq!(
            Trace::of_list("worqr:queues:mail:out"),
            Some(Trace::Worqr {
                prefix: "worqr".to_owned(),
                queue: "mail:out".to_owned()
            })
        );
        assert_eq!(Trace::of_list("blueque_complete_tasks_q"), None);
        assert_eq!(Trace::of_list("somebody:else"), None);
    }
}
