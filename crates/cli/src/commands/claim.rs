//! `windlass claim`: takes jobs from a queue under a lease.

mod unheard;

use std::time::Duration;

use clap::Args;
use windlass::store::{ClaimRequest, Claimer, Mode, limits};
use windlass::{BootId, Error, QueueName, Store};
use windlass_api::ClaimReply;

use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::session::Session;
use crate::typed;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Each job comes with a token. Show it to `complete`, `fail`, `release` or `snooze` before the lease \
    ends, or to `renew` to go on. Nothing to claim is no failure: an empty list, exit 0.\n\n\
    Example:\n  \
    windlass claim mail --lease 2m --wait 30s --json"
)]
pub(crate) struct Arguments {
    /// The queue
    queue: String,

    /// How many jobs at most, from 1 to 100
    #[arg(long, value_name = "N", default_value_t = 1)]
    max: usize,

    /// How long they are held without a renewal [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    lease: Option<String>,

    /// How long to wait for a job where there is none
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    wait: Option<String>,

    /// The worker they are for, as `job get` will show it
    #[arg(long, value_name = "ID")]
    worker: Option<String>,

    /// The jobs count as done when they are handed out: none runs twice, one may be lost
    #[arg(long, conflicts_with = "dispatch")]
    at_most_once: bool,

    /// Offer one job: it goes back unless `windlass accept` comes before the lease ends
    #[arg(long)]
    dispatch: bool,
}

/// Claims, and prints what was handed out; nothing is no failure.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    let wait = typed::duration_or(arguments.wait.as_deref(), Duration::ZERO)?;
    let mut request = request(&arguments)?;
    request.check()?;
    let store = session.store().await?;

    let claim = store.claim_waiting(&queue, &mut request, wait).await?;

    let reply = ClaimReply::all(&queue, claim.as_ref());
    session
        .output
        .result(&reply, |output| print(output, &reply));
    if claim.is_none() {
        let why = why_nothing(store.as_ref(), &queue).await;
        session.output.talk(&why);
    }
    match (claim, session.output.unheard()) {
        (Some(claim), Some(why)) => {
            Err(unheard::give_back(store.as_ref(), &queue, &claim, request.mode, &why).await)
        }
        _ => Ok(Exit::Ok),
    }
}

/// Why there was no job, as far as a person at a shell wonders.
async fn why_nothing(store: &dyn Store, queue: &QueueName) -> String {
    match store.stats(queue).await {
        Ok(None) => {
            format!("nothing to claim: there is no queue {queue} yet; its first job makes it")
        }
        Ok(Some(stats)) if stats.is_paused => format!(
            "nothing to claim: queue {queue} is paused; go on with `windlass queue resume {queue}`"
        ),
        // The claim itself was answered; a remark is not worth a failure.
        Ok(Some(_)) | Err(_) => "nothing to claim".to_owned(),
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
                "ask for up to {}, and claim again for more",
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
    let lease = typed::duration_or(arguments.lease.as_deref(), limits::LEASE_DEFAULT)?;
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
