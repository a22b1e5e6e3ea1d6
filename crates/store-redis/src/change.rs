//! cancel, retry, delete, promote, purge: changes jobs by id, unique key, payload or filter; and deletes a queue.

use bytes::Bytes;
use windlass_core::limits::SCAN_PAGE;
use windlass_core::store::{Changed, ChangedJob, Changes, Cursor, JobPage, QueueDeletion};
use windlass_core::{Change, Filter, JobId, JobState, Result, Target};
use windlass_redis_link::reply::{self, Reply, unexpected_reply};

use crate::codec::job_id;
use crate::partition::{Partition, number_arg, text_arg};

/// How often a purge that read only stale entries is repeated.
const AGAIN_MAX: usize = 10_000;

impl Partition {
    /// Changes every job of a target, or one page of it.
    pub(crate) async fn change(
        &self,
        change: Change,
        target: &Target,
        from: Option<&str>,
    ) -> Result<Changes> {
        let scripts = self.scripts();
        let script = match change {
            Change::Cancel => &scripts.cancel,
            Change::Retry => &scripts.retry,
            Change::Delete => &scripts.delete,
            Change::Promote => &scripts.promote,
        };
        let is_page = matches!(target, Target::Payload(_) | Target::Filter(_));
        if let Target::Filter(filter) = target
            && filter.reads_jobs()
        {
            // A script does not parse jobs: the page is read here, and the script checks the state of each job again.
            let page = self.list_page(filter, from, SCAN_PAGE).await?;
            let ids: Vec<_> = page.items.into_iter().map(|job| job.id).collect();
            let mut changes = JobPage::default();
            if !ids.is_empty() {
                let args = change_args(&Target::Ids(ids), None);
                changes = read_changes(self.run_list(script, args).await?, is_page)?;
            }
            return Ok(JobPage {
                items: changes.items,
                next: page.next,
                scanned: page.scanned,
            });
        }
        let reply = self.run_list(script, change_args(target, from)).await?;
        read_changes(reply, is_page)
    }

    pub(crate) async fn purge(&self) -> Result<u64> {
        for _ in 0..AGAIN_MAX {
            let mut reply = self.run_list(&self.scripts().purge, Vec::new()).await?;
            let removed = reply.count()?;
            if removed > 0 || reply.count()? == 0 {
                return Ok(removed);
            }
        }
        Ok(0)
    }

    /// Deletes this partition, unless it has jobs or schedules.
    pub(crate) async fn delete_queue(&self) -> Result<QueueDeletion> {
        let reply = self.run(&self.scripts().delete_queue, Vec::new()).await?;
        match reply::text(reply)?.as_str() {
            "deleted" => Ok(QueueDeletion::Deleted),
            "jobs" => Ok(QueueDeletion::HasJobs),
            "schedules" => Ok(QueueDeletion::HasSchedules),
            "absent" => Ok(QueueDeletion::NotFound),
            _ => Err(unexpected_reply(
                "it does not say whether the queue was deleted",
            )),
        }
    }
}

fn change_args(target: &Target, from: Option<&str>) -> Vec<Bytes> {
    match target {
        Target::Ids(ids) => {
            let mut args = vec![Bytes::from_static(b"ids"), number_arg(ids.len())];
            args.extend(ids.iter().map(|id| text_arg(id.as_str())));
            args
        }
        Target::UniqueKey(key) => vec![Bytes::from_static(b"key"), text_arg(key.as_str())],
        Target::Payload(payload) => {
            let all = Filter::default();
            scan_args("scan", &all, Some(payload), from, SCAN_PAGE)
        }
        Target::Filter(filter) => scan_args("scan", filter, None, from, SCAN_PAGE),
    }
}

/// The arguments of a scan, after `first` unless it is empty.
pub(crate) fn scan_args(
    first: &'static str,
    filter: &Filter,
    payload: Option<&Bytes>,
    from: Option<&str>,
    limit: usize,
) -> Vec<Bytes> {
    let mut args = Vec::with_capacity(6);
    if !first.is_empty() {
        args.push(Bytes::from_static(first.as_bytes()));
    }
    args.push(text_arg(filter.state.map_or("", JobState::as_str)));
    args.push(
        filter
            .kind
            .as_ref()
            .map_or_else(Bytes::new, |kind| Bytes::from(format!("={kind}"))),
    );
    args.push(payload.map_or_else(Bytes::new, |payload| {
        let mut arg = vec![b'='];
        arg.extend_from_slice(payload);
        Bytes::from(arg)
    }));
    args.push(text_arg(from.unwrap_or_default()));
    args.push(number_arg(limit));
    args
}

fn read_changes(mut reply: Reply, is_page: bool) -> Result<Changes> {
    let next = reply.text()?;
    let scanned = usize::try_from(reply.count()?).unwrap_or(usize::MAX);
    let mut items = Vec::with_capacity(reply.len() / 2);
    while !reply.is_empty() {
        let id = reply.bytes()?;
        let changed = changed(&reply.text()?)?;
        // Skip jobs of a page whose state does not allow the change.
        if is_page && matches!(changed, Changed::WrongState(_)) {
            continue;
        }
        let id = if id.is_empty() {
            None
        } else {
            Some(job_id("change", &id)?)
        };
        items.push(ChangedJob { id, changed });
    }
    let next = (!next.is_empty()).then_some(Cursor(next));
    Ok(JobPage {
        items,
        next,
        scanned,
    })
}

fn changed(text: &str) -> Result<Changed> {
    Ok(match text {
        "done" => Changed::Done,
        "will_stop" => Changed::WillStop,
        "not_found" => Changed::NotFound,
        _ => match text.strip_prefix("conflict ") {
            Some(holder) => Changed::Conflict(JobId::new(holder)?),
            None => Changed::WrongState(
                JobState::from_text(text)
                    .ok_or_else(|| unexpected_reply("it has an unknown status"))?,
            ),
        },
    })
}
