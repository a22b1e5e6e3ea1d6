//! Limits of groups and the order of lanes hold while processes are killed, judged from outside by what they logged.
//!
//! `WINDLASS_ROUNDS` multiplies the length of a run of limits; `WINDLASS_LANES=1000x100` is a run of 1000 lanes with 100
//! jobs each.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot continue fails on the spot, and prints a summary"
)]

mod lanes;
mod limits;

use std::time::Duration;

use tokio::time::sleep;
use windlass_chaos::QUEUE;
use windlass_chaos::actor::{Actor, Launcher};
use windlass_core::store::GroupName;
use windlass_core::{JobId, NewJob, QueueName, Store};
use windlass_store_redis::RedisStore;
use windlass_store_sqlite::SqliteStore;
use windlass_testkit::redis::Server;

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const PROCESSES: usize = 8;
const LEASE: Duration = Duration::from_millis(1500);

macro_rules! on_each_store {
    ($($file:ident::$case:ident($argument:expr) as $name:ident;)+) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("jobs.db");
                let options = windlass_store_sqlite::Options::default();
                let store = super::SqliteStore::open(&path, options).unwrap();
                crate::$file::$case(std::sync::Arc::new(store), path.into(), $argument).await;
            })+
        }
        mod redis {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let server = super::Server::start();
                let options = windlass_store_redis::Options::default();
                let store = super::RedisStore::open(&server.url(), options).await.unwrap();
                crate::$file::$case(std::sync::Arc::new(store), server.url().into(), $argument).await;
            })+
        }
    };
}

on_each_store! {
    limits::hold(()) as no_limit_is_exceeded_and_no_slot_is_lost;
    lanes::run_in_order("run") as lanes_that_hold_a_slot_while_a_job_runs_run_in_order;
    lanes::run_in_order("job") as lanes_that_wait_for_a_failing_head_run_in_order;
    lanes::run_in_order("success") as lanes_that_stop_at_a_failure_run_in_order;
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
