//! Verbs that work on all partitions of a queue, or search all of them.

use windlass_core::history;
use windlass_core::store::{
    Changed, ChangedJob, Changes, Cursor, HistoryRow, JobPage, Maintained, QueueDeletion, Setting,
    Settings, Stats,
};
use windlass_core::{Change, Error, Filter, Job, JobId, Result, Target};

use super::{Queue, after_some, all, all_done};

impl Queue {
    pub(crate) async fn get(&self, id: &JobId) -> Result<Option<Job>> {
        self.refresh().await?;
        for partition in self.partitions().iter() {
            if let Some(job) = partition.get(id).await? {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }

    pub(crate) async fn change(
        &self,
        change: Change,
        target: &Target,
        from: Option<&Cursor>,
    ) -> Result<Changes> {
        self.refresh().await?;
        match target {
            Target::Ids(ids) => self.change_ids(change, ids).await,
            Target::UniqueKey(_) => self.change_holder(change, target).await,
            Target::Payload(_) => self.change_page(change, target, None, from).await,
            Target::Filter(filter) => self.change_page(change, target, Some(filter), from).await,
        }
    }

    /// Tries each id in every partition until one knows it.
    async fn change_ids(&self, change: Change, ids: &[JobId]) -> Result<Changes> {
        let partitions = self.partitions();
        let mut items = Vec::with_capacity(ids.len());
        for page in ids.chunks(super::BATCH_MAX) {
            let mut found: Vec<Option<ChangedJob>> = vec![None; page.len()];
            for partition in partitions.iter() {
                let open: Vec<usize> = (0..page.len())
                    .filter(|at| is_not_found(found[*at].as_ref()))
                    .collect();
                if open.is_empty() {
                    break;
                }
                let ids = open.iter().map(|at| page[*at].clone()).collect();
                let replies = partition.change(change, &Target::Ids(ids), None).await;
                let seen = items.iter().chain(found.iter().flatten());
                let is_unchanged = seen.map(Some).all(is_not_found);
                let replies = replies.map_err(|error| {
                    if is_unchanged {
                        error
                    } else {
                        after_some(error)
                    }
                })?;
                for (at, item) in open.into_iter().zip(replies.items) {
                    found[at] = Some(item);
                }
            }
            items.extend(found.into_iter().flatten());
        }
        Ok(JobPage::complete(items))
    }

    async fn change_holder(&self, change: Change, target: &Target) -> Result<Changes> {
        let mut replies = JobPage::default();
        for partition in self.partitions().iter() {
            replies = partition.change(change, target, None).await?;
            if !replies.items.iter().all(|item| is_not_found(Some(item))) {
                break;
            }
        }
        Ok(replies)
    }

    async fn change_page(
        &self,
        change: Change,
        target: &Target,
        filter: Option<&Filter>,
        from: Option<&Cursor>,
    ) -> Result<Changes> {
        let partitions = self.partitions();
        let cursor = PageCursor::read(from, filter, partitions.len())?;
        let page = partitions[cursor.partition]
            .change(change, target, cursor.within.as_deref())
            .await?;
        Ok(JobPage {
            next: cursor.next(page.next, filter, partitions.len()),
            ..page
        })
    }

    pub(crate) async fn list(
        &self,
        filter: &Filter,
        from: Option<&Cursor>,
        limit: usize,
    ) -> Result<JobPage<Job>> {
        self.refresh().await?;
        let partitions = self.partitions();
        let cursor = PageCursor::read(from, Some(filter), partitions.len())?;
        let page = partitions[cursor.partition]
            .list_page(filter, cursor.within.as_deref(), limit)
            .await?;
        Ok(JobPage {
            next: cursor.next(page.next, Some(filter), partitions.len()),
            ..page
        })
    }

    pub(crate) async fn purge(&self) -> Result<u64> {
        self.refresh().await?;
        for partition in self.partitions().iter() {
            let removed = partition.purge().await?;
            if removed > 0 {
                return Ok(removed);
            }
        }
        Ok(0)
    }

    /// Deletes the partitions, the first one last: it is the authority on their number. All are checked
    /// before, so that a queue with jobs or schedules keeps the settings of each partition.
    pub(crate) async fn delete(&self) -> Result<QueueDeletion> {
        let Some(stats) = self.stats().await? else {
            return Ok(QueueDeletion::NotFound);
        };
        if stored_jobs(&stats) > 0 {
            return Ok(QueueDeletion::HasJobs);
        } else if stats.schedules > 0 {
            return Ok(QueueDeletion::HasSchedules);
        }
        for partition in self.partitions().iter().rev() {
            let deleted = partition.delete_queue().await?;
            if matches!(
                deleted,
                QueueDeletion::HasJobs | QueueDeletion::HasSchedules
            ) {
                return Ok(deleted);
            }
        }
        self.first().remove_from_list().await?;
        Ok(QueueDeletion::Deleted)
    }

    pub(crate) async fn maintain(&self, limit: usize) -> Result<Maintained> {
        let mut done = Maintained::default();
        let replies =
            self.in_every(move |partition| async move { partition.maintain(limit).await });
        all_done(replies.await)?
            .into_iter()
            .for_each(|partition| done.add(partition));
        Ok(done)
    }

    pub(crate) async fn set_paused(&self, is_paused: bool) -> Result<()> {
        let replies =
            self.in_every(move |partition| async move { partition.set_paused(is_paused).await });
        all_done(replies.await)?;
        Ok(())
    }

    pub(crate) async fn settings(&self) -> Result<Settings> {
        self.first().settings().await
    }

    /// Changes the first partition last: its settings then apply everywhere.
    pub(crate) async fn set(&self, settings: &[Setting]) -> Result<Settings> {
        self.refresh().await?;
        let partitions = self.partitions();
        if partitions.len() > 1 {
            self.check_change(settings).await?;
        }
        for partition in partitions.iter().skip(1) {
            partition.set(settings).await?;
        }
        let settings = partitions[0].set(settings).await?;
        self.grow_to(&settings).await?;
        Ok(settings)
    }

    /// Checks settings against the jobs and groups of all partitions: each script sees only its own.
    async fn check_change(&self, settings: &[Setting]) -> Result<()> {
        let old = self.settings().await?;
        let mut new = old.clone();
        settings.iter().try_for_each(|setting| new.apply(setting))?;
        let has_jobs = self
            .stats()
            .await?
            .is_some_and(|stats| stored_jobs(&stats) > 0);
        new.check_change(&old, has_jobs, self.has_groups().await?)
    }

    pub(crate) async fn history(&self, minutes: u32) -> Result<Vec<HistoryRow>> {
        let rows = self.in_every(move |partition| async move { partition.history(minutes).await });
        Ok(history::merge(all(rows.await)?))
    }

    pub(crate) async fn stats(&self) -> Result<Option<Stats>> {
        let replies = self.in_every(|partition| async move { partition.stats().await });
        let mut sum: Option<Stats> = None;
        for stats in all(replies.await)?.iter().flatten() {
            sum.get_or_insert_default().add(stats);
        }
        Ok(sum)
    }
}

fn stored_jobs(stats: &Stats) -> u64 {
    let waiting = stats.pending + stats.ready + stats.scheduled + stats.running;
    waiting + stats.succeeded + stats.dead + stats.cancelled
}

fn is_not_found(item: Option<&ChangedJob>) -> bool {
    item.is_none_or(|item| item.changed == Changed::NotFound)
}

/// A position in a listing: a partition, and the script's cursor within it. Written `PARTITION,…`,
/// with commas instead of the tabs in a script's cursor.
#[derive(Debug)]
pub(crate) struct PageCursor {
    pub(crate) partition: usize,
    pub(crate) within: Option<String>,
}

impl PageCursor {
    pub(crate) fn read(
        from: Option<&Cursor>,
        filter: Option<&Filter>,
        partitions: usize,
    ) -> Result<Self> {
        let Some(Cursor(text)) = from else {
            return Ok(Self {
                partition: 0,
                within: None,
            });
        };
        let bad = || {
            let why = "this store did not return it";
            Error::invalid("cursor", why, "start with the first page")
        };
        let (partition, rest) = text.split_once(',').ok_or_else(bad)?;
        let partition: usize = partition.parse().map_err(|_| bad())?;
        // Pending jobs have the score `inf`.
        let is_number =
            |text: &str| text.starts_with(|c: char| c.is_ascii_digit()) || text.starts_with("inf,");
        if partition >= partitions || !(rest.is_empty() || is_number(rest) && rest.contains(',')) {
            return Err(bad());
        }
        let within = rest.replacen(',', "\t", tabs(filter));
        Ok(Self {
            partition,
            within: (!within.is_empty()).then_some(within),
        })
    }

    /// The cursor after a page: at `within` in this partition, or at the next partition.
    pub(crate) fn next(
        &self,
        within: Option<Cursor>,
        filter: Option<&Filter>,
        partitions: usize,
    ) -> Option<Cursor> {
        match within {
            Some(Cursor(text)) => {
                let text = text.replacen('\t', ",", tabs(filter));
                Some(Cursor(format!("{},{text}", self.partition)))
            }
            None if self.partition + 1 < partitions => {
                Some(Cursor(format!("{},", self.partition + 1)))
            }
            None => None,
        }
    }
}

/// The number of tabs in a script's cursor: one, plus one if it names the state.
fn tabs(filter: Option<&Filter>) -> usize {
    match filter {
        Some(Filter { state: Some(_), .. }) => 1,
        _ => 2,
    }
}
