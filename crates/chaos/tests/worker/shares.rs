//! Equal workers get similar shares.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::effect_log::EffectKind;

use crate::fixture::Fixture;
use crate::rounds;
use crate::workers::{Spec, Workers};

const WORKERS: usize = 4;
const JOBS: usize = 1_000;
const TIME: Duration = Duration::from_millis(10);

/// Fair races required, out of at most `RACES`: other load on the machine disturbs some races, an
/// unfair worker would disturb nearly all.
const FAIR: usize = 2;
const RACES: usize = 7;

on_each_store!(four_equal_workers_get_similar_shares);

async fn four_equal_workers_get_similar_shares(fixture: Fixture) {
    for round in 0..rounds() {
        // Longer runs also test one job at a time, which takes four times as long.
        let concurrency = if round % 2 == 0 { 4 } else { 1 };
        let mut races: Vec<Vec<usize>> = Vec::new();
        while races.iter().filter(|shares| is_fair(shares)).count() < FAIR {
            let race = races.len();
            assert!(race < RACES, "most races were unfair: {races:?}");
            races.push(shares(&fixture, &format!("{round}-{race}-"), concurrency).await);
        }
    }
    fixture.assert_sound().await;
}

/// The shares differ by at most a factor of two: on a busy machine the scheduler itself is not fair.
fn is_fair(shares: &[usize]) -> bool {
    let (least, most) = (shares.iter().min(), shares.iter().max());
    shares.len() == WORKERS && *most.unwrap() <= least.unwrap() * 2
}

/// The number of jobs of each worker.
async fn shares(fixture: &Fixture, name: &str, concurrency: usize) -> Vec<usize> {
    let spec = Spec {
        concurrency,
        lease: Duration::from_secs(10),
        ..Spec::default()
    };
    let workers = Workers::start(fixture, spec, WORKERS).await;
    fixture.wait_until_registered(WORKERS).await;
    let began = Instant::now();
    fixture
        .enqueue_many(name, JOBS, Behaviour::Sleep(TIME))
        .await;

    fixture.wait_until_done(Duration::from_secs(120)).await;
    let took = began.elapsed();
    workers.terminate().await;

    let mut shares: BTreeMap<String, usize> = BTreeMap::new();
    for line in fixture.effects().read().unwrap() {
        if line.kind == EffectKind::End && line.id.as_str().starts_with(name) {
            *shares.entry(line.worker.clone()).or_default() += 1;
        }
    }
    let shares: Vec<usize> = shares.into_values().collect();
    println!("{JOBS} jobs of {TIME:?} in {took:?}, {concurrency} at a time each: {shares:?}");
    assert_eq!(shares.iter().sum::<usize>(), JOBS);
    shares
}
