//! A Sentinel group.

use windlass_testkit::redis::{Sentinels, Server, until};

#[test]
fn the_sentinels_agree_on_the_primary_from_the_start() {
    let group = Sentinels::start();
    assert_eq!(group.primary().port(), group.servers()[0].port());
    assert_eq!(group.replicas().len(), 2);
    for sentinel in group.sentinels() {
        let reply = sentinel.command(&["SENTINEL", "CKQUORUM", "main"]).ok();
        assert!(reply.text().starts_with("OK 3 usable"), "{reply:?}");
    }
    assert!(group.url().ends_with("/main/0"), "{}", group.url());

    let mut connection = group.primary().connect().unwrap();
    connection.command(&["SET", "a", "1"]).unwrap().ok();
    assert_eq!(
        connection
            .command(&["WAIT", "2", "30000"])
            .unwrap()
            .integer(),
        2
    );
}

#[test]
fn a_primary_that_was_killed_is_replaced_and_comes_back_as_a_replica() {
    let group = Sentinels::start();
    let mut connection = group.primary().connect().unwrap();
    connection.command(&["SET", "a", "1"]).unwrap().ok();
    assert_eq!(
        connection
            .command(&["WAIT", "2", "30000"])
            .unwrap()
            .integer(),
        2
    );

    let old = group.kill_primary();
    let new = group.wait_for_new_primary(old);

    assert_ne!(new.port(), old.port());
    assert_eq!(group.primary().port(), new.port());
    assert_eq!(new.command(&["GET", "a"]).text(), "1");
    old.restart();
    wait_until_follows(old, new);
}

#[test]
fn a_primary_that_was_stopped_is_replaced() {
    let group = Sentinels::start();
    let old = group.primary();
    group.shorten_timeout();
    old.stop();
    let new = group.wait_for_new_primary(old);
    assert_ne!(new.port(), old.port());
    old.resume();
    wait_until_follows(old, new);
}

#[test]
fn a_requested_failover_happens() {
    let group = Sentinels::start();
    let old = group.fail_over();
    let new = group.wait_for_new_primary(old);
    wait_until_follows(old, new);
}

fn wait_until_follows(old: &Server, new: &Server) {
    until("the old primary follows", || {
        let info = old.ask(&["INFO", "replication"])?;
        let follows = info.field("master_port") == Some(new.port().to_string());
        follows.then_some(()).ok_or_else(|| info.text())
    });
}
