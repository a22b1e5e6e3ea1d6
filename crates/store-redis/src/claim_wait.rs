//! Waiting for jobs: a sleeper registers in the same step that found nothing, and is woken by a
//! marker; the claim stands in line right behind the wait.

use std::convert::Infallible;
use std::time::Duration;

use windlass_core::wait::{Deadline, poll_interval};
use windlass_core::{Claim, ClaimRequest, Result};

use crate::claim::{Found, claim_args};
use crate::link::Awaited;
use crate::partition::Part;
use crate::reply::Reply;

/// How much longer than its nap a sleeper is registered: the marker may be on its way.
const GRACE: Duration = Duration::from_millis(200);

/// How much longer than until the next due job the server is asked to wait: our own knock comes first.
const KNOCK_SLACK: Duration = Duration::from_millis(50);

impl Part {
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
        let mut nap = deadline.clamp(poll_interval());
        let sleeper = |nap| Some((name.as_str(), nap + GRACE));
        let args = claim_args(request, sleeper(nap));
        let script = &self.scripts().claim;
        let mut reply = self.hand_out(script, args, &request.claimer).await?;
        loop {
            let mut knock_after = None;
            match self.read_claim(reply)? {
                Found::Jobs(claim) => return Ok(Some(claim)),
                Found::Stale => nap = Duration::ZERO,
                // Elsewhere there may be something, and here nobody would know.
                Found::Nothing { .. } if deadline.is_over() || self.has_siblings() => {
                    return Ok(None);
                }
                Found::Nothing { next_due } => {
                    knock_after = next_due.filter(|due| *due < nap);
                    nap = deadline.clamp(knock_after.map_or(nap, |due| due + KNOCK_SLACK));
                }
            }
            request.claimer.advance();
            let next_nap = deadline.clamp(poll_interval());
            let then = self.call(
                &self.scripts().claim,
                claim_args(request, sleeper(next_nap)),
            );
            // A wait of nothing would be a wait for ever.
            let wait = nap.max(Duration::from_millis(1));
            let wake = self.keys.one("wake");
            let parked = self.link().park(Awaited::Marker(&wake), wait, &then);
            reply = Reply::list(tokio::select! {
                biased;
                answer = Box::pin(parked) => answer?,
                never = self.knock(&wake, knock_after) => match never {},
            })?;
            nap = next_nap;
        }
    }

    /// Leaves a marker when a scheduled job falls due. A server that has nothing else to do ends a wait up
    /// to a tenth of a second late; a marker it answers at once.
    async fn knock(&self, wake: &[u8], after: Option<Duration>) -> Infallible {
        if let Some(after) = after {
            tokio::time::sleep(after).await;
            let mut push = redis::cmd("RPUSH");
            push.arg(wake).arg("1");
            // Nothing depends on it: the wait ends by itself soon after.
            let _ = Box::pin(self.link().ask(wake, &push)).await;
        }
        std::future::pending().await
    }
}
