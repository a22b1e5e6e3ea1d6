//! The instructions that the server executes per call, counted by callgrind. Prints them; run it by hand:
//!
//! ```text
//! WINDLASS_REDIS_SERVER=$PWD/crates/store-redis/tests/cost/redis-under-callgrind \
//!     cargo test -p windlass-store-redis --test cost instructions -- --ignored --nocapture
//! ```

use std::fs;
use std::process::Command;

use windlass_core::JobLease;
use windlass_core::store::{Failure, Retry};
use windlass_store_redis::open::ScriptChoice;
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::Server;

use crate::fixture::{self, DELAY, Fixture};
use crate::verbs::{self, Meter};

/// Measured calls of each operation.
const CALLS: usize = 20;

/// Counts the instructions of one server.
pub(crate) struct Callgrind {
    pub(crate) server: Server,
}

impl Meter<1> for Callgrind {
    fn begin(&mut self) {
        self.control("--zero");
    }

    fn per_job(&mut self, jobs: usize) -> [f64; 1] {
        self.control("--dump");
        let mut dumps: Vec<_> = fs::read_dir(self.server.folder())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_string_lossy().contains("callgrind.out."))
            .collect();
        dumps.sort();
        let text = fs::read(dumps.pop().expect("callgrind wrote a dump")).unwrap();
        let text = String::from_utf8_lossy(&text);
        let summary = |line: &str| line.strip_prefix("summary: ")?.trim().parse::<f64>().ok();
        let all = text
            .lines()
            .find_map(summary)
            .expect("a dump has a summary");
        [all / f64::from(u32::try_from(jobs).unwrap())]
    }
}

impl Callgrind {
    fn control(&self, what: &str) {
        let pid = self.server.pid().to_string();
        let done = Command::new("callgrind_control")
            .args([what, &pid])
            .output();
        let done = done.expect("valgrind is installed");
        assert!(done.status.success(), "{done:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs valgrind: see the top of this file"]
async fn print_the_instructions_of_each_operation() {
    for kept in [false, true] {
        let open = async || {
            let server = Server::start();
            let store = RedisStore::open(&server.url(), Options::default()).await;
            let mut fixture = Fixture::on_server_time(store.unwrap());
            if kept {
                keep_one_of_each(&mut fixture).await;
            }
            (fixture, Callgrind { server })
        };
        println!("\ninstructions per call; with a dead, a delayed and a kept job: {kept}");
        for batch in [1, 10, 100] {
            let all = batch * (CALLS + 1);
            print(
                "enqueue",
                batch,
                verbs::enqueue(batch, CALLS, open().await).await,
            );
            for (what, are_keys_new) in [("enqueue with a new key", true), ("replace", false)] {
                let cost = verbs::keyed(batch, CALLS, are_keys_new, open().await).await;
                print(what, batch, cost);
            }
            print("claim", batch, verbs::claim(all, batch, open().await).await);
            print(
                "complete and claim",
                batch,
                verbs::exchange(all, batch, open().await).await,
            );
            let typed = verbs::exchange(all, batch, verbs::typed(open().await)).await;
            print("complete and claim of a kind", batch, typed);
        }
    }
}

/// Complete and claim on a queue without limits, by the fast and by the full script, and on one whose limit of
/// running jobs is never reached, in turns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs valgrind: see the top of this file"]
async fn print_the_instructions_of_a_queue_with_limits() {
    let open = async |scripts, settings: &[&str]| {
        let server = Server::start();
        let options = Options {
            scripts,
            ..Options::default()
        };
        let store = RedisStore::open(&server.url(), options).await;
        let fixture = Fixture::on_server_time(store.unwrap());
        let settings = settings.iter().map(|text| text.parse().unwrap()).collect();
        fixture.store.set(&fixture.queue, settings).await.unwrap();
        (fixture, Callgrind { server })
    };
    let variants: [(&str, ScriptChoice, &[&str]); 4] = [
        ("fast script", ScriptChoice::FastFirst, &[]),
        ("full script", ScriptChoice::FullOnly, &[]),
        (
            "max_running",
            ScriptChoice::FastFirst,
            &["max_running=1000"],
        ),
        (
            "max_running and rate",
            ScriptChoice::FastFirst,
            &["max_running=1000", "rate=1000000/1s", "burst=500000"],
        ),
    ];
    for batch in [1, 10, 100] {
        for _ in 0..2 {
            for (what, scripts, settings) in variants {
                let opened = open(scripts, settings).await;
                let all = batch * (CALLS + 1);
                print(what, batch, verbs::exchange(all, batch, opened).await);
            }
        }
    }
}

/// Complete and claim on a plain queue, by the fast and by the full script, and with groups that take turns. The clock
/// stands still: on a slow machine leases would expire, and generated ids would be too old for the fast scripts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs valgrind: see the top of this file"]
async fn print_the_instructions_of_groups() {
    let open = async |scripts, groups| {
        let server = Server::start();
        let clock = fixture::clock();
        let options = Options {
            scripts,
            clock: Some(clock.clone()),
            ..Options::default()
        };
        let store = RedisStore::open(&server.url(), options).await;
        let fixture = Fixture::new(store.unwrap(), clock).in_groups(groups);
        (fixture, Callgrind { server })
    };
    let variants = [
        ("fast script", ScriptChoice::FastFirst, 0),
        ("full script", ScriptChoice::FullOnly, 0),
        ("1 group", ScriptChoice::FastFirst, 1),
        ("10 groups", ScriptChoice::FastFirst, 10),
        ("100 groups", ScriptChoice::FastFirst, 100),
        ("1000 groups", ScriptChoice::FastFirst, 1000),
    ];
    for batch in [1, 10, 100] {
        for (what, scripts, groups) in variants {
            let all = batch * (CALLS + 1);
            let enqueued = verbs::enqueue(batch, CALLS, open(scripts, groups).await).await;
            print(&format!("enqueue, {what}"), batch, enqueued);
            let opened = open(scripts, groups).await;
            print(what, batch, verbs::exchange(all, batch, opened).await);
        }
    }
}

fn print(what: &str, batch: usize, [per_job]: [f64; 1]) {
    let batch = u32::try_from(batch).unwrap();
    println!("{what:30} ×{batch:<4} {:>12.0}", per_job * f64::from(batch));
}

/// Leaves a dead, a delayed and a succeeded job with a result in the queue.
async fn keep_one_of_each(fixture: &mut Fixture) {
    fixture.enqueue(2, None).await;
    fixture.enqueue(1, Some(DELAY)).await;
    let claim = fixture.claim(2).await;
    let [kept, dead] = [0, 1].map(|at| JobLease::new(claim.jobs[at].id.clone(), claim.token));
    let mut completion = kept.completion();
    completion.result = Some(b"done".to_vec().into());
    let completed = fixture
        .store
        .complete(&fixture.queue, vec![completion], None);
    completed.await.unwrap();
    let failure = Failure {
        lease: dead,
        error: "no".to_owned(),
        retry: Retry::Permanent,
    };
    fixture
        .store
        .fail(&fixture.queue, vec![failure])
        .await
        .unwrap();
}
