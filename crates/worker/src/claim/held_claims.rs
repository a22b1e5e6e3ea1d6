//! The claims a worker holds in one queue, by boot id.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use windlass_core::limits::{CLAIM_MAX, PAGE};
use windlass_core::store::Renewed;
use windlass_core::{BootId, Renewal, Token};

use crate::boot_time::BootTime;
use crate::run::attempt::Attempt;

/// The claims of a worker in one queue. A worker that had to re-register continues under a new boot
/// id, and finishes the jobs it holds under the old one.
#[derive(Debug)]
pub(crate) struct HeldClaims {
    by_boot: Vec<BootClaims>,
    /// A blocking claim is in flight. It moves on to further numbers, so no other claim may start.
    pub(crate) is_blocking: bool,
    /// When the renewal loop wakes up by itself.
    wakes_at: BootTime,
}

/// The claims of one boot id.
#[derive(Debug)]
pub(crate) struct BootClaims {
    pub(crate) boot: BootId,
    seq: u64,
    /// The highest claim number that was answered or abandoned.
    closed: u64,
    /// Claims in flight: their jobs, if any, may still arrive, so no renewal may release them.
    open: BTreeSet<u64>,
    orphans: Option<Orphans>,
    /// Claims that expired locally, and until when renewals name them, so that the store does not release
    /// their jobs before the handlers had time to stop.
    stopping: Vec<(Token, BootTime)>,
    renew_at: BootTime,
    /// A renewal was requested after the latest one was sent, whose reply must not postpone it.
    is_urgent: bool,
    claims: HashMap<Token, HeldClaim>,
}

/// Jobs that the store may hold for this worker but that it no longer tracks. Renewals release them.
#[derive(Debug, Clone, Copy)]
struct Orphans {
    /// The latest claim they belong to.
    number: u64,
    /// How many jobs at most; a renewal releases up to a page of them.
    jobs: usize,
    /// A renewal that leaves them out is in flight.
    is_renewal_sent: bool,
}

/// The jobs of one claim that are still held.
#[derive(Debug)]
struct HeldClaim {
    number: u64,
    left: usize,
    /// How many were dropped without reporting an outcome. The store releases them when renewals
    /// stop naming the claim.
    dropped: usize,
    attempts: Vec<Option<Arc<Attempt>>>,
}

impl HeldClaim {
    fn first(&self) -> Option<&Arc<Attempt>> {
        self.attempts.iter().flatten().next()
    }

    /// When its lease expires locally: one time for all its jobs.
    fn expiry(&self) -> Option<BootTime> {
        self.first().map(|attempt| attempt.expiry.time())
    }

    fn remove(&mut self, attempts: &[Arc<Attempt>], is_reported: bool) {
        for attempt in attempts {
            let held = self.attempts.get_mut(attempt.index);
            if held.is_some_and(|held| held.take().is_some()) {
                self.left -= 1;
                self.dropped += usize::from(!is_reported);
            }
        }
    }
}

impl BootClaims {
    fn new(boot: BootId) -> Self {
        Self {
            boot,
            seq: 0,
            closed: 0,
            open: BTreeSet::new(),
            orphans: None,
            stopping: Vec::new(),
            renew_at: BootTime::NEVER,
            is_urgent: false,
            claims: HashMap::new(),
        }
    }

    fn is_idle(&self) -> bool {
        self.claims.is_empty() && self.orphans.is_none()
    }

    /// Records that a claim was answered or abandoned. A blocking claim ends with a higher number.
    fn close(&mut self, (first, seq): (u64, u64)) {
        self.open.remove(&first);
        self.seq = self.seq.max(seq);
        self.closed = self.closed.max(seq);
    }

    /// The number up to which all claims are closed: replies may arrive out of order.
    fn settled(&self) -> u64 {
        let known = self.open.first().map_or(u64::MAX, |open| open - 1);
        self.closed.min(known)
    }

    /// Whether orphans can be released only after an earlier claim is answered.
    fn awaits_earlier_claim(&self) -> bool {
        self.orphans
            .is_some_and(|orphans| orphans.number > self.settled())
    }

    /// Adds jobs that may be held under this claim or an earlier one, and are not tracked here.
    fn add_orphans(&mut self, number: u64, jobs: usize) {
        let earlier = self.orphans;
        self.orphans = Some(Orphans {
            number: earlier.map_or(number, |orphans| orphans.number.max(number)),
            jobs: earlier.map_or(jobs, |orphans| orphans.jobs + jobs),
            is_renewal_sent: false,
        });
    }

