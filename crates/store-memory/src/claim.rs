//! claim and accept. A claim promotes due jobs, reaps expired leases, then takes jobs by priority.

use std::collections::BTreeMap;

use windlass_core::limits::{CLAIM_BYTES_MAX, CLAIM_MAX, PAGE, SUSPECT_COOLDOWN};
use windlass_core::time::Now;
use windlass_core::{
    Bytes, Claim, ClaimRequest, ClaimedJob, Claimer, JobId, JobLease, JobState, LeaseStatus, Mode,
    Owner, Priority, Reason, Timestamp, Token,
};

use crate::queue::{ClaimRecord, Lease, Queue};

impl Queue {
    pub(crate) fn claim(&mut self, now: Now, request: &ClaimRequest) -> Option<Claim> {
        if let Some(reply) = self.repeated(now, request) {
            return reply;
        }
        loop {
            self.promote_due(now, PAGE);
            self.reap(now, PAGE);
            if !self.is_reaping() {
                break;
            }
            // Each page prunes as if it were a separate transaction.
            self.prune(now, PAGE);
        }
        let taken = if self.is_paused {
            vec![]
        } else {
            self.take(now, request)
        };
        let claim = if taken.is_empty() {
            None
        } else {
            Some(self.start_jobs(now, request, &taken))
        };
        self.prune(now, PAGE);
        claim
    }

    /// The reply to a repeated claim of a boot: the jobs of the latest claim, nothing for earlier ones.
    #[expect(
        clippy::option_option,
        reason = "outer: is it a repeated claim? inner: its reply"
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
        let leased = |id: &JobId| {
            self.leased(id, token)
                .map(|entry| ClaimedJob::from(entry.job.clone()))
        };
        let jobs: Vec<_> = ids.iter().filter_map(leased).collect();
        if jobs.is_empty() {
            return Some(None);
        }
        let until = self.extend(&owner, now, request.lease.get());
        Some(until.map(|until| Claim { token, until, jobs }))
    }

    /// Whether some jobs of a lease are back and others not yet. No job is handed out meanwhile: the
    /// newest ones come back first.
    fn is_reaping(&self) -> bool {
        let mut leases = self.leases.values();
        leases.any(|lease| lease.until == Timestamp::default())
    }

    /// Takes jobs from the lanes, first priority first, up to `max` jobs and `CLAIM_BYTES_MAX` of payload.
    /// A suspect is claimed alone.
    fn take(&mut self, now: Now, request: &ClaimRequest) -> Vec<JobId> {
        let max = request.max.min(CLAIM_MAX);
        let may_take_suspect = self.may_take_suspect(now, &request.claimer);
        let mut taken = Vec::new();
        let (mut expired, mut bytes) = (0, 0);
        for priority in Priority::all() {
            while expired < PAGE && taken.len() < max {
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
                    self.mark_dead(&id, now, Reason::Expired);
                    expired += 1;
                    continue;
                }
                bytes += self.payload_bytes(&id);
                if bytes > CLAIM_BYTES_MAX && !taken.is_empty() {
                    return taken;
                }
                self.remove_waiting(&id);
                taken.push(id);
                if is_suspect {
                    return taken;
                }
            }
        }
        taken
    }

    fn payload_bytes(&self, id: &JobId) -> usize {
        let payload = self
            .jobs
            .get(id)
            .and_then(|entry| entry.job.payload.as_ref());
        payload.map_or(0, Bytes::len)
    }

    /// A boot may claim another suspect once the last one has finished or has run long enough.
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
            // The clock was set back, so it is unknown how long the suspect ran.
            let has_run = now < since || now.since(since) >= SUSPECT_COOLDOWN;
            has_run || self.leased(id, *token).is_none()
        })
    }

    pub(crate) fn is_expired(&self, id: &JobId, now: Now) -> bool {
        self.jobs
            .get(id)
            .and_then(|entry| entry.job.expires_at)
            .is_some_and(|at| at <= now.ms())
    }

    fn start_jobs(&mut self, now: Now, request: &ClaimRequest, ids: &[JobId]) -> Claim {
        let token = Token::next(self.last_token, now.us, request.nonce);
        self.last_token = token.number;
        self.mark_changed();
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
            // Remember the claim: a repeated call must not finish more jobs.
            if matches!(request.claimer, Claimer::Worker { .. }) {
                self.attach_to_lease(now, request, token);
            }
            now.ms()
        } else {
            self.lease_jobs(now, request, token, ids)
        };
        Claim { token, until, jobs }
    }

    /// Leases jobs to a token, under the lease of its owner.
    fn lease_jobs(
        &mut self,
        now: Now,
        request: &ClaimRequest,
        token: Token,
        ids: &[JobId],
    ) -> Timestamp {
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
        let until = self.attach_to_lease(now, request, token);
        if suspect.is_some()
            && let Some(lease) = self.leases.get_mut(&owner)
        {
            lease.suspect = suspect;
        }
        until
    }

    /// Adds a claim to the lease of its owner, which remembers the latest claim of a boot.
    fn attach_to_lease(&mut self, now: Now, request: &ClaimRequest, token: Token) -> Timestamp {
        let owner = request.claimer.owner(token);
        let lease = self.leases.entry(owner.clone()).or_insert_with(|| Lease {
            until: now.ms(),
            length: request.lease.get(),
            last: None,
            suspect: None,
        });
        if let Claimer::Worker { seq, .. } = &request.claimer {
            lease.last = Some((*seq, token));
        }
        self.extend(&owner, now, request.lease.get())
            .unwrap_or_default()
    }

    /// Extends a lease; never shortens it. A lease that is being reaped stays lost.
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
        self.mark_changed();
        Some(until)
    }

    pub(crate) fn accept(
        &mut self,
        now: Now,
        lease: &JobLease,
        length: std::time::Duration,
    ) -> LeaseStatus {
        let Some(owner) = self.owner_of(lease) else {
            return LeaseStatus::Lost;
        };
        if self.extend(&owner, now, length).is_none() {
            return LeaseStatus::Lost;
        }
        if let Some(entry) = self.jobs.get_mut(&lease.id) {
            entry.job.accepted_at.get_or_insert(now.ms());
        }
        LeaseStatus::Valid
    }

    fn owner_of(&self, lease: &JobLease) -> Option<Owner> {
        self.leased(&lease.id, lease.token)?;
        self.claims
            .get(&lease.token)
            .map(|claim| claim.owner.clone())
    }
}
