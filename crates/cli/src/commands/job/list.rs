//! `windlass job list`: lists the jobs of one or all queues, page by page.

use windlass::store::{Clock, KeepSucceeded, SystemClock, Timestamp};
use windlass::{JobState, QueueName, Store, duration};
use windlass_api::request::{List, QueueRequest};
use windlass_api::{JobReply, timestamp};

use crate::commands::hint;
use crate::commands::verb::OnQueues;
use crate::exit::{CliError, Exit, Result};
use crate::output::Output;
use crate::session::Session;

/// The number of jobs that one command examines. Larger queues are searched in several commands.
const SCANNED_MAX: usize = 100_000;

/// Prints the jobs, and the cursor of the next page.
pub(super) async fn run(arguments: OnQueues<List>, session: &mut Session) -> Result<Exit> {
    let list = &arguments.request;
    let limit = list.limit.unwrap_or(List::LIMIT_DEFAULT);
    let without_cursor = List {
        // Only the store that issued a cursor can read it.
        cursor: None,
        ..list.clone()
    };
    let store = arguments.store(&without_cursor, session).await?;
    let mut queues = arguments.queues(store.as_ref()).await?;
    let mut cursor = list.cursor.clone();
    if arguments.all_queues
        && let Some(text) = cursor
    {
        let (queue, rest) = split_cursor(&text)?;
        queues.retain(|name| *name >= queue);
        cursor = rest.filter(|_| queues.first() == Some(&queue));
    }
    let mut jobs = Vec::new();
    let mut next = None;
    let mut scanned = 0;
    for queue in &queues {
        if jobs.len() >= limit || scanned >= SCANNED_MAX {
            next = Some(join_cursor(queue, None));
            break;
        }
        let left = List {
            limit: Some(limit - jobs.len()),
            cursor: cursor.take(),
            ..list.clone()
        };
        let (found, rest) = pages(store.as_ref(), queue, left, &mut scanned).await?;
        jobs.extend(found);
        if let Some(rest) = rest {
            let is_all = arguments.all_queues;
            next = Some(if is_all {
                join_cursor(queue, Some(&rest))
            } else {
                rest
            });
            break;
        }
    }
    let is_all = arguments.all_queues;
    session
        .output
        .result(&jobs, |output| print(&jobs, is_all, output));
    let is_search = list.filter()?.is_search();
    if is_search && next.is_some() && !session.global.json {
        let note = format!("searched {scanned} jobs, and there are more");
        session.output.note(&note);
    } else if jobs.is_empty() && !session.global.json {
        let note = match queues.as_slice() {
            [queue] => why_empty(store.as_ref(), queue, list).await,
            _ => format!("no {}", wanted(list)),
        };
        session.output.note(&note);
    }
    if let Some(next) = next {
        session.output.next_page(&next);
    }
    Ok(Exit::Ok)
}

/// Lists up to `limit` jobs of one queue, examining about as many as `scanned` leaves. Pages may be short, or empty,
/// before the last.
async fn pages(
    store: &dyn Store,
    queue: &QueueName,
    list: List,
    scanned: &mut usize,
) -> Result<(Vec<JobReply>, Option<String>)> {
    let limit = list.limit.unwrap_or(List::LIMIT_DEFAULT);
    let mut jobs = Vec::new();
    let mut next = list.cursor.clone();
    loop {
        let request = List {
            limit: Some(limit - jobs.len()),
            cursor: next,
            ..list.clone()
        };
        let page = request.execute(store, queue).await?;
        jobs.extend(page.jobs);
        next = page.next;
        *scanned += page.scanned;
        if next.is_none() || jobs.len() >= limit || *scanned >= SCANNED_MAX {
            return Ok((jobs, next));
        }
    }
}

/// The cursor in a listing of all queues: the queue, then the cursor within it.
fn join_cursor(queue: &QueueName, cursor: Option<&str>) -> String {
    format!("{queue}/{}", cursor.unwrap_or_default())
}

fn split_cursor(text: &str) -> Result<(QueueName, Option<String>)> {
    let invalid = || CliError::usage("invalid cursor", "start again without --cursor");
    let (queue, cursor) = text.split_once('/').ok_or_else(invalid)?;
    let cursor = Some(cursor.to_owned()).filter(|cursor| !cursor.is_empty());
    Ok((QueueName::new(queue)?, cursor))
}

