//! The scripts of the registry on a server: pages stay bounded, and what a hand left there heals.

use std::time::Duration;

use windlass_core::{Clock, ManualClock};
use windlass_testkit::redis::Server;

use super::*;
use crate::address::Address;
use crate::keys::Keys;
use crate::link::{Call, Link, Standing};
use crate::script::{ClockSource, Script, Scripts};

/// The registry of a server of its own, under a clock that tests move.
struct Bench {
    server: Server,
    link: Link,
    clock: ManualClock,
    keys: Keys,
    scripts: &'static Scripts,
}

impl Bench {
    async fn new() -> Self {
        let server = Server::start();
        let address = Address::parse(&server.url()).expect("the server's URL is right");
        Self {
            link: Link::open(&address, Standing::Host)
                .await
                .expect("the server is up"),
            server,
            clock: ManualClock::new(Timestamp::from_ms(1_763_240_000_000)),
            keys: Keys::of_registry("windlass"),
            scripts: Scripts::of(ClockSource::Argument),
        }
    }

    async fn run(&self, script: &'static Script, mut args: Vec<Bytes>) -> Value {
        args.push(Bytes::from(self.clock.now_us().to_string()));
        let keys = self.keys.declared(&script.keys);
        let call = Call { script, keys, args };
        self.link.run(&call).await.expect("the script runs")
    }

    async fn register(&self, name: &str) {
        let new = NewWorker {
            boot: boot(name),
            ..new_worker()
        };
        let registered = self.run(&self.scripts.worker_register, register_args(&new));
        assert_eq!(registered.await, bulk("registered"));
    }

    async fn heartbeat(&self, name: &str) -> WorkerCommand {
        let heartbeat = Heartbeat {
            boot: boot(name),
            running: vec![],
        };
        let told = self.run(&self.scripts.worker_heartbeat, heartbeat_args(&heartbeat));
        read_command(told.await).expect("it is a word")
    }

    async fn tell(&self, name: &str) -> bool {
        let args = command_args(&boot(name), WorkerCommand::Stop);
        let told = self.run(&self.scripts.worker_command, args);
        read_command_reply(told.await).expect("it is a word")
    }

    async fn list(&self) -> Result<Vec<WorkerRecord>> {
        let mut workers = Workers::default();
        let list = &self.scripts.worker_list;
        while workers.add_page(self.run(list, workers.page_args()).await)? {}
        Ok(workers.into_vec())
    }

    fn count(&self, words: &[&str]) -> i64 {
        self.server.command(words).integer()
    }
}

#[tokio::test]
async fn many_workers_are_listed_cut_and_dropped_in_pages() {
    let bench = Bench::new().await;
    for number in 0..1_100 {
        bench.register(&format!("w{number}")).await;
    }
    assert_eq!(bench.list().await.expect("all can be read").len(), 1_100);

    bench.clock.step_back(Duration::from_secs(3_600));
    let now = format!("({}", bench.clock.now_us() / 1000);
    for late in [600, 100, 0] {
        assert!(!bench.tell("nobody").await);
        let words = ["ZCOUNT", "windlass:{*}:seen", &now, "+inf"];
        assert_eq!(bench.count(&words), late);
    }

    bench.clock.advance(Duration::from_secs(24 * 3_600));
    assert!(bench.list().await.expect("none is left to read").is_empty());
    for kept in [600, 100, 0] {
        // The last of them stands there until the last page, and is not known any more.
        assert!(!bench.tell("w999").await);
        assert_eq!(bench.count(&["HLEN", "windlass:{*}:workers"]), kept);
        assert_eq!(bench.count(&["ZCARD", "windlass:{*}:seen"]), kept);
    }
}

#[tokio::test]
async fn a_worker_whose_record_is_damaged_is_lost_and_can_be_removed() {
    let bench = Bench::new().await;
    bench.register("one").await;
    bench
        .server
        .command(&["HSET", "windlass:{*}:workers", "one", "junk"]);

    assert_eq!(bench.heartbeat("one").await, WorkerCommand::Reregister);
    assert!(!bench.tell("one").await);
    let error = bench.list().await.expect_err("the record is junk");
    assert_eq!(error.kind(), ErrorKind::StoreDamaged);

    let args = leave_args(&boot("one"), None);
    bench.run(&bench.scripts.worker_leave, args).await;
    assert!(bench.list().await.expect("it is gone").is_empty());
}

#[tokio::test]
async fn a_mark_that_is_no_number_heals_with_the_next_step() {
    let bench = Bench::new().await;
    for planted in ["", "soon", "nan", "inf", "-5"] {
        bench.server.command(&["SET", "windlass:{*}:mark", planted]);

        bench.register("one").await;

        let mark = bench.server.command(&["GET", "windlass:{*}:mark"]).text();
        assert_eq!(mark, "1763240000000000", "{planted:?}");
        assert_eq!(bench.heartbeat("one").await, WorkerCommand::Continue);
    }
}

#[tokio::test]
async fn a_worker_lives_on_while_the_server_is_full() {
    let bench = Bench::new().await;
    bench.register("one").await;
    bench.server.command(&["CONFIG", "SET", "maxmemory", "1"]);

    assert_eq!(bench.heartbeat("one").await, WorkerCommand::Continue);
    assert!(bench.tell("one").await);
    bench.register("two").await;

    assert_eq!(bench.list().await.expect("both can be read").len(), 2);
}
