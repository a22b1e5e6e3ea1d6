//! claim and accept. A claim fires due schedules, promotes due jobs, reaps expired leases, then takes jobs by
//! priority.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_core::limits::{CLAIM_BYTES_MAX, CLAIM_MAX, PAGE, SUSPECT_AFTER, SUSPECT_COOLDOWN};
use windlass_core::store::{ClaimedJob, Claimer, LeaseStatus, Owner, Reason, UniqueUntil};
use windlass_core::{
    Bytes, Claim, ClaimRequest, JobId, JobLease, JobState, Mode, Timestamp, Token,
};

use crate::queue::{ClaimRecord, Lease, Queue};

impl Queue {
    pub(crate) fn claim(&mut self, request: &ClaimRequest) -> Option<Claim> {
        if let Some(reply) = self.repeated(request) {
            return reply;
        }
        loop {
            self.fire_due(PAGE);
            self.promote_due(PAGE);
            self.reap(PAGE);
            if !self.is_reaping() {
                break;
            }
            // Each page prunes as if it were a separate transaction.
            self.prune(PAGE);
        }
        let taken = if self.is_paused {
            vec![]
        } else {
            self.take(request)
        };
        let claim = if taken.is_empty() {
            None
        } else {
            Some(self.start_jobs(request, &taken))
        };
        self.prune(PAGE);
        self.sample(claim.as_ref().and_then(|claim| claim.jobs.first()));
        claim
    }