    /// When the next renewal is due: at the latest when it may release jobs that expired locally.
    fn due_at(&self) -> BootTime {
        let stopped = self.stopping.iter().map(|(_, until)| *until);
        stopped.fold(self.renew_at, BootTime::min)
    }

    fn renew_now(&mut self) {
        self.renew_at = self.renew_at.min(BootTime::now());
        self.is_urgent = true;
    }
}

impl HeldClaims {
    pub(crate) fn new(boot: BootId) -> Self {
        Self {
            by_boot: vec![BootClaims::new(boot)],
            is_blocking: false,
            wakes_at: BootTime::NEVER,
        }
    }

    /// Continues under a new boot id.
    pub(crate) fn start_boot(&mut self, boot: BootId) {
        self.by_boot
            .retain(|entry| !entry.is_idle() || !entry.open.is_empty());
        self.by_boot.push(BootClaims::new(boot));
    }

    /// Like [`next_claim`](Self::next_claim), but `None` while a blocking claim is in flight.
    pub(crate) fn next_claim_unless_blocking(&mut self) -> Option<(BootId, u64)> {
        (!self.is_blocking).then(|| self.next_claim())
    }

    /// Returns the boot id and number of the next claim.
    pub(crate) fn next_claim(&mut self) -> (BootId, u64) {
        let entry = self.by_boot.last_mut().expect("there is always a boot id");
        entry.seq += 1;
        entry.open.insert(entry.seq);
        (entry.boot.clone(), entry.seq)
    }

    /// Records the reply to a claim and its jobs, if any. Returns true if the renewal loop has to be woken
    /// for it: not if it wakes up early enough by itself, so a busy worker wakes it rarely.
    pub(crate) fn claim_answered(
        &mut self,
        boot: &BootId,
        numbers: (u64, u64),
        held: Option<(Token, Vec<Arc<Attempt>>)>,
        renew_at: BootTime,
    ) -> bool {
        let wakes_at = self.wakes_at;
        let Some(entry) = self.by_boot.iter_mut().find(|entry| entry.boot == *boot) else {
            return false;
        };
        let awaited_earlier_claim = entry.awaits_earlier_claim();
        entry.close(numbers);
        let was_idle = entry.is_idle();
        if let Some((token, attempts)) = held {
            let held = HeldClaim {
                number: numbers.1,
                left: attempts.len(),
                dropped: 0,
                attempts: attempts.into_iter().map(Some).collect(),
            };
            entry.claims.insert(token, held);
        }
        if was_idle {
            entry.renew_at = renew_at;
            entry.is_urgent = false;
        }
        if awaited_earlier_claim && !entry.awaits_earlier_claim() {
            // Orphans had to wait for this reply.
            entry.renew_now();
            return true;
        }
        was_idle && !entry.is_idle() && renew_at < wakes_at
    }

    /// Records that a claim was abandoned. The next renewal releases the jobs it may have been given,
    /// at most `max`.
    pub(crate) fn claim_abandoned(&mut self, boot: &BootId, numbers: (u64, u64), max: usize) {
        if let Some(entry) = self.by_boot.iter_mut().find(|entry| entry.boot == *boot) {
            entry.close(numbers);
            entry.add_orphans(numbers.1, max.min(CLAIM_MAX));
            entry.renew_now();
        }
    }

    /// Removes jobs. If the store does not know (`is_reported` is false), renewals release them: the next
    /// one is due within a third of the lease, since jobs were held until now.
    pub(crate) fn remove(&mut self, attempts: &[Arc<Attempt>], is_reported: bool) {
        // Adjacent jobs mostly belong to one claim.
        for attempts in attempts.chunk_by(|one, next| one.token == next.token) {
            let Some(token) = attempts.first().map(|attempt| attempt.token) else {
                continue;
            };
            for entry in &mut self.by_boot {
                let Some(held) = entry.claims.get_mut(&token) else {
                    continue;
                };
                held.remove(attempts, is_reported);
                if held.left == 0 {
                    let (number, dropped) = (held.number, held.dropped);
                    entry.claims.remove(&token);
                    if dropped > 0 {
                        entry.add_orphans(number, dropped);
                    }
                }
            }
        }
    }

    /// Returns all attempts held.
    pub(crate) fn attempts(&self) -> impl Iterator<Item = &Arc<Attempt>> {
        let claims = self.by_boot.iter().flat_map(|entry| entry.claims.values());
        claims.flat_map(|held| held.attempts.iter().flatten())
    }

