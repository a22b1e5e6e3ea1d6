//! Limits of groups and the order of lanes hold while processes are killed, judged from outside by what they logged.
//!
//! `WINDLASS_ROUNDS` multiplies the length of a run, `WINDLASS_LANES` the number of lanes and of jobs in each.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot continue fails on the spot, and prints a summary"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_chaos::QUEUE;
use windlass_chaos::actor::{Actor, Launcher};
use windlass_chaos::event::Event;
use windlass_core::store::GroupName;
use windlass_core::{
    Change, ClaimRequest, Filter, JobId, JobLease, JobState, NewJob, QueueName, RetryPolicy, Store,
    Target,
};
use windlass_store_redis::RedisStore;
use windlass_store_sqlite::SqliteStore;
use windlass_testkit::redis::Server;

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const PROCESSES: usize = 8;
const LEASE: Duration = Duration::from_millis(1500);

/// The limits of a run, and its groups.
const GROUPS: usize = 6;
const GROUP_MAX_RUNNING: usize = 2;
const MAX_RUNNING: usize = 10;
const RATE: usize = 30;
const BURST: usize = 5;

/// Kills in a run, one every half second.
const KILLS: usize = 12;

/// Lanes, and jobs in each.
const LANES: usize = 20;
const LANE_JOBS: usize = 12;

macro_rules! on_each_store {
    ($($case:ident($argument:expr) as $name:ident;)+) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("jobs.db");
                let options = windlass_store_sqlite::Options::default();
                let store = super::SqliteStore::open(&path, options).unwrap();
                super::$case(std::sync::Arc::new(store), path.into(), $argument).await;
            })+
        }
        mod redis {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let server = super::Server::start();
                let options = windlass_store_redis::Options::default();
                let store = super::RedisStore::open(&server.url(), options).await.unwrap();
                super::$case(std::sync::Arc::new(store), server.url().into(), $argument).await;
            })+
        }
    };
}

on_each_store! {
    limits_hold(()) as no_limit_is_exceeded_and_no_slot_is_lost;
    lanes_run_in_order("run") as lanes_that_hold_a_slot_while_a_job_runs_run_in_order;
    lanes_run_in_order("job") as lanes_that_wait_for_a_failing_head_run_in_order;
    lanes_run_in_order("success") as lanes_that_stop_at_a_failure_run_in_order;
}

fn from_env(name: &str) -> usize {
    std::env::var(name).map_or(1, |text| text.parse().unwrap())
}

fn queue() -> QueueName {
    QueueName::new(QUEUE).unwrap()
}

fn group(number: usize) -> GroupName {
    GroupName::new(format!("g{number:04}")).unwrap()
}

/// A job whose id is its group and its number in it.
fn job(group_number: usize, number: usize) -> NewJob {
    let group = group(group_number);
    let id = JobId::new(format!("{group}-{number:05}")).unwrap();
    NewJob::new("work").id(id).group(group)
}

async fn set(store: &dyn Store, settings: &[String]) {
    let settings = settings.iter().map(|text| text.parse().unwrap()).collect();
    store.set(&queue(), settings).await.unwrap();
}

async fn enqueue(store: &dyn Store, jobs: Vec<NewJob>) {
    for page in jobs.chunks(500) {
        store.enqueue(&queue(), page.to_vec()).await.unwrap();
    }
}

/// Starts the processes, and kills one every half second with -9 until `is_over`.
async fn kill_until(launcher: &Launcher, arguments: &[&str], is_over: impl AsyncFn(usize) -> bool) {
    let start = |number: usize| {
        let lease = LEASE.as_millis().to_string();
        let all = ["grouped", "--lease-ms", &lease].into_iter();
        let all: Vec<_> = all.chain(arguments.iter().copied()).collect();
        let all: Vec<_> = all.into_iter().map(str::to_owned).collect();
        launcher.start(&format!("worker-{number}"), &all).unwrap()
    };
    let mut actors: Vec<Actor> = (0..PROCESSES).map(start).collect();
    let mut kills = 0;
    while !is_over(kills).await {
        sleep(Duration::from_millis(500)).await;
        let index = fastrand::usize(..PROCESSES);
        let mut killed = std::mem::replace(&mut actors[index], start(PROCESSES + kills));
        killed.start_kill().unwrap();
        killed.wait_killed().await.unwrap();
        kills += 1;
    }
    for actor in actors {
        assert!(actor.stop().await.unwrap().success());
    }
    println!("{kills} processes were killed");
}

async fn unfinished(store: &dyn Store) -> u64 {
    let stats = store.stats(&queue()).await.unwrap().unwrap();
    stats.ready + stats.running + stats.scheduled
}

