//! Dumps a queue in the canonical form in which stores are compared.
//!
//! For tests and support: reads all keys with plain commands, one by one.

mod groups;
mod history;
mod remembered;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use bytes::Bytes;
use windlass_core::dump::{ClaimDump, Dump, LeaseDump, QueueDump};
use windlass_core::limits::CLAIM_TOMBSTONE;
use windlass_core::store::{ScheduleRecord, Stats, UniqueKey};
use windlass_core::time::Now;
use windlass_core::{
    Clock, Job, JobId, JobState, Priority, QueueName, Result, SystemClock, Timestamp, Token,
};

use crate::codec::claim::{OpenClaim, StoredClaim, StoredOwner, owner_of, read_left};
use crate::codec::end::EndRecord;
use crate::codec::entry::{Entry, StaleEntries};
use crate::codec::group::GroupNumbers;
use crate::codec::job::RawJob;
use crate::codec::lease::StoredLease;
use crate::codec::names::{GROUPS_FIELD, RATE_NEXT_FIELD, REST_FIELD, STATS_FIELD, SUSPECT_LANE};
use crate::codec::schedule::{read_definition, read_record};
use crate::codec::stats::{StateCounts, StatsRecord, whole_number};
use crate::codec::{damaged, job_id, rules, score, text};
use crate::keys::Keys;
use crate::open::RedisStore;
use crate::schedule::schedule_name;
pub(crate) use source::Ask;
use source::{Hash, Sorted, Source, number_in};

#[async_trait]
impl Dump for RedisStore {
    /// Dumps the first partition of a queue.
    async fn dump(&self, queue: &QueueName) -> Result<Option<QueueDump>> {
        let clock = self.inner.shared.clock.as_deref();
        let clock_us = clock.map_or_else(|| SystemClock.now_us(), Clock::now_us);
        let partition = self.queue(queue).first();
        read(self.link(), &partition.keys, queue, clock_us).await
    }
}

/// Dumps the queue with these keys; `None` if it does not exist.
pub(crate) async fn read<A: Ask>(
    ask: &A,
    keys: &Keys,
    queue: &QueueName,
    clock_us: u64,
) -> Result<Option<QueueDump>> {
    let source = Source { ask, keys };
    let state = source.hash("state").await?;
    let Some(stats) = state.get(STATS_FIELD.as_bytes()) else {
        return Ok(None);
    };
    let stats = StatsRecord::read(stats)?;
    let guarded = Now::guard(stats.mark_us(), clock_us);
    let now = guarded.ms();
    let stored = Stored::read(&source).await?;
    let jobs = stored.jobs(queue)?;
    let ready = stored.ready()?;
    let remembered = stored.tombstones(now)?;
    let settings = stored.settings()?;
    let rate = match settings.rate_limit() {
        Some(limit) => Some((limit, number_in(&state, RATE_NEXT_FIELD)?)),
        None => None,
    };
    let numbers = state.get(GROUPS_FIELD.as_bytes());
    let numbers = numbers
        .map(|numbers| GroupNumbers::read(numbers))
        .transpose()?;
    let numbers = numbers.unwrap_or_default();
    let resting_until = Timestamp::from_ms(number_in(&state, REST_FIELD)?);
    let stored_groups = stored.groups(&numbers, &settings)?;
    let by_rate = rate.map_or(0, |(limit, next_us)| limit.opens_at(next_us));
    let opens_us = by_rate.max(resting_until.as_ms() * 1000);
    let ready_total = stats.ready().iter().chain(&numbers.ready()).sum::<u64>();
    let opening = (ready_total > 0 && opens_us > guarded.us)
        .then(|| Timestamp::from_ms(opens_us.div_ceil(1000)));
    let group_opening = groups::next_opening(&stored_groups, &settings, guarded);
    let opening = opening.into_iter().chain(group_opening).min();
    let opening = opening.filter(|_| !stats.is_paused());
    let mut shown = stored.stats(&stats, now, &jobs, &ready, (opening, resting_until))?;
    groups::add_ready(&mut shown, &numbers);
    let history = history::read(&source, &state, &shown, now).await?;
    Ok(Some(QueueDump {
        stats: shown,
        history,
        ready,
        turns: groups::turns(&stored_groups, &numbers),
        groups: stored.group_dumps(&stored_groups, &settings, guarded)?,
        jobs,
        unique_keys: stored.unique_keys()?,
        tombstones: remembered.ids,
        held_keys: remembered.keys,
        amendments: remembered.amendments,
        schedules: stored.schedules()?,
        error_groups: stored.error_groups(now)?,
        leases: stored.leases()?,
        claims: stored.claims(now)?,
        settings,
        rate_next_us: rate.map(|(_, next_us)| next_us),
    }))
}

