//! `windlass claim`: claims jobs from a queue under a lease.

mod undelivered;

use std::time::Duration;

use clap::Args;
use windlass::store::limits::CLAIM_MAX;
use windlass::{Error, QueueName, Store, duration};
use windlass_api::ClaimReply;
use windlass_api::request::{Claim, ClaimMode};

use super::hint;
use super::verb::{OnQueue, Print};
use crate::exit::{Exit, Result};
use crate::output::Output;
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
    #[command(flatten)]
    claim: OnQueue<Claim>,

    /// Complete the jobs when they are claimed: none runs twice, but one may be lost
    #[arg(long, conflicts_with = "dispatch")]
    at_most_once: bool,

    /// Offer one job: it returns to the queue unless `windlass accept` is called before the lease expires
    #[arg(long)]
    dispatch: bool,
}

/// Claims jobs and prints them. Finding none is not an error.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let OnQueue {
        queue,
        request: mut claim,
    } = arguments.claim;
    claim.mode = match (arguments.at_most_once, arguments.dispatch) {
        (true, _) => Some(ClaimMode::AtMostOnce),
        (false, true) => Some(ClaimMode::Dispatch),
        (false, false) => None,
    };
    let (mut request, wait) = claim.into_request()?;
    if request.max > CLAIM_MAX {
        return Err(Error::invalid(
            "number of jobs",
            format!("it is {}, the limit is {CLAIM_MAX}", request.max),
            format!("use --max {CLAIM_MAX} or less, and claim again for more"),
        )
        .into());
    }
    let store = session.store().await?;

    let claim = store.claim_waiting(&queue, &mut request, wait).await?;

    let reply = ClaimReply::all(&queue, claim.as_ref());
    let exit = reply.show(session);
    if reply.is_empty() {
        let reason = why_empty(store.as_ref(), &queue).await;
        session.output.note(&reason);
    } else if let Some(why) = session.output.undelivered() {
        let is_lost = arguments.at_most_once;
        return Err(undelivered::release(store.as_ref(), &queue, &reply, is_lost, &why).await);
    }
    Ok(exit)
}

/// Explains why there was no job.
async fn why_empty(store: &dyn Store, queue: &QueueName) -> String {
    match store.stats(queue).await {
        Ok(None) => format!("no job available: {}", hint::unused(store, queue).await),
        Ok(Some(stats)) if stats.is_paused => format!(
            "no job available: queue {queue} is paused; resume it with `windlass queue resume {queue}`"
        ),
        Ok(Some(stats)) if stats.resting_ms.is_some() => {
            let rest = Duration::from_millis(stats.resting_ms.unwrap_or_default());
            format!(
                "no job available: queue {queue} rests for {} after a snooze; end this with `windlass queue resume {queue}`",
                duration::short(rest)
            )
        }
        Ok(Some(stats)) if stats.ready > 0 => format!(
            "no job available: {} jobs are ready, but limits do not let them start now; see `windlass queue set {queue}` and `windlass groups list {queue}`",
            stats.ready
        ),
        // The claim itself succeeded, so an error here is not reported.
        Ok(Some(_)) | Err(_) => "no job available".to_owned(),
    }
}

impl Print for Vec<ClaimReply> {
    fn print(&self, output: &mut Output) {
        let row = |job: &ClaimReply| {
            let payload = job.payload.as_ref().or(job.payload_base64.as_ref());
            let payload = payload.map_or("", String::as_str);
            vec![
                job.id.clone(),
                job.token.clone(),
                job.attempt.to_string(),
                job.priority.to_string(),
                job.group.clone().unwrap_or_default(),
                job.lease_until.clone(),
                payload.chars().take(60).collect(),
            ]
        };
        let header = [
            "id",
            "token",
            "attempt",
            "priority",
            "group",
            "lease until",
            "payload",
        ];
        output.table(&header, self.iter().map(row));
    }
}
