//! Single server, Sentinel and Cluster: the same commands with the same results.

use std::collections::BTreeSet;

use windlass_testkit::redis::{Fsync, ServerOptions};

use super::sandbox::{Sandbox, text};
use super::test_store::{Servers, TestStore};

/// Runs through the life of a job, as a script would.
fn exercise(sandbox: &Sandbox) {
    for queue in ["a", "b", "c", "d"] {
        let reply = sandbox
            .run(&format!("enqueue {queue} hello --id 1 --json"))
            .ok()
            .json();
        assert_eq!(reply["state"], "ready");
        let job = sandbox.claim(queue);
        let token = text(&job["token"]);
        sandbox
            .run(&format!("complete {queue} 1 --token {token} --result done"))
            .ok();
        let job = sandbox
            .run(&format!("job wait {queue} 1 --json"))
            .ok()
            .json();
        assert_eq!(job["result"], "done");
    }
    let list = sandbox.run("queue list --json").ok().json();
    let names: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|queue| text(&queue["queue"]))
        .collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    let audited = sandbox.run("audit --json").ok().json();
    assert_eq!(audited["repaired"], 0, "{audited}");
    sandbox.run("doctor").ok();
}

#[test]
fn every_command_works_over_tcp() {
    exercise(&Sandbox::on(TestStore::single(
        ServerOptions::new().tcp().start(),
    )));
}

#[test]
fn every_command_works_with_sentinels_before_and_after_a_failover() {
    let sandbox = Sandbox::on(TestStore::sentinels());
    exercise(&sandbox);
    let Servers::Sentinels(group) = &sandbox.store.servers else {
        panic!("sentinels were started");
    };

    let old = group.fail_over();
    group.wait_for_new_primary(old);

    sandbox.run("enqueue a again --id 2").ok();
    assert_eq!(sandbox.claim("a")["payload"], "again");
}

#[test]
fn every_command_works_with_a_cluster_and_a_partitioned_queue() {
    let sandbox = Sandbox::on(TestStore::cluster());
    exercise(&sandbox);
    let set = sandbox
        .run("queue set wide partitions=4 --json")
        .ok()
        .json();
    assert_eq!(set["settings"]["partitions"], "4");
    let lines: String = (0..24).map(|n| format!("{{\"id\":\"{n}\"}}\n")).collect();
    sandbox
        .feed("enqueue wide --ndjson -", lines.as_bytes())
        .ok();

    // Each process starts without knowledge of the others and has to find every partition.
    let mut ids = BTreeSet::new();
    loop {
        let claimed = sandbox
            .run("claim wide --max 100 --wait 5s --json")
            .ok()
            .json();
        let jobs = claimed.as_array().unwrap();
        if jobs.is_empty() {
            break;
        }
        for job in jobs {
            let (id, token) = (text(&job["id"]), text(&job["token"]));
            sandbox
                .run(&format!("renew wide {id} --token {token}"))
                .ok();
            sandbox
                .run(&format!("complete wide {id} --token {token}"))
                .ok();
            assert!(ids.insert(id.to_owned()), "{job}");
        }
    }

    assert_eq!(ids.len(), 24);
    let stats = sandbox.run("queue stats wide --json").ok().json();
    assert_eq!(stats["total"]["succeeded"], 24);
}

#[test]
fn the_reply_has_the_durability_that_was_reached() {
    let server = ServerOptions::new().append_only(Fsync::Always).start();
    let sandbox = Sandbox::on(TestStore::single(server));
    let url = sandbox.store.url().to_owned();
    let reached = |options: &str| {
        let line = format!("enqueue q x --id 1 --json --store {url}?timeout=6s{options}");
        // The first job is new, the others are duplicates, which wait for their level too.
        sandbox.run(&line).ok().json()["durability"].clone()
    };

    assert_eq!(reached(""), "memory");
    assert_eq!(reached("&durability=synced"), "synced");
    // There is no replica, so the job is stored with the lower level.
    assert_eq!(reached("&durability=replicated:1"), "memory");
}
