//! Equal workers get equal shares.

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

/// An odd number, judged by the one in the middle: a burst of other work on the machine spoils one
/// race, what the worker does unfairly shows in most.
const RACES: usize = 3;

on_each_store!(four_equal_workers_get_equal_shares);

async fn four_equal_workers_get_equal_shares(ground: Ground) {
    for round in 0..rounds() {
        // At length also one job at a time, which takes four times as long.
        let concurrency = if round % 2 == 0 { 4 } else { 1 };
        let mut races = Vec::new();
        for race in 0..RACES {
            races.push(shares(&ground, &format!("{round}-{race}-"), concurrency).await);
        }
        let fair = races.iter().filter(|shares| is_fair(shares)).count();
        assert!(fair > RACES / 2, "most races were unfair: {races:?}");
    }
    ground.assert_sound().await;
}

/// Within 25 % of each other.
fn is_fair(shares: &[usize]) -> bool {
    let (least, most) = (shares.iter().min(), shares.iter().max());
    shares.len() == WORKERS && most.unwrap() * 4 <= least.unwrap() * 5
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

    ground.until_done(Duration::from_secs(60)).await;
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