    /// Removes the attempts whose lease has expired locally. Another claim may extend the lease in the
    /// store before it expires there, so a renewal releases the jobs, after their handlers had `margin`
    /// to stop.
    pub(crate) fn take_expired(&mut self, now: BootTime, margin: Duration) -> Vec<Arc<Attempt>> {
        let mut expired = Vec::new();
        for entry in &mut self.by_boot {
            for (token, held) in &entry.claims {
                let Some(expiry) = held.expiry().filter(|expiry| *expiry <= now) else {
                    continue;
                };
                expired.extend(held.attempts.iter().flatten().cloned());
                entry.stopping.push((*token, expiry.plus(margin)));
            }
        }
        self.remove(&expired, false);
        expired
    }

    /// When the renewal loop has to wake up; `None` while there is nothing to renew.
    pub(crate) fn next_wakeup(&self) -> Option<BootTime> {
        let busy = self.by_boot.iter().filter(|entry| !entry.is_idle());
        let renewal = busy.map(BootClaims::due_at).min();
        renewal.into_iter().chain(self.next_expiry()).min()
    }

    /// Like [`next_wakeup`](Self::next_wakeup), but `latest` at the latest: the loop sleeps until then.
    pub(crate) fn plan_wakeup(&mut self, latest: BootTime) -> Option<BootTime> {
        let next = self.next_wakeup().map(|next| next.min(latest));
        self.wakes_at = next.unwrap_or(BootTime::NEVER);
        next
    }

    /// When the first lease expires locally; `None` while no job is held.
    pub(crate) fn next_expiry(&self) -> Option<BootTime> {
        let held = self.by_boot.iter().flat_map(|entry| entry.claims.values());
        held.filter_map(HeldClaim::expiry).min()
    }

    /// Returns the renewals that are due; each is due again after `retry_in` if it fails.
    pub(crate) fn due_renewals(&mut self, now: BootTime, retry_in: Duration) -> Vec<Renewal> {
        self.by_boot
            .iter_mut()
            .filter(|entry| !entry.is_idle() && entry.due_at() <= now)
            .map(|entry| {
                entry.renew_at = now.plus(retry_in);
                entry.is_urgent = false;
                entry.stopping.retain(|(_, until)| *until > now);
                let settled = entry.settled();
                if let Some(orphans) = &mut entry.orphans {
                    orphans.is_renewal_sent =
                        orphans.number <= settled && entry.stopping.is_empty();
                }
                let stopping = entry.stopping.iter().map(|(token, _)| token);
                Renewal::Worker {
                    boot: entry.boot.clone(),
                    tokens: entry.claims.keys().chain(stopping).copied().collect(),
                    settled,
                }
            })
            .collect()
    }

    /// Records the reply to a renewal of `tokens`: extends the local expiry of the renewed claims, and
    /// forgets the orphans that were released. The next one is due at `renew_at`, or now if it was
    /// requested meanwhile or more orphans are left, or as after an error if not all was reached.
    pub(crate) fn renewed(
        &mut self,
        (boot, tokens): (&BootId, &[Token]),
        renewed: &Renewed,
        expiry: BootTime,
        renew_at: BootTime,
    ) {
        let Some(entry) = self.by_boot.iter_mut().find(|entry| entry.boot == *boot) else {
            return;
        };
        if renewed.until.is_some() {
            let unreached = renewed.unreached.as_deref().unwrap_or_default();
            for token in tokens {
                let held = entry.claims.get(token).and_then(HeldClaim::first);
                if let Some(first) = held
                    && !renewed.lost.contains(token)
                    && !unreached.contains(token)
                {
                    first.expiry.extend_to(expiry);
                }
            }
        }
        if renewed.unreached.is_some() {
            return;
        }
        if !entry.is_urgent {
            entry.renew_at = renew_at;
        }
        let Some(orphans) = entry
            .orphans
            .as_mut()
            .filter(|orphans| orphans.is_renewal_sent)
        else {
            return;
        };
        orphans.jobs = orphans.jobs.saturating_sub(PAGE);
        if orphans.jobs == 0 || renewed.until.is_none() {
            entry.orphans = None;
        } else {
            entry.renew_now();
        }
    }

    /// Makes all renewals due now.
    pub(crate) fn renew_now(&mut self) {
        for entry in &mut self.by_boot {
            entry.renew_now();
        }
    }

    /// Returns the boot ids that may hold jobs.
    pub(crate) fn boots(&self) -> Vec<BootId> {
        self.by_boot
            .iter()
            .map(|entry| entry.boot.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests;
