//! Jobs: changes and listings.

use windlass_api::JobReply;
use windlass_api::request::{Cancel, ChangesReply, Delete, JobSelector, List, Promote, Retry};
use windlass_core::store::{Changes, Cursor, JobPage};
use windlass_core::{Change, Filter, Job, QueueName, Result, Target};

use crate::remote::{RemoteStore, unsupported};

impl RemoteStore {
    pub(crate) async fn send_change(
        &self,
        queue: &QueueName,
        change: Change,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        let jobs = JobSelector::from((target, from));
        let reply = match change {
            Change::Cancel => self.call(queue, Cancel(jobs)).await?,
            Change::Retry => self.call(queue, Retry(jobs)).await?,
            Change::Delete => self.call(queue, Delete(jobs)).await?,
            Change::Promote => self.call(queue, Promote(jobs)).await?,
        };
        let ChangesReply::Each {
            jobs,
            next,
            scanned,
        } = reply
        else {
            return Err(unsupported());
        };
        let items = jobs.into_iter().map(|job| job.into_changed());
        Ok(JobPage {
            items: items.collect::<Result<_>>()?,
            next: next.map(Cursor),
            scanned,
        })
    }

    pub(crate) async fn read_jobs(
        &self,
        queue: &QueueName,
        filter: &Filter,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<JobPage<Job>> {
        let request = List {
            limit: Some(limit),
            cursor: from.map(|from| from.0),
            full: Some(true),
            ..List::default()
        };
        let reply = self.call(queue, request.with_filter(filter)).await?;
        let jobs = reply.jobs.into_iter().map(JobReply::into_job);
        Ok(JobPage {
            items: jobs.collect::<Result<_>>()?,
            next: reply.next.map(Cursor),
            scanned: reply.scanned,
        })
    }
}
