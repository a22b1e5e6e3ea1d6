//! `windlass accept`, `renew`, `progress`, `complete`, `fail`, `release` and `snooze`: one request about
//! a claimed job.

use std::ffi::OsString;

use clap::Args;
use windlass::store::Limits;
use windlass::{Bytes, JobId, QueueName};
use windlass_api::request::{self, OutcomesReply, QueueRequest};
use windlass_api::{Code, Error, OutcomeReply, RenewReply};

use crate::exit::{CliError, Exit, Result};
use crate::input::bytes_or_stdin;
use crate::output::Output;
use crate::session::Session;

/// A request on one queue.
#[derive(Debug, Args)]
pub(crate) struct OnQueue<R: Args> {
    /// Queue name
    queue: String,

    #[command(flatten)]
    request: R,
}

/// Arguments of `renew`.
#[derive(Debug, Args)]
pub(crate) struct Renew {
    #[command(flatten)]
    renew: OnQueue<request::Renew>,

    /// Id of one of the claimed jobs; optional, the token identifies the claim
    id: Option<String>,
}

/// Arguments of `complete`.
#[derive(Debug, Args)]
pub(crate) struct Complete {
    #[command(flatten)]
    complete: OnQueue<request::Complete>,

    /// Result to store with the job; `-` reads stdin
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    result: Option<OsString>,
}

/// A reply that can be printed as text.
pub(crate) trait Print {
    fn print(&self, output: &mut Output);
}

impl Print for OutcomeReply {
    fn print(&self, output: &mut Output) {
        output.line(self.outcome);
    }
}

impl Print for OutcomesReply {
    fn print(&self, output: &mut Output) {
        let replies = match self {
            Self::One(reply) => std::slice::from_ref(reply),
            Self::Many { jobs, .. } => jobs,
        };
        replies.iter().for_each(|reply| reply.print(output));
    }
}

impl Print for RenewReply {
    fn print(&self, output: &mut Output) {
        output.line(&format!("lease valid until {}", self.lease_until));
        for id in &self.cancel {
            output.note(&format!("job {id} was asked to stop"));
        }
    }
}

/// Executes the request and prints its reply.
pub(crate) async fn run<R>(arguments: OnQueue<R>, session: &mut Session) -> Result<Exit>
where
    R: QueueRequest<Reply: Print> + Args,
{
    let queue = QueueName::new(&arguments.queue)?;
    let store = session.store().await?;
    let reply = arguments.request.execute(store.as_ref(), &queue).await?;
    session.output.result(&reply, |output| reply.print(output));
    Ok(Exit::Ok)
}

/// Completes the job. Fails if the lease is lost.
pub(crate) async fn complete(arguments: Complete, session: &mut Session) -> Result<Exit> {
    let mut complete = arguments.complete;
    let result = arguments.result.map(bytes_or_stdin).transpose()?;
    Limits::default().check_bytes("result", result.as_ref().map_or(0, Bytes::len))?;
    complete.request.result_bytes = result;
    run(complete, session).await
}

/// Renews the lease of a claim; prints its new end and the jobs to stop.
pub(crate) async fn renew(arguments: Renew, session: &mut Session) -> Result<Exit> {
    let id = arguments.id.map(JobId::new).transpose()?;
    let renewed = run(arguments.renew, session).await;
    renewed.map_err(|error| match id {
        Some(id) if error.details.code == Code::LeaseLost => CliError::from(Error::lease_lost(&id)),
        _ => error,
    })
}
