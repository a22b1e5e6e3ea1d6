//! explain: reads what keeps a job from starting. The rules are in the core crate.

use windlass_core::explain::{GroupFacts, JobsAhead, SlotHolder, WaitFacts};
use windlass_core::store::{GroupLimits, GroupName, Settings};
use windlass_core::time::Now;
use windlass_core::{Job, JobId, JobState, Priority, Result, Timestamp};
use windlass_redis_link::reply::Reply;

use crate::codec::claim::{boot_of, owner_of};
use crate::codec::group::{GroupNumbers, StoredGroup};
use crate::codec::lease::StoredLease;
use crate::codec::rules;
use crate::codec::stats::{StateCounts, StatsRecord};
use crate::codec::{job_id, text};
use crate::partition::{Partition, text_arg};
use crate::queue::Queue;
use crate::read::{job_state, job_with_lease};

impl Queue {
    /// What decides when a job starts in its partition, except the workers.
    pub(crate) async fn wait_facts(&self, id: &JobId) -> Result<Option<WaitFacts>> {
        self.refresh().await?;
        for partition in self.partitions().iter() {
            if let Some(facts) = partition.wait_facts(id).await? {
                return Ok(Some(facts));
            }
        }
        Ok(None)
    }
}

impl Partition {
    async fn wait_facts(&self, id: &JobId) -> Result<Option<WaitFacts>> {
        let args = vec![text_arg(id.as_str())];
        let mut reply = self.run_list(&self.scripts().explain, args).await?;
        if reply.is_empty() {
            return Ok(None);
        }
        let job = job_with_lease(&mut reply, &self.queue)?;
        read_facts(job, &mut reply).map(Some)
    }
}

/// The values after those of the job, in the order of `lua/explain.lua`.
fn read_facts(job: Job, reply: &mut Reply) -> Result<WaitFacts> {
    let stats = StatsRecord::read(&reply.bytes()?)?;
    let numbers = reply.bytes()?;
    let numbers = if numbers.is_empty() {
        GroupNumbers::default()
    } else {
        GroupNumbers::read(&numbers)?
    };
    let now = Now {
        us: reply.count()?,
        stepped_back: reply.count()? == 1,
    };
    let resting_until = Timestamp::from_ms(reply.count()?);
    let (rate_next_us, running) = (reply.count()?, reply.count()?);
    let waits_for = (reply.bytes()?, reply.text()?);
    let is_known = !waits_for.0.is_empty() && !waits_for.1.is_empty();
    let waits_for = is_known.then(|| {
        let id = job_id("plan", &waits_for.0)?;
        Ok((id, job_state(&waits_for.1)?))
    });
    let ahead = JobsAhead {
        more_urgent: more_urgent(job.priority, &stats, &numbers),
        in_line: reply.count()?,
        in_group: reply.count()?,
        is_estimate: reply.count()? == 1,
    };
    let record = reply.bytes()?;
    let holds_slot = reply.count()? == 1;
    let first = reply.bytes()?;
    let holders = (0..reply.count()?).map(|_| read_holder(reply));
    let holders = holders.collect::<Result<Vec<_>>>()?;
    let mut texts = Vec::new();
    while !reply.is_empty() {
        texts.push((reply.bytes()?, reply.bytes()?));
    }
    let settings = rules::settings(&texts)?;
    let group = job.group.as_ref().filter(|_| job.state.is_waiting());
    let group = group.map(|name| {
        let mut facts = group_facts(name, &record, &numbers, &settings)?;
        facts.holds_slot = holds_slot;
        facts.holders = holders;
        let is_known = !first.is_empty();
        facts.first = is_known.then(|| job_id("line", &first)).transpose()?;
        Ok::<_, windlass_core::Error>(facts)
    });
    let finished = stats.stats(now.ms(), &StateCounts::default());
    Ok(WaitFacts {
        now,
        is_paused: stats.is_paused(),
        resting_until,
        rate_next_us,
        running,
        finished: finished.last_minute.finished,
        waits_for: waits_for.transpose()?,
        ahead: if job.state == JobState::Ready {
            ahead
        } else {
            JobsAhead::default()
        },
        group: group.transpose()?,
        last_worker: None,
        settings,
        job,
    })
}

/// Ready jobs with a more urgent priority, with and without a group.
fn more_urgent(priority: Priority, stats: &StatsRecord, numbers: &GroupNumbers) -> u64 {
    let before = priority.index();
    let ungrouped: u64 = stats.ready()[..before].iter().sum();
    let grouped: u64 = numbers.ready()[..before].iter().sum();
    ungrouped + grouped
}

/// A group by its record; one without a record has nothing that keeps its jobs back.
fn group_facts(
    name: &GroupName,
    record: &[u8],
    numbers: &GroupNumbers,
    settings: &Settings,
) -> Result<GroupFacts> {
    if !record.is_empty() {
        let group = StoredGroup::read(name.as_str().as_bytes(), record, numbers, settings)?;
        return Ok(group.facts());
    }
    Ok(GroupFacts {
        name: name.clone(),
        limits: GroupLimits::default(),
        is_paused: false,
        resting_until: Timestamp::default(),
        rate_next_us: 0,
        slots: 0,
        holds_slot: false,
        holders: Vec::new(),
        first: None,
    })
}

fn read_holder(reply: &mut Reply) -> Result<SlotHolder> {
    let (id, state) = (job_id("slot", &reply.bytes()?)?, reply.text()?);
    let (lease, owner) = (reply.bytes()?, reply.bytes()?);
    let lease = (!lease.is_empty()).then(|| StoredLease::read(&lease));
    let lease = lease.transpose()?;
    let owner = (!owner.is_empty()).then(|| owner_of("claim", text("claim", &owner)?));
    let boot = owner.transpose()?.as_ref().and_then(boot_of);
    Ok(SlotHolder {
        id,
        state: job_state(&state)?,
        since: lease.as_ref().map(|lease| lease.token.issued_at()),
        worker: boot.or_else(|| lease.and_then(|lease| lease.worker)),
    })
}
