//! How soon what a killed worker held was handed to another.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_chaos::event::Event;
use windlass_chaos::ledger::Ledger;
use windlass_chaos::witness::{Sight, Sighting};
use windlass_core::{Job, JobId, Token};

use crate::figures::Figures;

/// One holder of a job.
#[derive(Debug, Default, Clone)]
struct Holder {
    who: String,
    started_us: Option<u64>,
}

/// What the rescues of a run took.
pub(crate) struct Rescues {
    /// From each kill to the start, at somebody else, of the jobs that the killed worker ran.
    pub(crate) times: Figures,
    /// Jobs that somebody had who was killed before it could say so: when is not known.
    pub(crate) untold: usize,
}

pub(crate) fn of(
    ledger: &Ledger,
    seen: &[Sighting],
    killed: &BTreeMap<String, u64>,
    jobs: &BTreeMap<JobId, Job>,
) -> Rescues {
    let (mut times, mut untold) = (Vec::new(), 0);
    for (id, holders) in holders(ledger, seen) {
        // All but the last lost it to the end of their lease.
        if jobs[&id].expiries as usize > holders.len() - 1 {
            untold += 1;
            continue;
        }
        let pairs = holders.iter().zip(holders.iter().skip(1));
        for ((_, holder), (token, next)) in pairs {
            let (Some(killed_us), Some(_)) = (killed.get(&holder.who), holder.started_us) else {
                continue;
            };
            // One that was killed before its handler began had the job when its token was made.
            let resumed_us = next.started_us.unwrap_or(token.number);
            times.push(Duration::from_micros(resumed_us.saturating_sub(*killed_us)));
        }
    }
    let times = Figures::new(times);
    Rescues { times, untold }
}

/// Who held each job, in the order of the tokens.
fn holders(ledger: &Ledger, seen: &[Sighting]) -> BTreeMap<JobId, BTreeMap<Token, Holder>> {
    let mut jobs: BTreeMap<JobId, BTreeMap<Token, Holder>> = BTreeMap::new();
    for (life, event) in ledger.events() {
        if let Event::Claimed(hold) = event {
            let holders = jobs.entry(hold.id.clone()).or_default();
            let holder = holders.entry(hold.token).or_default();
            holder.who.clone_from(&life.name);
        }
    }
    for line in seen.iter().filter(|line| line.sight == Sight::Start) {
        let holders = jobs.entry(line.id.clone()).or_default();
        let holder = holders.entry(line.token).or_default();
        holder.who.clone_from(&line.who);
        holder.started_us = Some(line.at_us);
    }
    jobs
}
