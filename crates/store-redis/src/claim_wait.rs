//! Waits for jobs. A claim that finds nothing registers a waiter in the same script call; a call that
//! makes jobs ready leaves a wake-up for it in the list `wake`.
//!
//! The waiting claims of a process share a registration and a connection ([`waiters`]). With one
//! partition, the leader blocks on the list, with its next claim pipelined behind the blocking pop.
//! With several, tasks block on all lists ([`wake_lists`]).

mod waiters;
mod wake_lists;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::wait::Deadline;
use windlass_core::{Claim, ClaimRequest, Result};

use crate::claim::{Found, claim_only};
use crate::partition::{Partition, claim_error, claim_reply, resend_of};
use crate::queue::{Queue, for_partition, may_skip};

pub(crate) use waiters::Waiters;
use waiters::{Entered, Lead, Turn};
use windlass_redis_link::WaitOn;

/// How much longer than until the next due job the server waits: our own wake-up comes first.
const WAKE_UP_SLACK: Duration = Duration::from_millis(50);

/// A timeout of 0 would block forever.
const BLOCK_MIN: Duration = Duration::from_millis(1);

impl Queue {
    /// Claims jobs, waiting up to `wait` for one to become ready.
    pub(crate) async fn claim_waiting(
        &self,
        request: &mut ClaimRequest,
        wait: Duration,
    ) -> Result<Option<Claim>> {
        if wait.is_zero() {
            return self.claim(request).await;
        }
        let mut waiting = WaitingClaim {
            queue: self,
            waiters: self.waiters(&request.claimer),
            request,
            deadline: Deadline::after(Some(wait)),
            is_sent: false,
        };
        waiting.wait().await
    }
}

struct WaitingClaim<'a> {
    queue: &'a Queue,
    waiters: Arc<Waiters>,
    request: &'a mut ClaimRequest,
    deadline: Deadline,
    /// Whether the sequence number of the request has been sent.
    is_sent: bool,
}