fn print(jobs: &[JobReply], is_all: bool, output: &mut Output) {
    let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
    let row = |job: &JobReply| {
        let queue = if is_all { job.queue.as_str() } else { "" };
        let is_default = job.priority == windlass::Priority::default().level();
        vec![
            queue.to_owned(),
            job.id.clone(),
            job.state.to_owned(),
            if is_default {
                String::new()
            } else {
                job.priority.to_string()
            },
            format!("{}/{}", job.attempt, job.max_attempts),
            age_of(job, now),
            job.group.clone().unwrap_or_default(),
            job.kind.clone().unwrap_or_default(),
            error(job),
        ]
    };
    let header = [
        "queue", "id", "state", "priority", "attempt", "age", "group", "kind", "error",
    ];
    output.flexible_table(&header, jobs.iter().map(row).collect(), 2);
}

/// How long the job has been in its state, or `in 5m` until it is due.
fn age_of(job: &JobReply, now: Timestamp) -> String {
    let state = JobState::from_text(job.state);
    let since = match state {
        Some(JobState::Scheduled | JobState::Ready) => Some(&job.due_at),
        Some(JobState::Pending) => Some(&job.created_at),
        Some(JobState::Running) => job.started_at.as_ref(),
        _ => job.finished_at.as_ref(),
    };
    let since = since.and_then(|text| timestamp::parse(text).ok());
    since.map_or_else(String::new, |since| age(state, since, now))
}

fn age(state: Option<JobState>, since: Timestamp, now: Timestamp) -> String {
    if state == Some(JobState::Scheduled) {
        return format!("in {}", duration::short(since.since(now)));
    }
    duration::short(now.since(since))
}

/// The first line of the error. A reason that the error does not tell comes first.
fn error(job: &JobReply) -> String {
    let error = job.error.as_deref().and_then(|text| text.lines().next());
    let error = error.filter(|_| job.state != JobState::Succeeded.as_str());
    let reason = job
        .reason
        .filter(|reason| !["exhausted", "permanent"].contains(reason));
    match (reason, error) {
        (Some(reason), Some(error)) => format!("{reason}: {error}"),
        (Some(text), None) | (None, Some(text)) => text.to_owned(),
        (None, None) => String::new(),
    }
}

/// Names the jobs of a listing: "dead jobs of kind letter".
fn wanted(list: &List) -> String {
    let state = list.state.as_ref().map(|state| format!("{state} "));
    let kind = list.kind.as_ref().map(|kind| format!(" of kind {kind}"));
    let is_filtered = list.filter().is_ok_and(|filter| filter.reads_jobs());
    format!(
        "{}jobs{}{}",
        state.unwrap_or_default(),
        kind.unwrap_or_default(),
        if is_filtered {
            " that match the filter"
        } else {
            ""
        }
    )
}

/// Explains why a listing is empty, and what to do.
async fn why_empty(store: &dyn Store, queue: &QueueName, list: &List) -> String {
    let nothing = format!("no {} in queue {queue}", wanted(list));
    // The listing itself succeeded, so errors here are not reported.
    let (Ok(stats), Ok(settings)) = (store.stats(queue).await, store.settings(queue).await) else {
        return nothing;
    };
    let Some(stats) = stats else {
        let unused = hint::unused(store, queue).await;
        return format!("no {}: {unused}", wanted(list));
    };
    let succeeded = JobState::Succeeded.as_str();
    let wants_succeeded = list.state.as_deref().is_none_or(|state| state == succeeded);
    let keeps_all = settings.keep_succeeded == KeepSucceeded::All;
    if wants_succeeded && !keeps_all && stats.total.succeeded > stats.succeeded {
        return format!(
            "{nothing}: {} succeeded and were not kept; to keep the next ones, run `windlass queue set {queue} keep_succeeded=all`",
            stats.total.succeeded
        );
    }
    nothing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_the_time_since_then_or_until_the_job_is_due() {
        let [early, late] = [1_000, 301_000].map(Timestamp::from_ms);
        assert_eq!(age(Some(JobState::Dead), early, late), "5m");
        assert_eq!(age(Some(JobState::Scheduled), late, early), "in 5m");
    }

    #[test]
    fn a_cursor_of_all_queues_names_its_queue() {
        let mail = QueueName::new("mail").unwrap();
        for cursor in [None, Some("0,0,a/b")] {
            let text = join_cursor(&mail, cursor);
            let (queue, rest) = split_cursor(&text).unwrap();
            assert_eq!((queue, rest.as_deref()), (mail.clone(), cursor));
        }
        assert_eq!(split_cursor("0").unwrap_err().exit, Exit::Usage);
    }
}
