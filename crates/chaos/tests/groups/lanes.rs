//! The jobs of a lane run in order, in each mode of its slot.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Instant;

use windlass_chaos::actor::Launcher;
use windlass_chaos::event::Event;
use windlass_core::{Change, Filter, JobLease, JobState, RetryPolicy, Store, Target};

use crate::{PROGRAM, enqueue, job, kill_until, queue, set};

/// Lanes, and jobs in each.
const LANES: &str = "20x12";

pub(crate) async fn run_in_order(store: Arc<dyn Store>, address: OsString, slot: &str) {
    let store = store.as_ref();
    let settings = [
        "group_max_running=1".to_owned(),
        format!("group_slot={slot}"),
    ];
    set(store, &settings).await;
    set(store, &["poison_after=1000".to_owned()]).await;
    let size = std::env::var("WINDLASS_LANES").unwrap_or_else(|_| LANES.to_owned());
    let (lanes, jobs) = size.split_once('x').unwrap();
    let (lanes, jobs): (usize, usize) = (lanes.parse().unwrap(), jobs.parse().unwrap());
    // A lane that stops at a failure goes on when an operator retries the dead job.
    let attempts = if slot == "success" { 2 } else { 1000 };
    let policy = RetryPolicy::default().max_attempts(attempts);
    let job = |n| job(n % lanes, n / lanes).retry(policy);
    enqueue(store, (0..lanes * jobs).map(job).collect()).await;
    let launcher = Launcher::new(PROGRAM, address);
    let begin = Instant::now();
    // A job that fails lets others pass unless it keeps its slot; a released one returns to the front.
    let mut arguments = vec!["--work-ms", "2"];
    if slot == "run" {
        arguments.push("--release");
    }

    let is_over = async |_| {
        let dead = Target::Filter(Filter {
            state: Some(JobState::Dead),
            ..Filter::default()
        });
        store
            .change(&queue(), Change::Retry, &dead, None)
            .await
            .unwrap();
        let stats = store.stats(&queue()).await.unwrap().unwrap();
        stats.ready + stats.running + stats.scheduled + stats.dead == 0
    };
    kill_until(&launcher, &arguments, is_over).await;
    let took = begin.elapsed();

    let effects = effects_by_lane(&launcher);
    assert_eq!(effects.len(), lanes);
    let mut repeated = 0;
    for (lane, mut numbers) in effects {
        let count = numbers.len();
        // A job whose process was killed after its effect has it again.
        numbers.dedup();
        repeated += count - numbers.len();
        let expected: Vec<_> = (0..jobs).collect();
        assert_eq!(numbers, expected, "lane {lane}");
    }
    println!(
        "{lanes} lanes of {jobs} jobs in order with slot={slot}, {repeated} effects repeated, {took:.1?}"
    );
}

/// The numbers of the jobs of each lane, in the order of their effects.
fn effects_by_lane(launcher: &Launcher) -> BTreeMap<String, Vec<usize>> {
    let mut effects: BTreeMap<String, Vec<(u64, usize)>> = BTreeMap::new();
    let ledger = launcher.ledger.lock().clone();
    for (process, event) in ledger.events() {
        match event {
            Event::Effect(JobLease { id, .. }, at_us) => {
                let (lane, number) = id.as_str().split_once('-').unwrap();
                let number = number.parse().unwrap();
                effects
                    .entry(lane.to_owned())
                    .or_default()
                    .push((*at_us, number));
            }
            Event::Violation(what) => panic!("{}: {what}", process.name),
            _ => {}
        }
    }
    let sorted = effects.into_iter().map(|(lane, mut effects)| {
        effects.sort_unstable();
        (
            lane,
            effects.into_iter().map(|(_, number)| number).collect(),
        )
    });
    sorted.collect()
}
