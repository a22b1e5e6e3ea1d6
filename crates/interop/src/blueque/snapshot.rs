//! Who holds what: all that is listed anywhere, also by listeners that nobody lists any more.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use redis::{Value, cmd};
use windlass_core::Result;

use super::{Layout, PAGE, Queue, keys, scripts, task};
use crate::reply;

/// In place of an entry: other peers of the design note keep no lists of what they hold.
const UNLISTED: &str = "*";

/// What was seen in one look.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The server's time, in seconds.
    pub(super) now: f64,
    /// Those in the set of listeners.
    pub(super) listed: BTreeSet<String>,
    /// Until when ours are alive, in ms; 0 for those that were declared lost.
    pub(super) beats: BTreeMap<String, f64>,
    /// The tasks that somebody holds, those of one listener together, the newest first.
    pub(super) held: Vec<Held>,
}

/// A task that somebody holds, as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) listener: String,
    pub(super) id: String,
    /// Its entry among the started; [`UNLISTED`] when it is in no list at all.
    pub(super) entry: String,
    /// Empty: there is no record.
    pub(super) status: String,
    pub(super) queue: String,
    pub(super) updated: String,
    pub(super) pid: Option<i64>,
    pub(super) reclaimed: String,
}

impl Survey {
    /// Every listener that is known of, listed or not.
    pub(super) fn listeners(&self) -> BTreeSet<&str> {
        let held = self.held.iter().map(|held| held.listener.as_str());
        let listed = self.listed.iter().map(String::as_str);
        let ours = self.beats.keys().map(String::as_str);
        held.chain(listed).chain(ours).collect()
    }
}

impl Queue {
    /// Looks at everything, page by page; for what those that are known to be lost hold also at
    /// all tasks, where the layout has no other trace of them.
    pub(super) async fn survey(&self, lost: &[String]) -> Result<Survey> {
        let mut survey = Survey {
            // Before all else: what is judged by it is not older than it.
            now: self.now().await?,
            listed: self.listed().await?.into_iter().collect(),
            beats: self.beats().await?,
            ..Survey::default()
        };
        let entries = self.entries().await?;
        let holders = self.holders(&survey, &entries).await?;
        for listener in &holders {
            let own: BTreeMap<_, _> = entries
                .iter()
                .filter(|((holder, _), _)| holder == listener)
                .map(|((_, id), entry)| (id.clone(), entry.clone()))
                .collect();
            self.look_at(listener, own, &mut survey).await?;
        }
        if self.blueque.layout == Layout::Document && !lost.is_empty() {
            self.look_for(lost, &mut survey).await?;
        }
        Ok(survey)
    }

    /// The server's time, in seconds.
    pub(super) async fn now(&self) -> Result<f64> {
        Ok(self.records(&[]).await?.0)
    }

    async fn beats(&self) -> Result<BTreeMap<String, f64>> {
        let found = self
            .blueque
            .scan("ZSCAN", Some(&self.keys.beats), None)
            .await?;
        let pairs = found.chunks_exact(2);
        Ok(pairs
            .map(|pair| (pair[0].clone(), pair[1].parse().unwrap_or_default()))
            .collect())
    }

    /// The started by listener and id.
    async fn entries(&self) -> Result<BTreeMap<(String, String), String>> {
        let found = self
            .blueque
            .scan("SSCAN", Some(&self.keys.started), None)
            .await?;
        let split = |entry: String| {
            // A listener may have spaces in its name; numbers and ids have none.
            let mut words = entry.rsplitn(3, ' ');
            let (id, _pid, listener) = (words.next()?, words.next()?, words.next()?);
            Some(((listener.to_owned(), id.to_owned()), entry.clone()))
        };
        Ok(found.into_iter().filter_map(split).collect())
    }

    /// Everybody who may hold something. Lists of those that were removed are found by their names
    /// alone; a name that also means another queue is told apart by its tasks.
    async fn holders(
        &self,
        survey: &Survey,
        entries: &BTreeMap<(String, String), String>,
    ) -> Result<BTreeSet<String>> {
        let prefix = self.keys.reserved_prefix();
        let pattern = keys::beginning_with(&prefix);
        let found = self.blueque.scan("SCAN", None, Some(&pattern)).await?;
        let lists = found
            .iter()
            .filter_map(|key| Some(key.strip_prefix(&prefix)?.to_owned()));
        let started = entries.keys().map(|(listener, _)| listener.clone());
        let known = survey.listed.iter().chain(survey.beats.keys()).cloned();
        Ok(lists.chain(started).chain(known).collect())
    }

    async fn look_at(
        &self,
        listener: &str,
        mut entries: BTreeMap<String, String>,
        survey: &mut Survey,
    ) -> Result<()> {
        let mut ids = Vec::new();
        let mut known = BTreeSet::new();
        let mut at = 0;
        loop {
            let mut range = cmd("LRANGE");
            let key = self.keys.reserved(listener);
            range.arg(key.as_ref()).arg(at).arg(at + PAGE - 1);
            let page = reply::list(self.blueque.server.guest.ask(&range).await?)?;
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
            at += PAGE;
        }
        let unlisted = entries.keys().filter(|id| !known.contains(*id));
        ids.extend(unlisted.cloned());
        for page in ids.chunks(PAGE) {
            let (_, records) = self.records(page).await?;
            for (id, record) in page.iter().zip(records) {
                survey.held.push(Held {
                    listener: listener.to_owned(),
                    id: id.clone(),
                    entry: entries.remove(id).unwrap_or_default(),
                    ..record
                });
            }
        }
        Ok(())
    }

    async fn look_for(&self, lost: &[String], survey: &mut Survey) -> Result<()> {
        let prefix = keys::task(self.blueque.layout, "");
        let prefix = String::from_utf8_lossy(&prefix).into_owned();
        let pattern = keys::beginning_with(&prefix);
        let found = self.blueque.scan("SCAN", None, Some(&pattern)).await?;
        let listed: BTreeSet<_> = survey.held.iter().map(|held| held.id.clone()).collect();
        let ids = found.iter().filter_map(|key| key.strip_prefix(&prefix));
        let ids: BTreeSet<_> = ids.map(str::to_owned).collect();
        let ids: Vec<_> = ids.difference(&listed).cloned().collect();
        for page in ids.chunks(PAGE) {
            let (_, records) = self.records(page).await?;
            for (id, record) in page.iter().zip(records) {
                if record.status == "started" && lost.contains(&record.listener) {
                    survey.held.push(Held {
                        id: id.clone(),
                        entry: UNLISTED.to_owned(),
                        ..record
                    });
                }
            }
        }
        Ok(())
    }

    /// The time, and what is known of these tasks.
    async fn records(&self, ids: &[String]) -> Result<(f64, Vec<Held>)> {
        let args = ids.iter().map(|id| Bytes::from(id.clone())).collect();
        let mut values = reply::list(self.run(&scripts::RECORDS, args).await?)?.into_iter();
        let now = reply::text(values.next().unwrap_or(Value::Nil))?;
        let mut texts = values.map(reply::text);
        let mut records = Vec::with_capacity(ids.len());
        for _ in ids {
            let mut next = || texts.next().unwrap_or_else(|| Ok(String::new()));
            let (status, queue, updated) = (next()?, next()?, next()?);
            let (pid, reclaimed, worker) = (next()?, next()?, next()?);
            // As released there is no worker, but a number of its own.
            let (listener, pid) = task::holder(&worker).unwrap_or(("", &pid));
            records.push(Held {
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
