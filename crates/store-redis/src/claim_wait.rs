//! Waits for jobs: the claim that finds nothing registers a waiter in the same script call, then
//! blocks on the list `wake`; the next claim is pipelined behind the blocking pop.

use std::convert::Infallible;
use std::time::Duration;

use windlass_core::wait::{Deadline, poll_interval};
use windlass_core::{Claim, ClaimRequest, Result};

use crate::claim::{Found, claim_args};
use crate::link::WaitOn;
use crate::partition::{Partition, claim_error};
use crate::reply::Reply;

/// How much longer than its wait a waiter is registered: the wake-up may be in flight.
const GRACE: Duration = Duration::from_millis(200);

/// How much longer than until the next due job the server waits: our own wake-up comes first.
const WAKE_UP_SLACK: Duration = Duration::from_millis(50);

impl Partition {
    pub(crate) async fn claim_waiting(
        &self,
        request: &mut ClaimRequest,
        wait: Duration,
    ) -> Result<Option<Claim>> {
        if wait.is_zero() {
            return self.claim(request).await;
        }
        let deadline = Deadline::after(Some(wait));
        let name = format!("{:016x}", fastrand::u64(..));
        let mut pause = deadline.clamp(poll_interval());
        let waiter = |pause| Some((name.as_str(), pause + GRACE));
        let args = claim_args(request, waiter(pause));
        let script = &self.scripts().claim;
        let mut handed_out = self.hand_out(script, args, &request.claimer).await?;
        loop {
            let (reply, unconfirmed) = handed_out;
            let wake_up_after = match self.read_claim(reply)? {
                Found::Jobs(claim) => match unconfirmed {
                    None => return Ok(Some(claim)),
                    Some(error) => {
                        self.give_back(request, &claim).await;
                        return Err(error);
                    }
                },
                Found::Again => {
                    let args = claim_args(request, waiter(pause));
                    handed_out = self.hand_out(script, args, &request.claimer).await?;
                    continue;
                }
                // Other partitions may have jobs, and this one would not be woken for them.
                Found::Nothing { .. } if deadline.is_over() || self.is_partitioned() => {
                    return Ok(None);
                }
                Found::Nothing { next_due } => {
                    let after = next_due.filter(|due| *due < pause);
                    pause = deadline.clamp(after.map_or(pause, |due| due + WAKE_UP_SLACK));
                    after
                }
            };
            request.claimer.advance();
            let next_pause = deadline.clamp(poll_interval());
            let then = self.call(
                &self.scripts().claim,
                claim_args(request, waiter(next_pause)),
            );
            // A timeout of 0 would block forever.
            let wait = pause.max(Duration::from_millis(1));
            let wake = self.keys.one("wake");
            let parked = self.link().wait_then_run(WaitOn::Pop(&wake), wait, &then);
            let (reply, unconfirmed) = tokio::select! {
                biased;
                answer = Box::pin(parked) => answer.map_err(|error| claim_error(error, &request.claimer))?,
                never = self.wake_up(&wake, wake_up_after) => match never {},
            };
            handed_out = (Reply::list(reply)?, unconfirmed);
            pause = next_pause;
        }
    }

    /// Wakes the blocking pop when a scheduled job is due. An idle server ends a timeout up to 100 ms
    /// late, but replies to a push at once.
    async fn wake_up(&self, wake: &[u8], after: Option<Duration>) -> Infallible {
        if let Some(after) = after {
            tokio::time::sleep(after).await;
            let mut push = redis::cmd("RPUSH");
            push.arg(wake).arg("1");
            // Best effort: the timeout ends the wait soon after.
            let _ = Box::pin(self.link().ask(wake, &push)).await;
        }
        std::future::pending().await
    }
}