/// All values of a queue, undecoded.
struct Stored {
    settings: Hash,
    jobs: Hash,
    opts: Hash,
    errors: Hash,
    results: Hash,
    ready: Vec<Vec<Bytes>>,
    suspects: Sorted,
    ghosts: Hash,
    scheduled: Sorted,
    unique: Hash,
    running: Hash,
    open: Hash,
    claims: Hash,
    left: Hash,
    tokens: BTreeMap<Bytes, f64>,
    leases: Sorted,
    owners: Hash,
    stopping: BTreeSet<Bytes>,
    progress: Hash,
    ends: Hash,
    succeeded: Sorted,
    dead: Sorted,
    cancelled: Sorted,
    tombstones: Hash,
    schedules: Hash,
    plans: Hash,
    firing: Sorted,
    lined: Sorted,
    working: Sorted,
    groups: Hash,
    error_groups: Hash,
}

impl Stored {
    async fn read<A: Ask>(source: &Source<'_, A>) -> Result<Self> {
        let stopping = source.sorted("stopping").await?;
        Ok(Self {
            settings: source.hash("settings").await?,
            jobs: source.payloads().await?,
            opts: source.hash("opts").await?,
            errors: source.hash("errors").await?,
            results: source.hash("results").await?,
            ready: source.lists().await?,
            suspects: source.sorted("suspects").await?,
            ghosts: source.hash("ghosts").await?,
            scheduled: source.sorted("scheduled").await?,
            unique: source.hash("unique").await?,
            running: source.hash("running").await?,
            open: source.hash("open").await?,
            claims: source.hash("claims").await?,
            left: source.hash("left").await?,
            tokens: source.sorted("tokens").await?.into_iter().collect(),
            leases: source.sorted("leases").await?,
            owners: source.hash("owners").await?,
            stopping: stopping.into_iter().map(|(member, _)| member).collect(),
            progress: source.hash("progress").await?,
            ends: source.hash("final").await?,
            succeeded: source.sorted("succeeded").await?,
            dead: source.sorted("dead").await?,
            cancelled: source.sorted("cancelled").await?,
            tombstones: source.hash("tombstones").await?,
            schedules: source.hash("schedules").await?,
            plans: source.hash("plans").await?,
            firing: source.sorted("firing").await?,
            lined: source.sorted("lined").await?,
            working: source.sorted("working").await?,
            groups: source.hash("groups").await?,
            error_groups: source.hash("error_groups").await?,
        })
    }

    fn jobs(&self, queue: &QueueName) -> Result<Vec<Job>> {
        let due: BTreeMap<&Bytes, f64> = self.scheduled.iter().map(|(id, at)| (id, *at)).collect();
        let job = |(id, value): (&Bytes, &Bytes)| {
            let lease = self.running.get(id);
            let owner = lease
                .map(|lease| self.owner_of(lease))
                .transpose()?
                .flatten();
            let raw = RawJob {
                id: job_id("job", id)?,
                state: self.state_of(id, due.get(id))?,
                value: Some(value.clone()),
                opts: self.opts.get(id).cloned(),
                lease: lease.cloned(),
                is_stopping: owner.as_ref().is_some_and(|owner| {
                    let member = [&owner[..], b"\t", id].concat();
                    self.stopping.contains(&member[..])
                }),
                owner,
                end: self.ends.get(id).cloned(),
                due: due.get(id).copied(),
                error: self.errors.get(id).cloned(),
                result: self.results.get(id).cloned(),
                progress: self.progress.get(id).cloned(),
            };
            raw.read(queue)
        };
        self.jobs.iter().map(job).collect()
    }

    /// A job without another state is ready.
    fn state_of(&self, id: &Bytes, due: Option<&f64>) -> Result<JobState> {
        if self.running.contains_key(id) {
            Ok(JobState::Running)
        } else if let Some(end) = self.ends.get(id) {
            EndRecord::read(end).map(|end| end.state)
        } else {
            Ok(match due {
                Some(due) if due.is_infinite() => JobState::Pending,
                Some(_) => JobState::Scheduled,
                None => JobState::Ready,
            })
        }
    }

    /// The owner of the claim of a lease, if that is open.
    fn owner_of(&self, lease: &[u8]) -> Result<Option<Bytes>> {
        let token = StoredLease::read(lease)?.token.to_string();
        let open = self.open.get(token.as_bytes());
        let open = open.map(|open| OpenClaim::read(open)).transpose()?;
        Ok(open.map(|open| Bytes::from(open.owner.as_str().to_owned())))
    }

    /// Ready jobs by priority: suspects, then those in lists, without stale entries.
    fn ready(&self) -> Result<Vec<(Vec<JobId>, Vec<JobId>)>> {
        let mut lanes = vec![(Vec::new(), Vec::new()); Priority::COUNT];
        for (id, position) in &self.suspects {
            let priority = whole_number((position / SUSPECT_LANE).floor())
                .and_then(|priority| usize::try_from(priority).ok())
                .filter(|priority| *priority < Priority::COUNT)
                .ok_or_else(|| damaged("position of a suspect", "not in a priority"))?;
            lanes[priority].0.push(job_id("suspect", id)?);
        }
        for (lane, list) in lanes.iter_mut().zip(&self.ready) {
            for entry in list {
                let entry = Entry::read(entry)?;
                let stale = self.ghosts.get(entry.id.as_str().as_bytes());
                let stale = stale.map(|stale| StaleEntries::read(stale)).transpose()?;
                if !entry.is_stale(stale.as_ref()) {
                    lane.1.push(entry.id);
                }
            }
        }
        Ok(lanes)
    }