async fn limits_hold(store: Arc<dyn Store>, address: OsString, (): ()) {
    let store = store.as_ref();
    let settings = [
        format!("max_running={MAX_RUNNING}"),
        format!("group_max_running={GROUP_MAX_RUNNING}"),
        format!("group_rate={RATE}/1s"),
        format!("group_burst={BURST}"),
        "poison_after=1000".to_owned(),
    ];
    set(store, &settings).await;
    let kills = KILLS * from_env("WINDLASS_ROUNDS");
    // More than can run in the time: every group always has ready jobs.
    let per_group = RATE * (kills / 2 + 5);
    let number = |n| job(n % GROUPS, n / GROUPS);
    enqueue(store, (0..per_group * GROUPS).map(number).collect()).await;
    let launcher = Launcher::new(PROGRAM, address);

    kill_until(&launcher, &["--work-ms", "40"], async |done| done == kills).await;

    let runs = runs(&launcher);
    let most = most_at_once(&runs, |_| true);
    assert!(most <= MAX_RUNNING, "{most} jobs of the queue ran at once");
    let mut fullest = 0;
    for number in 0..GROUPS {
        let of_group: Vec<_> = runs
            .iter()
            .filter(|run| run.group == group(number))
            .collect();
        let most = most_at_once(&runs, |run| run.group == group(number));
        assert!(
            most <= GROUP_MAX_RUNNING,
            "{most} jobs of group {number} ran at once"
        );
        fullest = fullest.max(most);
        let mut starts: Vec<_> = of_group.iter().map(|run| run.start_us).collect();
        starts.sort_unstable();
        for window in starts.windows(RATE + 1) {
            assert!(
                window[RATE] - window[0] >= 1_000_000,
                "group {number}: {window:?}"
            );
        }
    }
    println!(
        "{} runs, at most {most} at once, {fullest} of a group",
        runs.len()
    );
    assert_eq!(fullest, GROUP_MAX_RUNNING, "no group was ever full");
    assert_no_slot_is_lost(store).await;
}

/// After all leases have expired, every group can use all its slots.
async fn assert_no_slot_is_lost(store: &dyn Store) {
    sleep(LEASE).await;
    set(
        store,
        &[
            "group_rate=none".to_owned(),
            format!("max_running={}", GROUPS * 10),
        ],
    )
    .await;
    let mut claimed: BTreeMap<GroupName, usize> = BTreeMap::new();
    while let Some(claim) = store
        .claim(&queue(), ClaimRequest::single(100))
        .await
        .unwrap()
    {
        for job in claim.jobs {
            *claimed.entry(job.group.unwrap()).or_default() += 1;
        }
    }
    assert_eq!(claimed.len(), GROUPS);
    assert!(
        claimed.values().all(|slots| *slots == GROUP_MAX_RUNNING),
        "{claimed:?}"
    );
}

/// From a claim to the effect, or to the last moment at which the job surely held its slot.
struct Run {
    group: GroupName,
    start_us: u64,
    end_us: u64,
}

fn runs(launcher: &Launcher) -> Vec<Run> {
    let mut runs: BTreeMap<(JobId, u64), Run> = BTreeMap::new();
    let ledger = launcher.ledger.lock().clone();
    for (process, event) in ledger.events() {
        match event {
            Event::Claimed(JobLease { id, token }) => {
                let group = GroupName::new(id.as_str().split_once('-').unwrap().0).unwrap();
                let (start_us, end_us) = (token.number, token.number);
                let run = Run {
                    group,
                    start_us,
                    end_us,
                };
                runs.insert((id.clone(), start_us), run);
            }
            Event::Effect(JobLease { id, token }, at_us) => {
                let run = runs.get_mut(&(id.clone(), token.number)).unwrap();
                // A process that was not scheduled for so long has lost its lease.
                let lease = u64::try_from(LEASE.as_micros()).unwrap();
                run.end_us = (*at_us).min(run.start_us + lease);
            }
            Event::Violation(what) => panic!("{}: {what}", process.name),
            _ => {}
        }
    }
    runs.into_values().collect()
}

/// The highest number of runs at the same time.
fn most_at_once(runs: &[Run], is_counted: impl Fn(&Run) -> bool) -> usize {
    let counted = runs
        .iter()
        .filter(|run| is_counted(run) && run.end_us > run.start_us);
    let mut changes: Vec<_> = counted
        .flat_map(|run| [(run.start_us, 1), (run.end_us, -1)])
        .collect();
    // An end comes before a start at the same time.
    changes.sort_unstable();
    let (mut now, mut most) = (0_i64, 0);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    usize::try_from(most).unwrap()
}

async fn lanes_run_in_order(store: Arc<dyn Store>, address: OsString, slot: &str) {
    let store = store.as_ref();
    let settings = [
        "group_max_running=1".to_owned(),
        format!("group_slot={slot}"),
    ];
    set(store, &settings).await;
    set(store, &["poison_after=1000".to_owned()]).await;
    let factor = from_env("WINDLASS_LANES");
    let (lanes, jobs) = (LANES * factor, LANE_JOBS * factor);
    // A lane that stops at a failure goes on when an operator retries the dead job.
    let attempts = if slot == "success" { 2 } else { 1000 };
    let policy = RetryPolicy::default().max_attempts(attempts);
    let job = |n| job(n % lanes, n / lanes).retry(policy);
    enqueue(store, (0..lanes * jobs).map(job).collect()).await;
    let launcher = Launcher::new(PROGRAM, address);
    // A job that fails lets others pass unless it keeps its slot; a released one returns to the front.
    let mut arguments = vec!["--work-ms", "2"];
    if slot == "run" {
        arguments.push("--release");
    }

    let is_over = async |_| {
        let dead = Target::Filter(Filter {
            state: Some(JobState::Dead),
            kind: None,
        });
        store
            .change(&queue(), Change::Retry, &dead, None)
            .await
            .unwrap();
        unfinished(store).await == 0
    };
    kill_until(&launcher, &arguments, is_over).await;

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
    println!("{lanes} lanes of {jobs} jobs in order, {repeated} effects repeated");
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
