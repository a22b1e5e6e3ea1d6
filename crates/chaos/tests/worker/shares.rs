//! Equal workers get like shares.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::witness::Sight;

use crate::ground::Ground;
use crate::hands::{Crew, Spec};
use crate::rounds;

const WORKERS: usize = 4;
const JOBS: usize = 1_000;
const TIME: Duration = Duration::from_millis(10);

/// So many fair ones are wanted of so many races: other work on the machine spoils some, what the
/// worker does unfairly shows in nearly all.
const FAIR: usize = 2;
const RACES: usize = 7;

on_each_store!(four_equal_workers_get_like_shares);

async fn four_equal_workers_get_like_shares(ground: Ground) {
    for round in 0..rounds() {
        // At length also one job at a time, which takes four times as long.
        let concurrency = if round % 2 == 0 { 4 } else { 1 };
        let mut races: Vec<Vec<usize>> = Vec::new();
        while races.iter().filter(|shares| is_fair(shares)).count() < FAIR {
            let race = races.len();
            assert!(race < RACES, "most races were unfair: {races:?}");
            races.push(shares(&ground, &format!("{round}-{race}-"), concurrency).await);
        }
    }
    ground.assert_sound().await;
}

/// Nobody has twice as much as another: on a busy machine the system itself does not give them the
/// same share of the processor.
fn is_fair(shares: &[usize]) -> bool {
    let (least, most) = (shares.iter().min(), shares.iter().max());
    shares.len() == WORKERS && *most.unwrap() <= least.unwrap() * 2
}

/// How many jobs each of the workers did.
async fn shares(ground: &Ground, name: &str, concurrency: usize) -> Vec<usize> {
    let spec = Spec {
        concurrency,
        lease: Duration::from_secs(10),
        ..Spec::default()
    };
    let crew = Crew::start(ground, spec, WORKERS).await;
    ground.until_known(WORKERS).await;
    let began = Instant::now();
    ground
        .enqueue_alike(name, JOBS, Behaviour::Sleep(TIME))
        .await;

    ground.until_done(Duration::from_secs(120)).await;
    let took = began.elapsed();
    crew.leave().await;

    let mut shares: BTreeMap<String, usize> = BTreeMap::new();
    for line in ground.witness().look().unwrap() {
        if line.sight == Sight::End && line.id.as_str().starts_with(name) {
            *shares.entry(line.who.clone()).or_default() += 1;
        }
    }
    let shares: Vec<usize> = shares.into_values().collect();
    println!("{JOBS} jobs of {TIME:?} in {took:?}, {concurrency} at a time each: {shares:?}");
    assert_eq!(shares.iter().sum::<usize>(), JOBS);
    shares
}
