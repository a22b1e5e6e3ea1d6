//! Claims that wait: the server waits for one minute at most, so a longer wait is several requests.

use std::time::Duration;

use windlass_api::ClaimReply;
use windlass_core::store::Claimer;
use windlass_core::wait::Deadline;
use windlass_core::{Claim, ClaimRequest, QueueName, Result, duration};

use crate::remote::RemoteStore;

/// The longest wait of one request, as in the server.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// How far the numbers of a worker's claims jump after a claim that waited and got no reply: the server
/// used some numbers, fewer than these.
const SEQ_JUMP: u64 = 1_000_000;

impl RemoteStore {
    pub(crate) async fn send_waiting_claim(
        &self,
        queue: &QueueName,
        request: &mut ClaimRequest,
        wait: Duration,
    ) -> Result<Option<Claim>> {
        request.check()?;
        let deadline = Deadline::after(Some(wait));
        loop {
            let wait = deadline.clamp(WAIT_MAX);
            let claim = windlass_api::request::Claim {
                wait: Some(duration::format(wait)),
                ..windlass_api::request::Claim::from(&*request)
            };
            let reply = self.0.queue(queue, claim, wait).await;
            if let (Err(_), Claimer::Worker { seq, .. }) = (&reply, &mut request.claimer) {
                *seq += SEQ_JUMP;
            }
            if let Some((claim, used)) = ClaimReply::into_claim(reply?)? {
                if let (Claimer::Worker { seq, .. }, Some(used)) = (&mut request.claimer, used) {
                    *seq = used;
                }
                return Ok(Some(claim));
            }
            if deadline.is_over() {
                return Ok(None);
            }
            // Claims without jobs leave no trace, so their numbers can be used again.
            request.claimer.advance();
        }
    }
}
