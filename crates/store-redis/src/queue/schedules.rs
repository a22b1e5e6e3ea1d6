//! Schedules of a queue. A schedule and its jobs are in one partition: that of the unique key of its jobs,
//! or else of its name, with the number of partitions when it was created. It stays there, so operations
//! by name search all partitions. First puts at the same time may create it in two partitions; the puts, or
//! an audit if they were interrupted, remove the newer copy.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::store::{
    Cursor, Page, Ran, Refill, Run, ScheduleChange, SchedulePut, ScheduleRecord,
};
use windlass_core::{Result, Schedule, ScheduleName};

use super::enqueue::{SENDS_MAX, partition_of};
use super::{Queue, all, all_done, disagreement};
use crate::partition::Partition;
use crate::schedule::PutReply;

impl Queue {
    pub(crate) async fn put_schedule(
        &self,
        schedule: &Schedule,
        is_paused: Option<bool>,
    ) -> Result<SchedulePut> {
        for _ in 0..SENDS_MAX {
            let partitions = self.partitions();
            let count = u32::try_from(partitions.len()).unwrap_or(u32::MAX);
            let Some(at) = self.partition_to_put(schedule, count).await? else {
                // A partition that does not know of the new ones still accepts schedules as before.
                self.agree(count, count).await?;
                continue;
            };
            match partitions[at]
                .put_schedule(schedule, is_paused, count)
                .await?
            {
                PutReply::Done(put) => {
                    // Another process may have created it in another partition meanwhile. Of two that do,
                    // the later one sees both copies here.
                    let is_created = count > 1 && put.changed.is_none();
                    if is_created && self.keep_one(&schedule.name).await?.0 != Some(at) {
                        continue;
                    }
                    return Ok(put);
                }
                PutReply::Moved(actual) => self.agree(count, actual).await?,
            }
        }
        Err(disagreement())
    }

    /// The partition that has a schedule, or that it belongs to if none has it. Returns `None` if a
    /// partition knows of fewer partitions: a put there would be accepted meanwhile.
    async fn partition_to_put(&self, schedule: &Schedule, count: u32) -> Result<Option<usize>> {
        if count == 1 {
            return Ok(Some(0));
        }
        let (found, known) = self.keep_one(&schedule.name).await?;
        if known < count {
            return Ok(None);
        }
        Ok(Some(
            found.unwrap_or_else(|| partition_of(&schedule.job, count)),
        ))
    }

    /// Returns the partition that has a schedule, and the lowest number of partitions that one knows of. Two
    /// first puts with different unique keys may create it in two partitions: the older copy stays.
    async fn keep_one(&self, name: &ScheduleName) -> Result<(Option<usize>, u32)> {
        let wanted = name.clone();
        let find = move |partition: Arc<Partition>| {
            let name = wanted.clone();
            async move { Ok((partition.number, partition.schedule(&name).await?)) }
        };
        let partitions = self.partitions();
        let pages = self.in_range(0..partitions.len(), &find).await;
        let (mut copies, mut known) = (Vec::new(), u32::MAX);
        for (number, page) in all(pages)? {
            known = known.min(page.partitions);
            let at = usize::try_from(number).unwrap_or_default();
            copies.extend(page.records.iter().map(|record| (record.created_at, at)));
        }
        copies.sort_unstable();
        for (_, at) in copies.iter().skip(1) {
            let change = ScheduleChange::Delete;
            partitions[*at].change_schedule(name, change).await?;
        }
        Ok((copies.first().map(|(_, at)| *at), known))
    }

    /// Removes the copies that a put left because it was interrupted. Returns the names of the schedules.
    pub(crate) async fn drop_schedule_copies(&self) -> Result<BTreeSet<ScheduleName>> {
        let names = self.in_every(|partition| async move { partition.schedule_names().await });
        let (mut seen, mut copied) = (BTreeSet::new(), BTreeSet::new());
        for name in all(names.await)?.into_iter().flatten() {
            if let Some(name) = seen.replace(name) {
                copied.insert(name);
            }
        }
        for name in &copied {
            self.keep_one(name).await?;
        }
        Ok(copied)
    }

    /// Sends refills to all partitions, which ignore those of schedules that they do not have.
    pub(crate) async fn refill_schedules(&self, refills: Vec<Refill>) -> Result<()> {
        let refills = Arc::new(refills);
        let replies = self.in_every(move |partition| {
            let refills = Arc::clone(&refills);
            async move { partition.refill_schedules(&refills).await }
        });
        all_done(replies.await)?;
        Ok(())
    }

    pub(crate) async fn run_schedule(
        &self,
        name: &ScheduleName,
        run: &Run,
    ) -> Result<Option<Vec<Ran>>> {
        self.refresh().await?;
        for partition in self.partitions().iter() {
            if let Some(ran) = partition.run_schedule(name, run).await? {
                return Ok(Some(ran));
            }
        }
        Ok(None)
    }

    pub(crate) async fn change_schedule(
        &self,
        name: &ScheduleName,
        change: ScheduleChange,
    ) -> Result<bool> {
        let name = name.clone();
        let replies = self.in_every(move |partition| {
            let name = name.clone();
            async move { partition.change_schedule(&name, change).await }
        });
        Ok(all_done(replies.await)?.contains(&true))
    }

    pub(crate) async fn schedule(&self, name: &ScheduleName) -> Result<Option<ScheduleRecord>> {
        self.refresh().await?;
        for partition in self.partitions().iter() {
            if let Some(record) = partition.schedule(name).await?.records.pop() {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Merges a page of each partition. A partition that has more limits the page to its last name: the
    /// names between could be missing.
    pub(crate) async fn schedules(
        &self,
        from: Option<ScheduleName>,
        limit: usize,
    ) -> Result<Page<ScheduleRecord>> {
        let pages = self.in_every(move |partition| {
            let from = from.clone();
            async move { partition.schedules(from.as_ref(), limit).await }
        });
        let (mut items, mut last) = (Vec::new(), None::<ScheduleName>);
        for page in all(pages.await)? {
            let end = page.records.last().map(|record| &record.schedule.name);
            if let Some(end) = end.filter(|_| page.has_more) {
                last = Some(last.map_or_else(|| end.clone(), |last| last.min(end.clone())));
            }
            items.extend(page.records);
        }
        items.sort_by(|one, other| one.schedule.name.cmp(&other.schedule.name));
        let is_within = |record: &ScheduleRecord| {
            last.as_ref()
                .is_none_or(|last| record.schedule.name <= *last)
        };
        let within = items.iter().take_while(|record| is_within(record)).count();
        let has_more = last.is_some() || within > limit;
        items.truncate(within.min(limit));
        let next = items.last().filter(|_| has_more);
        let next = next.map(|record| Cursor(record.schedule.name.to_string()));
        Ok(Page { items, next })
    }
}
