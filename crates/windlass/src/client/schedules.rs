//! The schedules of a queue.

use windlass_core::limits::PAGE;
use windlass_core::store::{
    Clock, Ran, Run, ScheduleChange, SchedulePut, ScheduleRecord, SystemClock,
};
use windlass_core::{QueueName, Result, ScheduleName, Timestamp};
use windlass_schedule::Plan;

use super::Client;
use crate::schedule::ScheduleBuilder;

impl Client {
    /// Returns the schedules of a queue, to read and change them.
    pub fn schedules(&self, queue: &str) -> QueueSchedules {
        QueueSchedules {
            client: self.clone(),
            queue: queue.to_owned(),
        }
    }
}

/// The schedules of a queue; made by [`Client::schedules`].
///
/// ```
/// use std::time::Duration;
/// use windlass::store::Overlap;
/// use windlass::{Client, Schedule};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::connect("memory:").await?;
/// let reports = client.schedules("reports");
/// let nightly = Schedule::cron("nightly", "30 2 * * *").zone("Europe/Berlin").raw("daily report");
/// reports.put(nightly.overlap(Overlap::Buffer)).await?;
/// reports.put(Schedule::every("refresh", Duration::from_secs(600)).raw("cache")).await?;
///
/// assert_eq!(reports.list().await?.len(), 2);
/// assert_eq!(reports.next("refresh", 3).await?.len(), 3);
/// reports.run("nightly", false).await?;
/// assert!(reports.pause("nightly").await? && reports.delete("refresh").await?);
/// let record = reports.get("nightly").await?.ok_or("it was put")?;
/// assert!(record.is_paused && record.current.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct QueueSchedules {
    client: Client,
    queue: String,
}

impl QueueSchedules {
    fn queue(&self) -> Result<QueueName> {
        QueueName::new(&self.queue)
    }

    /// Creates a schedule or changes it. An identical one changes nothing, so that a program may put its
    /// schedules whenever it starts.
    pub async fn put(&self, schedule: ScheduleBuilder) -> Result<SchedulePut> {
        let (schedule, is_paused) = schedule.build()?;
        let store = self.client.store().as_ref();
        windlass_schedule::put(store, &self.queue()?, schedule, is_paused).await
    }

    /// Returns a schedule with its state and history.
    pub async fn get(&self, name: &str) -> Result<Option<ScheduleRecord>> {
        let name = ScheduleName::new(name)?;
        self.client.store().schedule(&self.queue()?, &name).await
    }

    /// Returns all schedules of the queue, ordered by name.
    pub async fn list(&self) -> Result<Vec<ScheduleRecord>> {
        let (queue, store) = (self.queue()?, self.client.store());
        let mut records = Vec::new();
        let mut from = None;
        loop {
            let page = store.schedules(&queue, from, PAGE).await?;
            records.extend(page.items);
            from = page.next;
            if from.is_none() {
                return Ok(records);
            }
        }
    }

    /// Returns the next instants of a schedule, up to `count`. Empty if it does not exist or has ended.
    pub async fn next(&self, name: &str, count: usize) -> Result<Vec<Timestamp>> {
        let Some(record) = self.get(name).await? else {
            return Ok(Vec::new());
        };
        let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
        let plan = Plan::new(&record.schedule.rule)?;
        let left = record
            .schedule
            .times
            .map_or(u64::MAX, |times| times.saturating_sub(record.total.fired));
        let count = count.min(usize::try_from(left).unwrap_or(usize::MAX));
        let instants = plan.after(record.settled_until.max(now));
        Ok(instants.take(count).collect())
    }

    /// Enqueues a job of a schedule now. Unless it is forced, it obeys the overlap policy. Returns `None` if
    /// the schedule does not exist.
    pub async fn run(&self, name: &str, is_forced: bool) -> Result<Option<Ran>> {
        let (queue, name) = (self.queue()?, ScheduleName::new(name)?);
        let run = Run::now(is_forced);
        let ran = self.client.store().run_schedule(&queue, &name, run).await?;
        Ok(ran.and_then(|mut ran| ran.pop()))
    }

    /// Lets instants pass without firing. Returns false if the schedule does not exist.
    pub async fn pause(&self, name: &str) -> Result<bool> {
        self.change(name, ScheduleChange::Pause).await
    }

    /// Resumes a paused schedule. Returns false if it does not exist.
    pub async fn resume(&self, name: &str) -> Result<bool> {
        self.change(name, ScheduleChange::Resume).await
    }

    /// Deletes a schedule and its history, but not its jobs. Returns false if it does not exist.
    pub async fn delete(&self, name: &str) -> Result<bool> {
        self.change(name, ScheduleChange::Delete).await
    }

    async fn change(&self, name: &str, change: ScheduleChange) -> Result<bool> {
        let (queue, name) = (self.queue()?, ScheduleName::new(name)?);
        let store = self.client.store();
        store.change_schedule(&queue, &name, change).await
    }

    /// Enqueues the jobs of all instants from `from` to `to`. Those that fired already are duplicates, and
    /// add nothing. Returns the number of jobs added, or `None` if the schedule does not exist.
    pub async fn backfill(
        &self,
        name: &str,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Option<u64>> {
        let Some(record) = self.get(name).await? else {
            return Ok(None);
        };
        let (queue, store) = (self.queue()?, self.client.store());
        let plan = Plan::new(&record.schedule.rule)?;
        let before = Timestamp::from_ms(from.as_ms().saturating_sub(1));
        let mut instants = plan.after(before).take_while(|at| *at <= to);
        let mut added = 0;
        loop {
            let page: Vec<_> = instants.by_ref().take(PAGE).collect();
            if page.is_empty() {
                return Ok(Some(added));
            }
            let name = &record.schedule.name;
            let ran = store
                .run_schedule(&queue, name, Run::Instants(page))
                .await?;
            let is_new = |ran: &&Ran| matches!(ran, Ran::Enqueued(job) if !job.is_duplicate());
            added += ran.iter().flatten().filter(is_new).count() as u64;
        }
    }
}
