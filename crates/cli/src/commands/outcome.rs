//! Shared by the commands that report an outcome: parsing the lease and printing the status.

use windlass::store::{JobLease, OutcomeStatus};
use windlass::{Error as CoreError, JobId, QueueName, Token};
use windlass_api::{Error, OutcomeReply};

use crate::args::JobLeaseArgs;
use crate::exit::{CliError, Exit, Result};
use crate::session::Session;

/// Parses the queue and the lease.
pub(super) fn job_lease(arguments: &JobLeaseArgs) -> Result<(QueueName, JobLease), CoreError> {
    let job_lease = JobLease::new(
        JobId::new(&arguments.id)?,
        arguments.token.parse::<Token>()?,
    );
    Ok((QueueName::new(&arguments.queue)?, job_lease))
}

/// Prints the status of one job. A lost lease and a missing job are errors.
pub(super) fn print(
    session: &mut Session,
    queue: &QueueName,
    id: &JobId,
    statuses: &[OutcomeStatus],
) -> Result<Exit> {
    match statuses {
        [OutcomeStatus::LeaseLost] => Err(lost(id)),
        [OutcomeStatus::Gone] => Err(CliError::from(Error::gone(queue, id))),
        [status] => {
            let reply = OutcomeReply::from_status(queue, id, *status);
            session
                .output
                .result(&reply, |output| output.line(reply.outcome));
            Ok(Exit::Ok)
        }
        _ => Err(CliError::internal(
            "the store returned no status for the job",
        )),
    }
}

/// The token is not valid for the job.
pub(super) fn lost(id: &JobId) -> CliError {
    CliError::from(Error::lease_lost(id))
}
