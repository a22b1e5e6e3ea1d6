//! get, list, stats: reads jobs and stats. Read-only.

use windlass_core::store::{Cursor, Page, Stats};
use windlass_core::{Filter, Job, JobId, JobState, Result, Timestamp};
use windlass_redis_link::reply::{Reply, unexpected_reply};

use crate::change::scan_args;
use crate::codec::job::RawJob;
use crate::codec::opts::{self, Opts};
use crate::codec::stats::{StateCounts, StatsRecord};
use crate::codec::{job_id, score};
use crate::partition::{Partition, text_arg};

impl Partition {
    pub(crate) async fn get(&self, id: &JobId) -> Result<Option<Job>> {
        let args = vec![text_arg(id.as_str())];
        let mut reply = self.run_list(&self.scripts().get, args).await?;
        if reply.is_empty() {
            return Ok(None);
        }
        let raw = raw_job(&mut reply)?;
        // Zero while the lease is being reaped.
        let until = maybe_score(&mut reply)?.filter(|until| *until > 0.0);
        let lease_until = until.map(|until| score("lease", until)).transpose()?;
        let job = raw.read(&self.queue)?;
        Ok(Some(Job { lease_until, ..job }))
    }

    pub(crate) async fn list_page(
        &self,
        filter: &Filter,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Page<Job>> {
        let args = scan_args("", filter, None, from, limit);
        let mut reply = self.run_list(&self.scripts().list, args).await?;
        let next = reply.text()?;
        let mut items = Vec::new();
        while !reply.is_empty() {
            items.push(raw_job(&mut reply)?.read(&self.queue)?);
        }
        let next = (!next.is_empty()).then_some(Cursor(next));
        Ok(Page { items, next })
    }

    pub(crate) async fn stats(&self) -> Result<Option<Stats>> {
        let mut reply = self.run_list(&self.scripts().stats, Vec::new()).await?;
        if reply.is_empty() {
            return Ok(None);
        }
        let record = StatsRecord::read(&reply.bytes()?)?;
        let now = Timestamp::from_ms(reply.count()?);
        let mut counts = StateCounts {
            scheduled: reply.count()?,
            running: reply.count()?,
            succeeded: reply.count()?,
            dead: reply.count()?,
            cancelled: reply.count()?,
            ..StateCounts::default()
        };
        let next_due = reply.text()?;
        counts.next_due = next_due.parse().ok().map(Timestamp::from_ms);
        (counts.pending, counts.schedules) = (reply.count()?, reply.count()?);
        counts.resting_until = Timestamp::from_ms(reply.count()?);
        while !reply.is_empty() {
            let id = job_id("first job of a list", &reply.bytes()?)?;
            let due_at = opts::due_at(&id, &Opts::read(&reply.bytes()?)?)?;
            let oldest = counts.oldest_due.unwrap_or(due_at);
            counts.oldest_due = Some(oldest.min(due_at));
        }
        Ok(Some(record.stats(now, &counts)))
    }
}

/// A score; `None` if it is missing or not a number.
fn maybe_score(reply: &mut Reply) -> Result<Option<f64>> {
    let text = reply.maybe_bytes()?;
    Ok(text.and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok()))
}

/// The twelve values of one job, in the order of `lua/lib/read.lua`.
fn raw_job(reply: &mut Reply) -> Result<RawJob> {
    let id = job_id("job", &reply.bytes()?)?;
    let state = reply.text()?;
    let state =
        JobState::from_text(&state).ok_or_else(|| unexpected_reply("it has an unknown state"))?;
    let mut raw = RawJob::new(id, state);
    raw.value = reply.maybe_bytes()?;
    raw.opts = reply.maybe_bytes()?;
    raw.lease = reply.maybe_bytes()?;
    raw.owner = reply.maybe_bytes()?;
    raw.end = reply.maybe_bytes()?;
    raw.due = maybe_score(reply)?;
    raw.error = reply.maybe_bytes()?;
    raw.result = reply.maybe_bytes()?;
    raw.progress = reply.maybe_bytes()?;
    raw.is_stopping = reply.maybe_bytes()?.is_some();
    Ok(raw)
}
