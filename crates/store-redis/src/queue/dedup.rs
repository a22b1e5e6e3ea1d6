//! Finds existing jobs that were stored when the queue had fewer partitions.

use bytes::Bytes;
use windlass_core::store::DurabilityLevel;
use windlass_core::{Clock, Enqueued, NewJob, Result, SystemClock};

use super::enqueue::{key_of, partition_of_key};
use super::{BATCH_MAX, Queue, disagreement};
use crate::codec::opts;
use crate::enqueue::existing;
use crate::partition::{Partition, number_arg};

/// A generated id younger than this was generated for this call.
const FRESH_MS: u64 = 1000;

/// The existing jobs in one partition; `None` if it knows of fewer partitions than the caller.
type Existing = Option<Vec<Option<Enqueued>>>;

/// The reply about an existing job, and the number of its partition.
pub(super) type Found = (usize, Enqueued);

impl Queue {
    /// For each job the existing one in a partition that it belonged to with an earlier number of
    /// partitions. If no such job exists, no caller that knows only an earlier number can store one there any
    /// more.
    pub(super) async fn existing_jobs(
        &self,
        jobs: &[(usize, NewJob)],
        count: u32,
        is_resend: bool,
    ) -> Result<Vec<Option<Found>>> {
        if count == 1 {
            return Ok(vec![None; jobs.len()]);
        }
        let may_exist = may_exist(jobs, is_resend);
        if may_exist.is_empty() {
            return Ok(vec![None; jobs.len()]);
        }
        self.refresh().await?;
        if let Some(found) = self.find_existing(jobs, &may_exist, count).await? {
            return Ok(found);
        }
        // A partition that does not know of the new ones still accepts jobs as before.
        self.agree(count, count).await?;
        let found = self.find_existing(jobs, &may_exist, count).await?;
        found.ok_or_else(disagreement)
    }

    /// Queries the partitions concurrently. Returns `None` if one of them knows of fewer partitions.
    async fn find_existing(
        &self,
        jobs: &[(usize, NewJob)],
        may_exist: &[usize],
        count: u32,
    ) -> Result<Option<Vec<Option<Found>>>> {
        let batches = self.candidates(jobs, may_exist, count);
        let queries = batches.into_iter().enumerate();
        let queries = queries
            .filter(|(_, batch)| !batch.is_empty())
            .map(|(number, batch)| (number, (id_and_key_args(jobs, &batch), batch)));
        let replies = self.in_partitions(
            queries.collect(),
            move |partition, (args, batch)| async move {
                let found = partition.find(args, count).await?;
                Ok((partition.number, batch, found))
            },
        );
        let mut found = vec![None; jobs.len()];
        for reply in replies.await {
            let (number, batch, reply): (u32, Vec<usize>, Existing) = reply?;
            let Some(reply) = reply else { return Ok(None) };
            for (at, existing) in batch.into_iter().zip(reply) {
                let existing = existing.map(|existing| (number as usize, existing));
                found[at] = found[at].take().or(existing);
            }
        }
        Ok(Some(found))
    }

    /// For each partition the jobs that belonged to it with an earlier number of partitions, but not with
    /// this one.
    fn candidates(
        &self,
        jobs: &[(usize, NewJob)],
        may_exist: &[usize],
        count: u32,
    ) -> Vec<Vec<usize>> {
        // The number stored in the first partition is one of them: it is updated last. `learn` runs
        // before the number is recorded, so there are enough partitions for each of these.
        let numbers = self.known.numbers();
        let mut batches = vec![Vec::new(); self.partitions().len()];
        for at in may_exist {
            let text = key_of(&jobs[*at].1);
            let mut seen = vec![partition_of_key(text, count)];
            for number in &numbers {
                let candidate = partition_of_key(text, *number);
                if !seen.contains(&candidate) {
                    seen.push(candidate);
                    batches[candidate].push(*at);
                }
            }
        }
        batches
    }
}

/// Jobs that may exist already: those with a custom id or a unique key, and those whose generated id
/// is sent again or is old enough to be.
fn may_exist(jobs: &[(usize, NewJob)], is_resend: bool) -> Vec<usize> {
    let now = SystemClock.now_us() / 1000;
    let is_fresh = |job: &NewJob| {
        let generated = opts::ulid_ms(&job.id, false).unwrap_or_default();
        now.abs_diff(generated) < FRESH_MS
    };
    let may_repeat = |job: &NewJob| job.is_named || job.unique_key.is_some() || !is_fresh(job);
    let jobs = jobs.iter().enumerate();
    let found = jobs.filter(|(_, (_, job))| is_resend || may_repeat(job));
    found.map(|(at, _)| at).collect()
}

/// The id and unique key of each job, as arguments.
fn id_and_key_args(jobs: &[(usize, NewJob)], batch: &[usize]) -> Vec<Bytes> {
    let mut args = Vec::with_capacity(batch.len() * 2);
    for at in batch {
        let job = &jobs[*at].1;
        let key = job.unique_key.as_ref().map_or("", |key| key.as_str());
        args.push(Bytes::copy_from_slice(job.id.as_str().as_bytes()));
        args.push(Bytes::copy_from_slice(key.as_bytes()));
    }
    args
}

impl Partition {
    /// Returns the existing job for each id and unique key.
    async fn find(&self, jobs: Vec<Bytes>, count: u32) -> Result<Existing> {
        let mut found = Vec::with_capacity(jobs.len() / 2);
        for page in jobs.chunks(BATCH_MAX * 2) {
            let mut args = vec![number_arg(count)];
            args.extend_from_slice(page);
            let mut reply = self.run_list(&self.scripts().find, args).await?;
            if reply.is_empty() {
                return Ok(None);
            }
            while !reply.is_empty() {
                let text = reply.text()?;
                let existing = (!text.is_empty()).then(|| existing(&text, DurabilityLevel::Memory));
                found.push(existing.transpose()?);
            }
        }
        Ok(Some(found))
    }
}
