//! Reads which listener holds which task, including listeners that are no longer registered.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use redis::{Value, cmd};
use windlass_core::Result;

use super::{BluequeLayout, BluequeQueue, PAGE, keys, scripts, task};
use crate::reply;
use crate::scan::prefix_pattern;

/// Entry of a task that is in no list: other clients of the document layout keep no lists.
const UNLISTED: &str = "*";

/// All listeners and held tasks of a queue.
#[derive(Debug, Default)]
pub(super) struct ListenerSnapshot {
    /// The server's time, in seconds.
    pub(super) now: f64,
    /// Members of the set of listeners.
    pub(super) registered: BTreeSet<String>,
    /// Until when Windlass listeners are alive, in ms; 0 if declared lost.
    pub(super) alive_until: BTreeMap<String, f64>,
    /// Held tasks, grouped by listener, the newest first.
    pub(super) held: Vec<HeldTask>,
}

/// A held task as it was read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HeldTask {
    pub(super) listener: String,
    pub(super) id: String,
    /// Its entry in the set of started tasks; [`UNLISTED`] if it is in no list at all.
    pub(super) entry: String,
    /// Empty if the task has no record.
    pub(super) status: String,
    pub(super) queue: String,
    pub(super) updated: String,
    pub(super) pid: Option<i64>,
    pub(super) reclaimed: String,
}

impl ListenerSnapshot {
    /// Returns all known listeners, registered or not.
    pub(super) fn listeners(&self) -> BTreeSet<&str> {
        let held = self.held.iter().map(|held| held.listener.as_str());
        let registered = self.registered.iter().map(String::as_str);
        let ours = self.alive_until.keys().map(String::as_str);
        held.chain(registered).chain(ours).collect()
    }
}

impl BluequeQueue {
    /// Reads everything, page by page. In the document layout it also scans all tasks if `lost` names
    /// listeners, because other clients keep no lists of held tasks.
    pub(super) async fn snapshot(&self, lost: &[String]) -> Result<ListenerSnapshot> {
        let mut snapshot = ListenerSnapshot {
            // Read first, so that it is not later than the data it is compared with.
            now: self.now().await?,
            registered: self.listener_names().await?.into_iter().collect(),
            alive_until: self.alive_until().await?,
            ..ListenerSnapshot::default()
        };
        let entries = self.entries().await?;
        let holders = self.holders(&snapshot, &entries).await?;
        for listener in &holders {
            let own: BTreeMap<_, _> = entries
                .iter()
                .filter(|((holder, _), _)| holder == listener)
                .map(|((_, id), entry)| (id.clone(), entry.clone()))
                .collect();
            self.add_held_by(listener, own, &mut snapshot).await?;
        }
        if self.blueque.layout == BluequeLayout::Document && !lost.is_empty() {
            self.add_unlisted(lost, &mut snapshot).await?;
        }
        Ok(snapshot)
    }

    /// Returns the server's time, in seconds.
    pub(super) async fn now(&self) -> Result<f64> {
        Ok(self.records(&[]).await?.0)
    }

    async fn alive_until(&self) -> Result<BTreeMap<String, f64>> {
        let found = self
            .blueque
            .scan("ZSCAN", Some(&self.keys.heartbeats), None)
            .await?;
        let pairs = found.chunks_exact(2);
        Ok(pairs
            .map(|pair| (pair[0].clone(), pair[1].parse().unwrap_or_default()))
            .collect())
    }

    /// Returns the entries of started tasks by listener and id.
    async fn entries(&self) -> Result<BTreeMap<(String, String), String>> {
        let found = self
            .blueque
            .scan("SSCAN", Some(&self.keys.started), None)
            .await?;
        let split = |entry: String| {
            // A listener's name may contain spaces; pids and ids do not.
            let mut parts = entry.rsplitn(3, ' ');
            let (id, _pid, listener) = (parts.next()?, parts.next()?, parts.next()?);
            Some(((listener.to_owned(), id.to_owned()), entry.clone()))
        };
        Ok(found.into_iter().filter_map(split).collect())
    }