    /// The reply to a repeated claim of a boot: the jobs of the latest claim, nothing for earlier ones.
    #[expect(
        clippy::option_option,
        reason = "outer: is it a repeated claim? inner: its reply"
    )]
    fn repeated(&mut self, request: &ClaimRequest) -> Option<Option<Claim>> {
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
        let claim = self.claims.get(&token);
        let ids = claim.map_or(&[][..], |claim| &claim.ids);
        let leased = ids.iter().filter_map(|id| self.leased(id, token));
        let jobs: Vec<_> = leased.map(|job| ClaimedJob::from(job.clone())).collect();
        if jobs.is_empty() {
            return Some(None);
        }
        let until = self.extend(&owner, request.lease.get());
        Some(until.map(|until| Claim { token, until, jobs }))
    }

    /// Whether some jobs of a lease are back and others not yet. No job is handed out meanwhile: the
    /// newest ones come back first.
    fn is_reaping(&self) -> bool {
        let mut leases = self.leases.values();
        leases.any(|lease| lease.until == Timestamp::default())
    }

    /// Takes jobs in turn from the groups, first priority first, up to `max` jobs and `CLAIM_BYTES_MAX` of
    /// payload. A suspect is claimed alone.
    fn take(&mut self, request: &ClaimRequest) -> Vec<JobId> {
        let max = request.max.min(CLAIM_MAX).min(self.allowed());
        let may_take_suspect = self.may_take_suspect(&request.claimer);
        let mut taken = Vec::new();
        let (mut expired, mut bytes) = (0, 0);
        while expired < PAGE
            && taken.len() < max
            && let Some(id) = self.next_job(request.mode, may_take_suspect)
        {
            let job = &self.jobs[&id];
            let is_suspect = job.expiries >= SUSPECT_AFTER;
            if is_suspect && !taken.is_empty() {
                break;
            }
            if job.expires_at.is_some_and(|at| at <= self.now.ms()) {
                self.mark_dead(&id, Reason::Expired);
                expired += 1;
                continue;
            }
            bytes += job.payload.as_ref().map_or(0, Bytes::len);
            if bytes > CLAIM_BYTES_MAX && !taken.is_empty() {
                break;
            }
            self.remove_waiting(&id);
            self.take_turn(&id);
            taken.push(id);
            if is_suspect {
                break;
            }
        }
        taken
    }

    /// A boot may claim another suspect once the last one has finished or has run long enough.
    fn may_take_suspect(&self, claimer: &Claimer) -> bool {
        let Claimer::Worker { boot, .. } = claimer else {
            return true;
        };
        let lease = self.leases.get(&Owner::boot(boot));
        let suspect = lease.and_then(|lease| lease.suspect.as_ref());
        suspect.is_none_or(|(id, token)| {
            let (since, now) = (token.issued_at(), self.now.ms());
            // The clock was set back, so it is unknown how long the suspect ran.
            let has_run = now < since || now.since(since) >= SUSPECT_COOLDOWN;
            has_run || self.leased(id, *token).is_none()
        })
    }

    fn start_jobs(&mut self, request: &ClaimRequest, ids: &[JobId]) -> Claim {
        self.count_claimed(ids.len());
        let token = Token::next(self.last_token, self.now.us, request.nonce);
        self.last_token = token.number;
        self.mark_changed();
        let mut jobs = Vec::new();
        for id in ids {
            self.announce(id, JobState::Running);
            let job = self.job(id);
            job.started_at = Some(token.issued_at());
            if job.unique_until == UniqueUntil::Start {
                job.unique_until = UniqueUntil::End;
                let key = job.unique_key.take();
                key.and_then(|key| self.unique_keys.remove(&key));
            }
            let job = self.job(id);
            jobs.push(ClaimedJob::from(job.clone()));
        }
        let until = if request.mode == Mode::AtMostOnce {
            for id in ids {
                self.succeed(id, None);
            }
            // Remember the claim: a repeated call must not finish more jobs.
            if matches!(request.claimer, Claimer::Worker { .. }) {
                self.attach_to_lease(request, token, None);
            }
            self.now.ms()
        } else {
            self.lease_jobs(request, token, ids)
        };
        Claim { token, until, jobs }
    }

    /// Leases jobs to a token, under the lease of its owner.
    fn lease_jobs(&mut self, request: &ClaimRequest, token: Token, ids: &[JobId]) -> Timestamp {
        let is_dispatch = request.mode == Mode::Dispatch;
        let mut suspect = None;
        for id in ids {
            let job = self.job(id);
            job.token = Some(token);
            job.worker = request.claimer.worker().cloned();
            job.accepted_at = (!is_dispatch).then_some(token.issued_at());
            if job.expiries >= SUSPECT_AFTER {
                suspect = Some((id.clone(), token));
            }
        }
        let record = ClaimRecord {
            owner: request.claimer.owner(token),
            seq: request.claimer.seq(),
            ids: ids.to_vec(),
            left: BTreeMap::new(),
            finished_at: None,
        };
        self.claims.insert(token, record);
        self.attach_to_lease(request, token, suspect)
    }

    /// Adds a claim to the lease of its owner, which remembers the latest claim and the latest suspect
    /// of a boot.
    fn attach_to_lease(
        &mut self,
        request: &ClaimRequest,
        token: Token,
        suspect: Option<(JobId, Token)>,
    ) -> Timestamp {
        let owner = request.claimer.owner(token);
        let lease = self.leases.entry(owner.clone()).or_insert_with(|| Lease {
            until: self.now.ms(),
            length: request.lease.get(),
            last: None,
            suspect: None,
        });
        if let Claimer::Worker { seq, .. } = &request.claimer {
            lease.last = Some((*seq, token));
        }
        if suspect.is_some() {
            lease.suspect = suspect;
        }
        self.extend(&owner, request.lease.get()).unwrap_or_default()
    }

    /// Extends a lease; never shortens it. A lease that is being reaped stays lost.
    pub(crate) fn extend(&mut self, owner: &Owner, length: Duration) -> Option<Timestamp> {
        let lease = self
            .leases
            .get_mut(owner)
            .filter(|lease| lease.until > Timestamp::default())?;
        lease.length = length;
        lease.until = lease.until.max(self.now.ms().plus(length));
        let until = lease.until;
        self.mark_changed();
        Some(until)
    }

    pub(crate) fn accept(&mut self, lease: &JobLease, length: Duration) -> LeaseStatus {
        let is_leased = self.leased(&lease.id, lease.token).is_some();
        let claim = self.claims.get(&lease.token).filter(|_| is_leased);
        let owner = claim.map(|claim| claim.owner.clone());
        if owner
            .and_then(|owner| self.extend(&owner, length))
            .is_none()
        {
            return LeaseStatus::Lost;
        }
        let now = self.now.ms();
        self.job(&lease.id).accepted_at.get_or_insert(now);
        LeaseStatus::Valid
    }
}
