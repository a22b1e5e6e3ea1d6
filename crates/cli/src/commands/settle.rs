//! What the verbs of a holder have in common: the hold they show, and how its answer is printed.

use windlass::store::{Hold, Settled};
use windlass::{Error, JobId, QueueName, Token};
use windlass_api::{Problem, SettleReply};

use crate::args::Held;
use crate::exit::{Exit, Failure, Result};
use crate::session::Session;

/// The queue and the hold that were typed.
pub(super) fn hold(typed: &Held) -> Result<(QueueName, Hold), Error> {
    let hold = Hold::new(JobId::new(&typed.id)?, typed.token.parse::<Token>()?);
    Ok((QueueName::new(&typed.queue)?, hold))
}

/// Prints how one job answered; a lost lease and a job that is gone are failures.
pub(super) fn print(
    session: &mut Session,
    queue: &QueueName,
    id: &JobId,
    settled: &[Settled],
) -> Result<Exit> {
    match settled {
        [Settled::Lost] => Err(lost(id)),
        [Settled::Gone] => Err(Failure::from(Problem::gone(queue, id))),
        [settled] => {
            let reply = SettleReply::settled(queue, id, *settled);
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
    Failure::from(Problem::lease_lost(id))
}
