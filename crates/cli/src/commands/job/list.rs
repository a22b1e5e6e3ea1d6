//! `windlass job list`: lists the jobs of a queue, page by page.

use clap::Args;
use windlass::{Cursor, Error, Filter, Job, QueueName, Store};
use windlass_api::JobReply;
use windlass_api::request::filter;

use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Payloads and results are not shown; use `windlass job get`.\n\n\
    Example:\n  windlass job list mail --state dead --limit 20"
)]
pub(crate) struct Arguments {
    /// Queue name
    queue: String,

    /// Only jobs in this state: ready, scheduled, running, succeeded, dead or cancelled
    #[arg(long, value_name = "S")]
    state: Option<String>,

    /// Only jobs of this kind
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    kind: Option<String>,

    /// Maximum number of jobs
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,

    /// Cursor printed after the previous page
    #[arg(long, value_name = "C", allow_hyphen_values = true)]
    cursor: Option<String>,
}

/// Prints the jobs, and the cursor of the next page.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    let filter = filter(arguments.state.as_deref(), arguments.kind.as_deref())?;
    if arguments.limit == 0 {
        return Err(
            Error::invalid("limit", "it is 0", "use at least 1, for example --limit 50").into(),
        );
    }
    let store = session.store().await?;
    let from = arguments.cursor.map(Cursor);

    let (jobs, next) = collect(store.as_ref(), &queue, &filter, from, arguments.limit).await?;

    let reply: Vec<_> = jobs.iter().map(JobReply::from).collect();
    session
        .output
        .result(&reply, |output| print(output, &reply));
    if let Some(next) = next {
        session.output.next_page(&next.0);
    }
    Ok(Exit::Ok)
}

/// Reads pages until the limit is reached: a store may return short or empty pages before the last.
async fn collect(
    store: &dyn Store,
    queue: &QueueName,
    filter: &Filter,
    mut from: Option<Cursor>,
    limit: usize,
) -> Result<(Vec<Job>, Option<Cursor>)> {
    let mut jobs = Vec::new();
    loop {
        let page = store.list(queue, filter, from, limit - jobs.len()).await?;
        jobs.extend(page.items);
        from = page.next;
        if from.is_none() || jobs.len() >= limit {
            return Ok((jobs, from));
        }
    }
}

fn print(output: &mut Output, jobs: &[JobReply]) {
    if jobs.is_empty() {
        output.note("no matching jobs");
    }
    let row = |job: &JobReply| {
        let error = job
            .reason
            .map(ToOwned::to_owned)
            .or_else(|| job.error.clone());
        vec![
            job.id.clone(),
            job.state.to_owned(),
            job.kind.clone().unwrap_or_default(),
            job.priority.to_string(),
            job.attempt.to_string(),
            job.due_at.clone(),
            error.unwrap_or_default().chars().take(40).collect(),
        ]
    };
    let header = ["id", "state", "kind", "priority", "attempt", "due", "error"];
    output.table(&header, jobs.iter().map(row).collect());
}
