//! `windlass claim`: claims jobs from a queue under a lease.

mod undelivered;

use std::time::Duration;

use clap::Args;
use windlass::store::{ClaimRequest, Claimer, LeaseTime, Mode, limits};
use windlass::{BootId, Error, QueueName, Store};
use windlass_api::ClaimReply;

use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::parse;
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Each job comes with a lease token. Pass it to `complete`, `fail`, `release` or `snooze` before the lease \
    expires, or to `renew` to extend the lease. If no job is available, prints nothing to stdout (`[]` with --json) and exits with 0.\n\n\
    Example:\n  \
    windlass claim mail --lease 2m --wait 30s --json"
)]
pub(crate) struct Arguments {
    /// Queue name
    queue: String,

    /// Maximum number of jobs, from 1 to 100
    #[arg(long, value_name = "N", default_value_t = 1)]
    max: usize,

    /// Lease duration [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    lease: Option<String>,

    /// How long to wait if no job is available [default: do not wait]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    wait: Option<String>,

    /// Worker id to record, shown by `job get`
    #[arg(long, value_name = "ID")]
    worker: Option<String>,

    /// Complete the jobs when they are claimed: none runs twice, but one may be lost
    #[arg(long, conflicts_with = "dispatch")]
    at_most_once: bool,

    /// Offer one job: it returns to the queue unless `windlass accept` is called before the lease expires
    #[arg(long)]
    dispatch: bool,
}

/// Claims jobs and prints them. Finding none is not an error.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    let wait = parse::duration_or(arguments.wait.as_deref(), Duration::ZERO)?;
    let mut request = request(&arguments)?;
    request.check()?;
    let store = session.store().await?;

    let claim = store.claim_waiting(&queue, &mut request, wait).await?;

    let reply = ClaimReply::all(&queue, claim.as_ref());
    session
        .output
        .result(&reply, |output| print(output, &reply));
    if claim.is_none() {
        let reason = why_empty(store.as_ref(), &queue).await;
        session.output.note(&reason);
    }
    match (claim, session.output.undelivered()) {
        (Some(claim), Some(why)) => {
            Err(undelivered::return_jobs(store.as_ref(), &queue, &claim, request.mode, &why).await)
        }
        _ => Ok(Exit::Ok),
    }
}

/// Explains why there was no job.
async fn why_empty(store: &dyn Store, queue: &QueueName) -> String {
    match store.stats(queue).await {
        Ok(None) => {
            format!(
                "no job available: queue {queue} does not exist yet; the first enqueue creates it"
            )
        }
        Ok(Some(stats)) if stats.is_paused => format!(
            "no job available: queue {queue} is paused; resume it with `windlass queue resume {queue}`"
        ),
        // The claim itself succeeded, so an error here is not reported.
        Ok(Some(_)) | Err(_) => "no job available".to_owned(),
    }
}

fn request(arguments: &Arguments) -> Result<ClaimRequest> {
    if arguments.max > limits::CLAIM_MAX {
        return Err(Error::invalid(
            "number of jobs",
            format!(
                "it is {}, the limit is {}",
                arguments.max,
                limits::CLAIM_MAX
            ),
            format!(
                "use --max {} or less, and claim again for more",
                limits::CLAIM_MAX
            ),
        )
        .into());
    }
    let mode = match (arguments.at_most_once, arguments.dispatch) {
        (true, _) => Mode::AtMostOnce,
        (false, true) => Mode::Dispatch,
        (false, false) => Mode::AtLeastOnce,
    };
    let lease = parse::duration_or(arguments.lease.as_deref(), limits::LEASE_DEFAULT)?;
    let lease = LeaseTime::new(lease)?;
    let mut request = ClaimRequest::single(arguments.max).lease(lease).mode(mode);
    if let Some(worker) = &arguments.worker {
        request.claimer = Claimer::Single {
            worker: Some(BootId::new(worker)?),
        };
    }
    Ok(request)
}

fn print(output: &mut Output, jobs: &[ClaimReply]) {
    let row = |job: &ClaimReply| {
        let payload = job.payload.clone().or_else(|| job.payload_base64.clone());
        vec![
            job.id.clone(),
            job.token.clone(),
            job.attempt.to_string(),
            job.priority.to_string(),
            job.lease_until.clone(),
            payload.unwrap_or_default().chars().take(60).collect(),
        ]
    };
    let header = [
        "id",
        "token",
        "attempt",
        "priority",
        "lease until",
        "payload",
    ];
    output.table(&header, jobs.iter().map(row).collect());
}
