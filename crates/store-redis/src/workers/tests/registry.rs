//! The scripts of the registry on a server: pages stay bounded, and damaged values are repaired.

use std::time::Duration;

use windlass_core::{Clock, ManualClock};
use windlass_redis_link::LinkAddress;
use windlass_redis_link::{Call, Link, LinkMode};
use windlass_testkit::redis::Server;

use super::*;
use crate::keys::Keys;
use crate::script::{ClockSource, Script, Scripts};

/// A registry on a dedicated server, with a manual clock.
struct Fixture {
    server: Server,
    link: Link,
    clock: ManualClock,
    keys: Keys,
    scripts: &'static Scripts,
}

impl Fixture {
    async fn new() -> Self {
        let server = Server::start();
        let address = LinkAddress::parse(&server.url()).expect("the URL is valid");
        Self {
            link: Link::open(&address, LinkMode::Store)
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
        let call = Call {
            script: &script.sent,
            keys,
            args,
        };
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
        let reply = self.run(&self.scripts.worker_heartbeat, heartbeat_args(&heartbeat));
        read_command(reply.await).expect("it is a command")
    }

    async fn command(&self, name: &str) -> bool {
        let args = command_args(&boot(name), WorkerCommand::Stop);
        let reply = self.run(&self.scripts.worker_command, args);
        read_command_reply(reply.await).expect("it is a reply")
    }

    async fn list(&self) -> Result<Vec<WorkerRecord>> {
        let mut workers = Workers::default();
        let list = &self.scripts.worker_list;
        while workers.add_page(self.run(list, workers.page_args()).await)? {}
        Ok(workers.into_vec())
    }

    fn count(&self, command: &[&str]) -> i64 {
        self.server.command(command).integer()
    }
}

#[tokio::test]
async fn many_workers_are_listed_moved_and_dropped_in_pages() {
    let fixture = Fixture::new().await;
    for number in 0..1_100 {
        fixture.register(&format!("w{number}")).await;
    }
    assert_eq!(fixture.list().await.expect("all can be read").len(), 1_100);

    fixture.clock.step_back(Duration::from_secs(3_600));
    let now = format!("({}", fixture.clock.now_us() / 1000);
    for late in [600, 100, 0] {
        assert!(!fixture.command("nobody").await);
        let command = ["ZCOUNT", "windlass:{*}:seen", &now, "+inf"];
        assert_eq!(fixture.count(&command), late);
    }

    fixture.clock.advance(Duration::from_secs(24 * 3_600));
    assert!(
        fixture
            .list()
            .await
            .expect("none is left to read")
            .is_empty()
    );
    for kept in [600, 100, 0] {
        // It is stored until the last page is dropped, but no longer known.
        assert!(!fixture.command("w999").await);
        assert_eq!(fixture.count(&["HLEN", "windlass:{*}:workers"]), kept);
        assert_eq!(fixture.count(&["ZCARD", "windlass:{*}:seen"]), kept);
    }
}

#[tokio::test]
async fn a_worker_whose_record_is_damaged_is_lost_and_can_be_removed() {
    let fixture = Fixture::new().await;
    fixture.register("one").await;
    fixture
        .server
        .command(&["HSET", "windlass:{*}:workers", "one", "junk"]);

    assert_eq!(fixture.heartbeat("one").await, WorkerCommand::Reregister);
    assert!(!fixture.command("one").await);
    let error = fixture.list().await.expect_err("the record is junk");
    assert_eq!(error.kind(), ErrorKind::StoreDamaged);

    let args = leave_args(&boot("one"), None);
    fixture.run(&fixture.scripts.worker_leave, args).await;
    assert!(fixture.list().await.expect("it is gone").is_empty());
}

#[tokio::test]
async fn an_invalid_clock_mark_is_repaired_by_the_next_call() {
    let fixture = Fixture::new().await;
    for planted in ["", "soon", "nan", "inf", "-5"] {
        fixture
            .server
            .command(&["SET", "windlass:{*}:mark", planted]);

        fixture.register("one").await;

        let mark = fixture.server.command(&["GET", "windlass:{*}:mark"]).text();
        assert_eq!(mark, "1763240000000000", "{planted:?}");
        assert_eq!(fixture.heartbeat("one").await, WorkerCommand::Continue);
    }
}

#[tokio::test]
async fn a_worker_lives_on_while_the_server_is_full() {
    let fixture = Fixture::new().await;
    fixture.register("one").await;
    fixture.server.command(&["CONFIG", "SET", "maxmemory", "1"]);

    assert_eq!(fixture.heartbeat("one").await, WorkerCommand::Continue);
    assert!(fixture.command("one").await);
    fixture.register("two").await;

    assert_eq!(fixture.list().await.expect("both can be read").len(), 2);
}
