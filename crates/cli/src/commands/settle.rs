//! What the verbs of a holder have in common: the hold they show, and how its answer is printed.

use windlass::store::{JobLease, OutcomeStatus};
use windlass::{Error as CoreError, JobId, QueueName, Token};
use windlass_api::{Error, OutcomeReply};

use crate::args::JobLeaseArgs;
use crate::exit::{Exit, Failure, Result};
use crate::session::Session;

/// The queue and the hold that were typed.
pub(super) fn hold(typed: &JobLeaseArgs) -> Result<(QueueName, JobLease), CoreError> {
    let hold = JobLease::new(JobId::new(&typed.id)?, typed.token.parse::<Token>()?);
    Ok((QueueName::new(&typed.queue)?, hold))
}

/// Prints how one job answered; a lost lease and a job that is gone are failures.
pub(super) fn print(
    session: &mut Session,
    queue: &QueueName,
    id: &JobId,
    settled: &[OutcomeStatus],
) -> Result<Exit> {
    match settled {
        [OutcomeStatus::LeaseLost] => Err(lost(id)),
        [OutcomeStatus::Gone] => Err(Failure::from(Error::gone(queue, id))),
        [settled] => {
            let reply = OutcomeReply::from_status(queue, id, *settled);
            session
                .output
                .result(&reply, |output| output.line(reply.outcome));
            Ok(Exit::Ok)
        }
        _ => Err(Failure::internal("the store gave no answer for the job")),
    }
}

/// The token does not hold the job.
pub(super) fn lost(id: &JobId) -> Failure {
    Failure::from(Error::lease_lost(id))
}
