//! `windlass job list`: lists the jobs of a queue, page by page.

use windlass_api::JobReply;
use windlass_api::request::{List, QueueRequest};

use crate::commands::verb::{OnQueue, Print, store_for};
use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::session::Session;

/// Prints the jobs, and the cursor of the next page.
pub(super) async fn run(arguments: OnQueue<List>, session: &mut Session) -> Result<Exit> {
    let OnQueue {
        queue,
        request: list,
    } = arguments;
    let limit = list.limit.unwrap_or(List::LIMIT_DEFAULT);
    let store = store_for(&list, &queue, session).await?;
    let mut jobs = Vec::new();
    let mut next = list.cursor.clone();
    // Pages may be short, or empty, before the last.
    loop {
        let request = List {
            limit: Some(limit - jobs.len()),
            cursor: next,
            ..list.clone()
        };
        let page = request.execute(store.as_ref(), &queue).await?;
        jobs.extend(page.jobs);
        next = page.next;
        if next.is_none() || jobs.len() >= limit {
            break;
        }
    }
    let exit = jobs.show(session);
    if let Some(next) = next {
        session.output.next_page(&next);
    }
    Ok(exit)
}

impl Print for Vec<JobReply> {
    fn print(&self, output: &mut Output) {
        if self.is_empty() {
            output.note("no matching jobs");
        }
        let row = |job: &JobReply| {
            let error = job.reason.or(job.error.as_deref()).unwrap_or_default();
            vec![
                job.id.clone(),
                job.state.to_owned(),
                job.kind.clone().unwrap_or_default(),
                job.priority.to_string(),
                job.attempt.to_string(),
                job.due_at.clone(),
                error.chars().take(40).collect(),
            ]
        };
        let header = ["id", "state", "kind", "priority", "attempt", "due", "error"];
        output.table(&header, self.iter().map(row).collect());
    }
}
