//! get, list, stats: reads jobs and stats. Read-only.

use bytes::Bytes;
use windlass_core::filter::SearchBudget;
use windlass_core::history::HISTORY_MINUTES;
use windlass_core::limits::SCAN_PAGE;
use windlass_core::store::{Cursor, HistoryCounts, HistoryLevels, HistoryRow, JobPage, Stats};
use windlass_core::{Filter, Job, JobId, JobState, QueueName, Result, Timestamp};
use windlass_redis_link::reply::{Reply, unexpected_reply};

use crate::change::scan_args;
use crate::codec::history::read_rows;
use crate::codec::job::RawJob;
use crate::codec::opts::{self, Opts};
use crate::codec::stats::{StateCounts, StatsRecord};
use crate::codec::{job_id, score};
use crate::partition::{Partition, number_arg, text_arg};

impl Partition {
    pub(crate) async fn get(&self, id: &JobId) -> Result<Option<Job>> {
        let args = vec![text_arg(id.as_str())];
        let mut reply = self.run_list(&self.scripts().get, args).await?;
        if reply.is_empty() {
            return Ok(None);
        }
        job_with_lease(&mut reply, &self.queue).map(Some)
    }

    /// Lists up to `limit` matching jobs. A search reads pages until it has them or may examine no more.
    pub(crate) async fn list_page(
        &self,
        filter: &Filter,
        from: Option<&str>,
        limit: usize,
    ) -> Result<JobPage<Job>> {
        let mut list = JobPage {
            next: from.map(|from| Cursor(from.to_owned())),
            ..JobPage::default()
        };
        let mut budget = SearchBudget::default();
        let mut rows = limit;
        loop {
            let from = list.next.as_ref().map(|next| next.0.as_str());
            let (jobs, next) = self.scan(filter, from, rows).await?;
            let room = limit - list.items.len();
            let mut matching = (1..).zip(&jobs).filter(|(_, (is_match, _))| *is_match);
            // A script has a cursor only for the end of its page: read less.
            if let (Some((last, _)), Some(_)) = (matching.nth(room - 1), matching.next()) {
                rows = last;
                continue;
            }
            // A page of stale entries only: the caller goes on.
            let is_empty = jobs.is_empty();
            for (is_match, job) in jobs {
                budget.spend(job.payload.as_ref().map_or(0, Bytes::len));
                if is_match {
                    let payload = None;
                    list.items.push(Job { payload, ..job });
                }
            }
            list.next = next;
            list.scanned = budget.jobs();
            rows = budget.rest().min(SCAN_PAGE);
            let is_full = list.items.len() == limit || rows == 0 || is_empty;
            if list.next.is_none() || is_full || !filter.is_search() {
                return Ok(list);
            }
        }
    }

    /// Reads a page of jobs of the state, and whether each matches.
    async fn scan(
        &self,
        filter: &Filter,
        from: Option<&str>,
        rows: usize,
    ) -> Result<(Vec<(bool, Job)>, Option<Cursor>)> {
        let of_state = Filter {
            state: filter.state,
            ..Filter::default()
        };
        let mut args = scan_args("", &of_state, None, from, rows);
        args.extend(filter.reads_payloads().then(|| text_arg("payloads")));
        let mut reply = self.run_list(&self.scripts().list, args).await?;
        let next = reply.text()?;
        let now = Timestamp::from_ms(reply.count()?);
        let mut jobs = Vec::new();
        while !reply.is_empty() {
            let job = raw_job(&mut reply)?.read(&self.queue)?;
            jobs.push((filter.matches(&job, now), job));
        }
        Ok((jobs, (!next.is_empty()).then_some(Cursor(next))))
    }

    pub(crate) async fn history(&self, minutes: u32) -> Result<Vec<HistoryRow>> {
        let args = vec![number_arg(minutes.clamp(1, HISTORY_MINUTES))];
        let mut reply = self.run_list(&self.scripts().history, args).await?;
        if reply.is_empty() {
            return Ok(Vec::new());
        }
        let now = Timestamp::from_ms(reply.count()?);
        let open = reply.bytes()?;
        let counts = HistoryCounts {
            enqueued: reply.count()?,
            succeeded: reply.count()?,
            failed: reply.count()?,
            dead: reply.count()?,
            cancelled: reply.count()?,
            rescued: reply.count()?,
        };
        let levels = HistoryLevels {
            ready: reply.count()?,
            scheduled: reply.count()?,
            running: reply.count()?,
            dead: reply.count()?,
        };
        let mut rows = Vec::new();
        while !reply.is_empty() {
            rows.push(reply.bytes()?);
        }
        let rows = rows.iter().map(|row| &row[..]);
        read_rows(rows, &open, (counts, levels), (now, minutes))
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

/// The values of one job, and the end of its lease.
pub(crate) fn job_with_lease(reply: &mut Reply, queue: &QueueName) -> Result<Job> {
    let raw = raw_job(reply)?;
    // Zero while the lease is being reaped.
    let until = maybe_score(reply)?.filter(|until| *until > 0.0);
    let lease_until = until.map(|until| score("lease", until)).transpose()?;
    let job = raw.read(queue)?;
    Ok(Job { lease_until, ..job })
}

/// A score; `None` if it is missing or not a number.
fn maybe_score(reply: &mut Reply) -> Result<Option<f64>> {
    let text = reply.maybe_bytes()?;
    Ok(text.and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok()))
}

/// The twelve values of one job, in the order of `lua/lib/read.lua`.
fn raw_job(reply: &mut Reply) -> Result<RawJob> {
    let id = job_id("job", &reply.bytes()?)?;
    let state = job_state(&reply.text()?)?;
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

/// The state of a job in a reply.
pub(crate) fn job_state(text: &str) -> Result<JobState> {
    JobState::from_text(text).ok_or_else(|| unexpected_reply("it has an unknown state"))
}