    fn unique_keys(&self) -> Result<Vec<(UniqueKey, JobId)>> {
        const KIND: &str = "unique key";
        let read = |(key, id): (&Bytes, &Bytes)| {
            let key = UniqueKey::new(text(KIND, key)?);
            let key = key.map_err(|_| damaged(KIND, "invalid"))?;
            Ok((key, job_id(KIND, id)?))
        };
        self.unique.iter().map(read).collect()
    }

    fn schedules(&self) -> Result<Vec<ScheduleRecord>> {
        let read = |(name, definition): (&Bytes, &Bytes)| {
            let plan = self.plans.get(name);
            let plan = plan.ok_or_else(|| damaged("schedule", "missing plan"))?;
            read_record(read_definition(&schedule_name(name)?, definition)?, plan)
        };
        self.schedules.iter().map(read).collect()
    }

    fn leases(&self) -> Result<Vec<LeaseDump>> {
        const KIND: &str = "lease";
        let read = |(owner, until): &(Bytes, f64)| {
            let stored = self.owners.get(owner);
            let stored = stored.ok_or_else(|| damaged(KIND, "missing owner record"))?;
            let stored = StoredOwner::read(stored)?;
            Ok(LeaseDump {
                owner: owner_of(KIND, text(KIND, owner)?)?,
                until: score(KIND, *until)?,
                length: stored.length,
                last: stored.last,
            })
        };
        let mut leases = self.leases.iter().map(read).collect::<Result<Vec<_>>>()?;
        leases.sort_by(|one, other| one.owner.cmp(&other.owner));
        Ok(leases)
    }

    fn claims(&self, now: Timestamp) -> Result<Vec<ClaimDump>> {
        let mut claims = Vec::new();
        for (token, claim) in &self.claims {
            let claim = self.claim(token, claim)?;
            let is_forgotten = |at: Timestamp| at.plus(CLAIM_TOMBSTONE) <= now;
            if !claim.finished_at.is_some_and(is_forgotten) {
                claims.push(claim);
            }
        }
        claims.sort_by_key(|claim| claim.token);
        Ok(claims)
    }

    fn claim(&self, token: &Bytes, claim: &[u8]) -> Result<ClaimDump> {
        const KIND: &str = "claim";
        let claim = StoredClaim::read(claim)?;
        let open = self.open.get(token);
        let open = open.map(|open| OpenClaim::read(open)).transpose()?;
        let remaining = open.map_or(0, |open| open.remaining);
        let left = self.left.get(token).map_or(&b""[..], |left| &left[..]);
        let mut left = read_left(left)?;
        left.sort();
        let finished_at = match self.tokens.get(token) {
            None => return Err(damaged(KIND, "missing token record")),
            Some(at) if at.is_infinite() => None,
            Some(at) => Some(score(KIND, *at)?),
        };
        Ok(ClaimDump {
            token: text(KIND, token)?.parse::<Token>()?,
            owner: claim.owner,
            seq: claim.seq,
            size: claim.ids.len(),
            remaining: usize::try_from(remaining).unwrap_or(usize::MAX),
            left,
            finished_at,
        })
    }

    fn stats(
        &self,
        record: &StatsRecord,
        now: Timestamp,
        jobs: &[Job],
        ready: &[(Vec<JobId>, Vec<JobId>)],
        (opening, resting_until): (Option<Timestamp>, Timestamp),
    ) -> Result<Stats> {
        let heads = ready
            .iter()
            .flat_map(|(suspects, others)| suspects.first().into_iter().chain(others.first()));
        let due = |id: &JobId| jobs.iter().find(|job| job.id == *id).map(|job| job.due_at);
        let mut next: Vec<f64> = self.scheduled.iter().map(|(_, at)| *at).collect();
        next.retain(|at| at.is_finite());
        let scheduled = next.len() as u64;
        next.extend(self.firing.first().map(|(_, at)| *at));
        let next_due = next
            .into_iter()
            .min_by(f64::total_cmp)
            .map(|at| score("due time", at))
            .transpose()?;
        let counts = StateCounts {
            pending: self.scheduled.len() as u64 - scheduled,
            scheduled,
            schedules: self.schedules.len() as u64,
            running: self.running.len() as u64,
            succeeded: self.succeeded.len() as u64,
            dead: self.dead.len() as u64,
            cancelled: self.cancelled.len() as u64,
            oldest_due: heads.filter_map(due).min(),
            next_due: next_due.into_iter().chain(opening).min(),
            resting_until,
        };
        // A dump has no stale entries: they are not part of the queue's state.
        Ok(Stats {
            stale_entries: 0,
            ..record.stats(now, &counts)
        })
    }

    fn settings(&self) -> Result<windlass_core::store::Settings> {
        let texts: Vec<_> = self.settings.clone().into_iter().collect();
        rules::settings(&texts)
    }
}

#[cfg(test)]
mod tests;
