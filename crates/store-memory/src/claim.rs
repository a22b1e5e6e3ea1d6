//! claim: promote what is due, reap what expired, then take over the priorities in turn.

use std::collections::BTreeMap;

use windlass_core::limits::{CLAIM_MAX, PAGE, SUSPECT_TRUST};
use windlass_core::time::Now;
use windlass_core::{
    Claim, ClaimRequest, ClaimedJob, Claimer, JobId, JobLease, JobState, LeaseStatus, Mode, Owner,
    Priority, Reason, Timestamp, Token,
};

use crate::queue::{ClaimRecord, Lease, Queue};

impl Queue {
    pub(crate) fn claim(&mut self, now: Now, request: &ClaimRequest) -> Option<Claim> {
        if let Some(answer) = self.repeated(now, request) {
            return answer;
        }
        self.promote_due(now, PAGE);
        self.reap(now, PAGE);
        let taken = if self.may_claim(&request.claimer) {
            self.take(now, request)
        } else {
            vec![]
        };
        let claim = if taken.is_empty() {
            None
        } else {
            Some(self.hand_out(now, request, &taken))
        };
        self.prune(now, PAGE);
        claim
    }

    /// Answers a claim that this boot has made before: the latest again, earlier ones not at all.
    #[expect(
        clippy::option_option,
        reason = "the outer: is it a repeat? the inner: its answer"
    )]
    fn repeated(&mut self, now: Now, request: &ClaimRequest) -> Option<Option<Claim>> {
        let Claimer::Worker { boot, seq } = &request.claimer else {
            return None;
        };
        let owner = Owner::boot(boot);
        let (last_seq, token) = self.leases.get(&owner)?.last?;
        if *seq > last_seq {
            return None;
        }
        if *seq < last_seq {
            return Some(None);
        }
        let ids = self
            .claims
            .get(&token)
            .map(|claim| claim.ids.clone())
            .unwrap_or_default();
        let held = |id: &JobId| {
            self.held(id, token)
                .map(|entry| ClaimedJob::from(entry.job.clone()))
        };
        let jobs: Vec<_> = ids.iter().filter_map(held).collect();
        if jobs.is_empty() {
            return Some(None);
        }
        let until = self.extend(&owner, now, request.lease);
        Some(until.map(|until| Claim { token, until, jobs }))
    }

    /// A paused queue hands out nothing, nor does one that is still taking back this boot's jobs.
    fn may_claim(&self, claimer: &Claimer) -> bool {
        let is_doomed = match claimer {
            Claimer::Worker { boot, .. } => self
                .leases
                .get(&Owner::boot(boot))
                .is_some_and(|lease| lease.until == Timestamp::default()),
            Claimer::Single { .. } => false,
        };
        !self.is_paused && !is_doomed
    }

    /// Takes jobs out of the lanes, first priority first. A suspect is taken alone.
    fn take(&mut self, now: Now, request: &ClaimRequest) -> Vec<JobId> {
        let max = request.max.min(CLAIM_MAX);
        let may_take_suspect = self.may_take_suspect(now, &request.claimer);
        let mut taken = Vec::new();
        let mut passed = 0;
        for priority in Priority::all() {
            while passed < PAGE && taken.len() < max {
                let lanes = &self.lanes[priority.index()];
                let suspect = lanes.suspects.values().next().filter(|_| may_take_suspect);
                if suspect.is_some() && !taken.is_empty() {
                    return taken;
                }
                let is_suspect = suspect.is_some();
                let Some(id) = suspect.or_else(|| lanes.others.values().next()).cloned() else {
                    break;
                };
                if self.is_expired(&id, now) {
                    self.bury(&id, now, Reason::Expired);
                    passed += 1;
                    continue;
                }
                self.unplace(&id);
                taken.push(id);
                if is_suspect {
                    return taken;
                }
            }
        }
        taken
    }

    /// A boot takes its next suspect only when the last one ended or has run for a while.
    fn may_take_suspect(&self, now: Now, claimer: &Claimer) -> bool {
        let Claimer::Worker { boot, .. } = claimer else {
            return true;
        };
        let suspect = self
            .leases
            .get(&Owner::boot(boot))
            .and_then(|lease| lease.suspect.as_ref());
        suspect.is_none_or(|(id, token)| {
            let (since, now) = (token.issued_at(), now.ms());
            // A token from the future: the clock was set back, and how long it ran is not known.
            let has_run = now < since || now.since(since) >= SUSPECT_TRUST;
            has_run || self.held(id, *token).is_none()
        })
    }

    pub(crate) fn is_expired(&self, id: &JobId, now: Now) -> bool {
        self.jobs
            .get(id)
            .and_then(|entry| entry.job.expires_at)
            .is_some_and(|at| at <= now.ms())
    }

    fn hand_out(&mut self, now: Now, request: &ClaimRequest, ids: &[JobId]) -> Claim {
        let token = Token::next(self.last_token, now.us, request.nonce);
        self.last_token = token.number;
        self.changed();
        for id in ids {
            self.announce(id, JobState::Running);
            if let Some(entry) = self.jobs.get_mut(id) {
                entry.job.state = JobState::Running;
                entry.job.started_at = Some(token.issued_at());
            }
        }
        let jobs: Vec<_> = ids
            .iter()
            .filter_map(|id| self.jobs.get(id))
            .map(|entry| ClaimedJob::from(entry.job.clone()))
            .collect();
        let until = if request.mode == Mode::AtMostOnce {
            for id in ids {
                self.succeed(id, now, None);
            }
            // Remembered without its jobs: a repeat of the call must not finish further ones.
            if matches!(request.claimer, Claimer::Worker { .. }) {
                self.lease_to(now, request, token);
            }
            now.ms()
        } else {
            self.hold(now, request, token, ids)
        };
        Claim { token, until, jobs }
    }

    /// Puts jobs under a token and its owner's lease.
    fn hold(&mut self, now: Now, request: &ClaimRequest, token: Token, ids: &[JobId]) -> Timestamp {
        let owner = request.claimer.owner(token);
        let is_dispatch = request.mode == Mode::Dispatch;
        let mut suspect = None;
        for id in ids {
            let Some(entry) = self.jobs.get_mut(id) else {
                continue;
            };
            entry.job.token = Some(token);
            entry.job.worker = request.claimer.worker().cloned();
            entry.job.accepted_at = (!is_dispatch).then_some(token.issued_at());
            if entry.job.expiries >= windlass_core::limits::SUSPECT_AFTER {
                suspect = Some((id.clone(), token));
            }
        }
        let record = ClaimRecord {
            owner: owner.clone(),
            seq: request.claimer.seq(),
            ids: ids.to_vec(),
            left: BTreeMap::new(),
            finished_at: None,
        };
        self.claims.insert(token, record);
        let until = self.lease_to(now, request, token);
        if suspect.is_some()
            && let Some(lease) = self.leases.get_mut(&owner)
        {
            lease.suspect = suspect;
        }
        until
    }

    /// Puts a claim under its owner's lease; a boot's latest claim is remembered there.
    fn lease_to(&mut self, now: Now, request: &ClaimRequest, token: Token) -> Timestamp {
        let owner = request.claimer.owner(token);
        let lease = self.leases.entry(owner.clone()).or_insert_with(|| Lease {
            until: now.ms(),
            length: request.lease,
            last: None,
            suspect: None,
        });
        if let Claimer::Worker { seq, .. } = &request.claimer {
            lease.last = Some((*seq, token));
        }
        self.extend(&owner, now, request.lease).unwrap_or_default()
    }

    /// Moves the end of a lease, never back; a lease that is being reaped stays lost.
    pub(crate) fn extend(
        &mut self,
        owner: &Owner,
        now: Now,
        length: std::time::Duration,
    ) -> Option<Timestamp> {
        let lease = self
            .leases
            .get_mut(owner)
            .filter(|lease| lease.until > Timestamp::default())?;
        lease.length = length;
        lease.until = lease.until.max(now.ms().plus(length));
        let until = lease.until;
        self.changed();
        Some(until)
    }

    pub(crate) fn accept(
        &mut self,
        now: Now,
        hold: &JobLease,
        length: std::time::Duration,
    ) -> LeaseStatus {
        let Some(owner) = self.owner_of(hold) else {
            return LeaseStatus::Lost;
        };
        if self.extend(&owner, now, length).is_none() {
            return LeaseStatus::Lost;
        }
        if let Some(entry) = self.jobs.get_mut(&hold.id) {
            entry.job.accepted_at.get_or_insert(now.ms());
        }
        LeaseStatus::Valid
    }

    fn owner_of(&self, hold: &JobLease) -> Option<Owner> {
        self.held(&hold.id, hold.token)?;
        self.claims
            .get(&hold.token)
            .map(|claim| claim.owner.clone())
    }
}