impl WaitingClaim<'_> {
    async fn wait(&mut self) -> Result<Option<Claim>> {
        let (mut ticket, mut has_asked) = (None, false);
        loop {
            let turn = match self.waiters.enter(&mut ticket, self.deadline, has_asked) {
                Entered::Leader(lead) => Turn::Lead(lead),
                Entered::Follower(mut follower) => match follower.turn().await {
                    Some(turn) => turn,
                    None => return Ok(None),
                },
                Entered::MustAsk => {
                    has_asked = true;
                    self.advance();
                    match self.queue.claim(self.request).await? {
                        None => continue,
                        found => return Ok(found),
                    }
                }
            };
            match turn {
                Turn::Lead(lead) => return self.lead(lead).await,
                Turn::Claim(number) => {
                    self.advance();
                    let count = self.queue.partitions().len();
                    if let Some((claim, left)) = self.ask(number, count, true).await? {
                        if left > 0 {
                            self.waiters.wake_follower(number);
                        }
                        return Ok(Some(claim));
                    }
                }
                Turn::Fail(error) => return Err(error),
            }
        }
    }

    /// Waits for all waiters until this claim has found jobs or its time is over.
    async fn lead(&mut self, lead: Lead) -> Result<Option<Claim>> {
        let found = self.ask_and_park().await;
        match &found {
            // One of the jobs left is for the next leader.
            Ok(Some((_, number, left))) if *left > 1 => self.waiters.wake_follower(*number),
            Err(error) if !error.is_unknown() => self.waiters.fail_followers(error),
            _ => {}
        }
        drop(lead);
        Ok(found?.map(|(claim, _, _)| claim))
    }

    /// Returns a claim, the partition it is from, and the number of ready jobs left there.
    async fn ask_and_park(&mut self) -> Result<Option<(Claim, usize, u64)>> {
        loop {
            let count = self.queue.learn_from_claims();
            if let Some(found) = self.ask_due(count).await? {
                return Ok(Some(found));
            }
            if self.deadline.is_over() {
                return Ok(None);
            }
            // Not registered: the claim dropped stale entries and must be repeated.
            let is_unfinished = count == 1 && self.waiters.registered_for(0).0.is_zero();
            if is_unfinished || self.queue.learn_from_claims() != count {
                continue;
            }
            if count > 1 {
                self.wait_for_wake_up(count).await?;
            } else if let Some((claim, left)) = self.park().await? {
                return Ok(Some((claim, 0, left)));
            }
        }
    }

    /// Claims from the partitions whose registration is over, or that were woken.
    async fn ask_due(&mut self, count: usize) -> Result<Option<(Claim, usize, u64)>> {
        if !self.waiters.time_left(count).is_zero() {
            return Ok(None);
        }
        self.advance();
        let first = self.queue.start_of(&self.request.claimer, count);
        let mut skipped = None;
        for number in self.waiters.due(first, count) {
            match self.ask(number, count, false).await {
                Ok(None) => {}
                Ok(Some((claim, left))) => return Ok(Some((claim, number, left))),
                Err(error) if count > 1 && may_skip(self.request, &error) => {
                    skipped.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        skipped.map_or(Ok(None), Err)
    }

    /// Claims from one partition; it has a job if the waiter was woken. Returns the claim and the number
    /// of ready jobs left.
    async fn ask(
        &self,
        number: usize,
        count: usize,
        is_woken: bool,
    ) -> Result<Option<(Claim, u64)>> {
        let partition = Arc::clone(&self.queue.partitions()[number]);
        let request = for_partition(self.request, partition.number, count);
        let args = claim_only(&request, Some(&self.waiters.waiter(count)));
        self.waiters.asking(number);
        let (_, handed_out) = partition.hand_out(args, &request, is_woken).await?;
        let found = partition.read_claim(&request, handed_out).await?;
        Ok(self.read(number, found))
    }

    /// Reads what a claim that registers found.
    fn read(&self, number: usize, found: Found) -> Option<(Claim, u64)> {
        match found {
            Found::Jobs { claim, left } => return Some((claim, left)),
            Found::Nothing {
                next_due,
                registered_for,
            } => self.waiters.registered(number, registered_for, next_due),
            Found::Again => {}
        }
        None
    }

    /// Blocks on the wake-ups of the only partition, then claims from it.
    async fn park(&mut self) -> Result<Option<(Claim, u64)>> {
        self.advance();
        let partition = self.queue.first();
        let (left, job_due) = self.waiters.registered_for(0);
        let wake_up_after = job_due.filter(|due| *due < left);
        let wait = wake_up_after.map_or(left, |due| due + WAKE_UP_SLACK);
        let wait = self.deadline.clamp(wait).max(BLOCK_MIN);
        let args = claim_only(self.request, Some(&self.waiters.waiter(1)));
        let is_fast = partition.fast_completes.is_on();
        let script = if is_fast {
            partition.fast_complete()
        } else {
            &partition.scripts().complete
        };
        let then = partition.call(script, args);
        self.waiters.asking(0);
        self.waiters.set_parked(!left.is_zero());
        let wake = partition.keys.one("wake");
        let parked = partition
            .link()
            .wait_then_run(WaitOn::Pop(&wake), wait, &then);
        let claimer = &self.request.claimer;
        let parked = tokio::select! {
            biased;
            parked = Box::pin(parked) => parked.map_err(|error| claim_error(error, claimer))?,
            never = partition.wake_up(wake_up_after) => match never {},
        };
        self.waiters.set_parked(false);
        let claimed = partition.complete_if_refused(&then, parked, resend_of(claimer));
        let (reply, unconfirmed) = claimed.await.map_err(|error| claim_error(error, claimer))?;
        let mut reply = claim_reply(reply, self.request)?;
        reply.text()?; // no statuses
        let found = partition
            .read_claim(self.request, (reply, unconfirmed))
            .await?;
        Ok(self.read(0, found))
    }

    /// Waits until a partition is woken or its registration is over.
    async fn wait_for_wake_up(&self, count: usize) -> Result<()> {
        wake_lists::watch(self.queue, &self.waiters, count);
        let left = self.deadline.clamp(self.waiters.time_left(count));
        if !left.is_zero() {
            self.waiters.set_parked(true);
            self.waiters.wait(left).await;
            self.waiters.set_parked(false);
        }
        self.waiters.failure().map_or(Ok(()), Err)
    }

    /// Moves on to the next sequence number, unless the current one is unused.
    fn advance(&mut self) {
        if self.is_sent {
            self.request.claimer.advance();
        }
        self.is_sent = true;
    }
}

impl Partition {
    /// Wakes the blocking pop when a scheduled job is due. An idle server ends a timeout up to 100 ms
    /// late, but replies to a push at once.
    async fn wake_up(&self, after: Option<Duration>) -> Infallible {
        if let Some(after) = after {
            tokio::time::sleep(after).await;
            self.push_wake_up().await;
        }
        std::future::pending().await
    }

    /// Wakes a waiter. Best effort: if it fails, waiters find the jobs when they poll.
    pub(crate) async fn push_wake_up(&self) {
        let wake = self.keys.one("wake");
        let mut push = redis::cmd("RPUSH");
        push.arg(&wake[..]).arg("1");
        let _ = Box::pin(self.link().ask(&wake, &push)).await;
    }
}
