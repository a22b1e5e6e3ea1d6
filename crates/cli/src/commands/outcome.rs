//! `windlass accept`, `renew`, `progress`, `complete`, `fail`, `release` and `snooze`: one request about
//! a claimed job.

use std::ffi::OsString;

use clap::Args;
use windlass::store::Limits;
use windlass::{Bytes, JobId};
use windlass_api::request::{Complete, OutcomesReply, Renew};
use windlass_api::{Code, Error, OutcomeReply, RenewReply};

use super::verb::{self, OnQueue, Print};
use crate::exit::{CliError, Exit, Result};
use crate::input::bytes_or_stdin;
use crate::output::Output;
use crate::session::Session;

/// Arguments of `renew`.
#[derive(Debug, Args)]
pub(crate) struct RenewArgs {
    #[command(flatten)]
    renew: OnQueue<Renew>,

    /// Id of one of the claimed jobs; optional, the token identifies the claim
    id: Option<JobId>,
}

/// Arguments of `complete`.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    #[command(flatten)]
    complete: OnQueue<Complete>,

    /// Result to store with the job; `-` reads stdin
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    result: Option<OsString>,
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
        for reply in replies {
            reply.print(output);
        }
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

/// Completes the job. Fails if the lease is lost.
pub(crate) async fn complete(arguments: CompleteArgs, session: &mut Session) -> Result<Exit> {
    let mut complete = arguments.complete;
    let result = arguments.result.map(bytes_or_stdin).transpose()?;
    Limits::default().check_bytes("result", result.as_ref().map_or(0, Bytes::len))?;
    complete.request.result_bytes = result;
    verb::run(complete, session).await
}

/// Renews the lease of a claim; prints its new end and the jobs to stop.
pub(crate) async fn renew(arguments: RenewArgs, session: &mut Session) -> Result<Exit> {
    let renewed = verb::run(arguments.renew, session).await;
    renewed.map_err(|error| match arguments.id {
        Some(id) if error.details.code == Code::LeaseLost => CliError::from(Error::lease_lost(&id)),
        _ => error,
    })
}