    /// Returns all listeners that may hold tasks. Lists of removed listeners are found by their key
    /// names; if a key name also fits another queue, the tasks show which queue it is.
    async fn holders(
        &self,
        snapshot: &ListenerSnapshot,
        entries: &BTreeMap<(String, String), String>,
    ) -> Result<BTreeSet<String>> {
        let prefix = self.keys.reserved_prefix();
        let pattern = prefix_pattern(&prefix);
        let found = self.blueque.scan("SCAN", None, Some(&pattern)).await?;
        let lists = found
            .iter()
            .filter_map(|key| Some(key.strip_prefix(&prefix)?.to_owned()));
        let started = entries.keys().map(|(listener, _)| listener.clone());
        let known = snapshot
            .registered
            .iter()
            .chain(snapshot.alive_until.keys())
            .cloned();
        Ok(lists.chain(started).chain(known).collect())
    }

    async fn add_held_by(
        &self,
        listener: &str,
        mut entries: BTreeMap<String, String>,
        snapshot: &mut ListenerSnapshot,
    ) -> Result<()> {
        let mut ids = Vec::new();
        let mut known = BTreeSet::new();
        let mut start = 0;
        loop {
            let mut range = cmd("LRANGE");
            let key = self.keys.reserved(listener);
            range.arg(key.as_ref()).arg(start).arg(start + PAGE - 1);
            let page = reply::list(self.blueque.server.client.ask(&range).await?)?;
            let is_last = page.len() < PAGE;
            for id in page {
                let id = reply::text(id)?;
                if known.insert(id.clone()) {
                    ids.push(id);
                }
            }
            if is_last {
                break;
            }
            start += PAGE;
        }
        let unlisted = entries.keys().filter(|id| !known.contains(*id));
        ids.extend(unlisted.cloned());
        for page in ids.chunks(PAGE) {
            let (_, records) = self.records(page).await?;
            for (id, record) in page.iter().zip(records) {
                snapshot.held.push(HeldTask {
                    listener: listener.to_owned(),
                    id: id.clone(),
                    entry: entries.remove(id).unwrap_or_default(),
                    ..record
                });
            }
        }
        Ok(())
    }

    async fn add_unlisted(&self, lost: &[String], snapshot: &mut ListenerSnapshot) -> Result<()> {
        let prefix = keys::task(self.blueque.layout, "");
        let prefix = String::from_utf8_lossy(&prefix).into_owned();
        let pattern = prefix_pattern(&prefix);
        let found = self.blueque.scan("SCAN", None, Some(&pattern)).await?;
        let listed: BTreeSet<_> = snapshot.held.iter().map(|held| held.id.clone()).collect();
        let ids = found.iter().filter_map(|key| key.strip_prefix(&prefix));
        let ids: BTreeSet<_> = ids.map(str::to_owned).collect();
        let ids: Vec<_> = ids.difference(&listed).cloned().collect();
        for page in ids.chunks(PAGE) {
            let (_, records) = self.records(page).await?;
            for (id, record) in page.iter().zip(records) {
                if record.status == "started" && lost.contains(&record.listener) {
                    snapshot.held.push(HeldTask {
                        id: id.clone(),
                        entry: UNLISTED.to_owned(),
                        ..record
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns the server's time and the records of these tasks.
    async fn records(&self, ids: &[String]) -> Result<(f64, Vec<HeldTask>)> {
        let args = ids.iter().map(|id| Bytes::from(id.clone())).collect();
        let mut values = reply::list(self.run(&scripts::RECORDS, args).await?)?.into_iter();
        let now = reply::text(values.next().unwrap_or(Value::Nil))?;
        let mut texts = values.map(reply::text);
        let mut records = Vec::with_capacity(ids.len());
        for _ in ids {
            let mut next = || texts.next().unwrap_or_else(|| Ok(String::new()));
            let (status, queue, updated) = (next()?, next()?, next()?);
            let (pid, reclaimed, worker) = (next()?, next()?, next()?);
            // The released layout has no field `worker`, but a separate pid.
            let (listener, pid) = task::holder(&worker).unwrap_or(("", &pid));
            records.push(HeldTask {
                listener: listener.to_owned(),
                id: String::new(),
                entry: String::new(),
                status,
                queue,
                updated,
                pid: pid.parse().ok(),
                reclaimed,
            });
        }
        Ok((now.parse().unwrap_or_default(), records))
    }
}
