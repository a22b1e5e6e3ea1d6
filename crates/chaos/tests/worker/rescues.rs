//! How soon jobs of a killed worker were restarted by another.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_chaos::effect_log::{EffectKind, EffectRecord};
use windlass_chaos::event::Event;
use windlass_chaos::ledger::Ledger;
use windlass_core::{Job, JobId, Token};

use crate::durations::Durations;

/// One holder of a job.
#[derive(Debug, Default, Clone)]
struct Holder {
    worker: String,
    started_us: Option<u64>,
}

/// The rescues of a run.
pub(crate) struct Rescues {
    /// From each kill to the restart, by another worker, of the jobs that were running.
    pub(crate) times: Durations,
    /// Jobs with a worker that was killed before it logged the claim: the time is unknown.
    pub(crate) unlogged: usize,
}

pub(crate) fn of(
    ledger: &Ledger,
    seen: &[EffectRecord],
    killed: &BTreeMap<String, u64>,
    jobs: &BTreeMap<JobId, Job>,
) -> Rescues {
    let (mut times, mut unlogged) = (Vec::new(), 0);
    for (id, holders) in holders(ledger, seen) {
        // All but the last lost their lease.
        if jobs[&id].expiries as usize > holders.len() - 1 {
            unlogged += 1;
            continue;
        }
        let pairs = holders.iter().zip(holders.iter().skip(1));
        for ((_, holder), (token, next)) in pairs {
            let (Some(killed_us), Some(_)) = (killed.get(&holder.worker), holder.started_us) else {
                continue;
            };
            // A worker killed before its handler started got the job when its token was issued.
            let resumed_us = next.started_us.unwrap_or(token.number);
            times.push(Duration::from_micros(resumed_us.saturating_sub(*killed_us)));
        }
    }
    let times = Durations::new(times);
    Rescues { times, unlogged }
}

/// The workers that held each job, in token order.
fn holders(ledger: &Ledger, seen: &[EffectRecord]) -> BTreeMap<JobId, BTreeMap<Token, Holder>> {
    let mut jobs: BTreeMap<JobId, BTreeMap<Token, Holder>> = BTreeMap::new();
    for (process, event) in ledger.events() {
        if let Event::Claimed(lease) = event {
            let holders = jobs.entry(lease.id.clone()).or_default();
            let holder = holders.entry(lease.token).or_default();
            holder.worker.clone_from(&process.name);
        }
    }
    for line in seen.iter().filter(|line| line.kind == EffectKind::Start) {
        let holders = jobs.entry(line.id.clone()).or_default();
        let holder = holders.entry(line.token).or_default();
        holder.worker.clone_from(&line.worker);
        holder.started_us = Some(line.at_us);
    }
    jobs
}
