//! Groups: their lines, slots, turns, records and counts.

use windlass_core::Result;
use windlass_core::store::Retry;
use windlass_testkit::fixture::{group_name, grouped, lease_of, named, numbered, secs};
use windlass_testkit::redis::Reply;

use crate::fixture::AuditFixture;

/// The ready jobs after `fill_groups`.
const READY: [&str; 8] = ["a2", "a3", "b2", "c1", "c2", "d1", "j000", "j001"];

/// Fills a queue with jobs of groups in every state: `a1` and `b1` run, `c` is paused, `d` rests by its rate.
pub(crate) async fn fill_groups(test: &AuditFixture) -> Result<()> {
    let fixture = &test.fixture;
    fixture.set("group_max_running=1").await?;
    fixture.set_group("d", "rate=1/1h").await?;
    fixture.fill_groups(&["a1", "b1", "d0"]).await?;
    let claim = fixture.take(3).await?;
    fixture.complete(lease_of(&claim, 2)).await?;
    fixture.pause_group("c", true).await?;
    fixture
        .fill_groups(&["a2", "a3", "b2", "c1", "c2", "d1"])
        .await?;
    fixture.enqueue(grouped("e1").delay(secs(60))).await?;
    fixture.enqueue_all(numbered(2)).await.map(drop)
}

async fn filled() -> Result<AuditFixture> {
    let test = AuditFixture::open().await;
    fill_groups(&test).await?;
    assert_eq!(test.audit().await?.1, []);
    Ok(test)
}

/// Asserts that all jobs of the queue can be claimed, each once, when nothing limits them.
async fn assert_drains(test: &AuditFixture, expected: &[&str]) -> Result<()> {
    let fixture = &test.fixture;
    for group in ["a", "b", "c", "d"] {
        fixture.pause_group(group, false).await?;
        fixture.set_group(group, "rate=none").await?;
        fixture.set_group(group, "max_running=none").await?;
    }
    let mut ids = test.drain().await?;
    ids.sort();
    assert_eq!(ids, expected);
    assert_eq!(test.repair().await?, Vec::<String>::new());
    Ok(())
}

/// The member of a job in a sorted set with members `GROUP TAB … ID`.
fn member(test: &AuditFixture, key: &str, id: &str) -> String {
    let members = test.command("ZRANGE", key, &["0", "-1"]);
    let mut members = members.array().iter().map(Reply::text);
    let found = members.find(|member| member.ends_with(&format!("\t{id}")));
    found.expect("the job is there")
}

fn record(test: &AuditFixture, group: &str) -> String {
    test.command("HGET", "groups", &[group]).text()
}

/// Overwrites a number in the record of a group, counted from 0.
fn set_in_record(test: &AuditFixture, group: &str, at: usize, number: &str) {
    let record = record(test, group);
    let mut words: Vec<&str> = record.split(' ').collect();
    words[at] = number;
    test.command("HSET", "groups", &[group, &words.join(" ")]);
}

/// Overwrites a number of all groups, counted from 1.
fn set_number(test: &AuditFixture, at: usize, number: &str) {
    let numbers = test.command("HGET", "state", &["groups"]).text();
    let mut words: Vec<&str> = numbers.split(' ').collect();
    words[at - 1] = number;
    test.command("HSET", "state", &["groups", &words.join(" ")]);
}

#[tokio::test]
async fn entries_of_lines_that_are_not_ready_jobs_of_the_group_are_removed() -> Result<()> {
    let test = filled().await?;
    let place = "114503599627370499";
    for (member, repair) in [
        (format!("a\t{place}50\tnobody"), "without_job nobody"),
        (format!("a\t{place}50\ta1"), "in_two_states a1"),
        (format!("a\t{place}50\tb2"), "entry_wrong b2"),
        (format!("a\t{place}50\ta2"), "entry_wrong a2"),
        (format!("a\t{place}50\te1"), "in_two_states e1"),
        (format!("a\t{place}50\tj000"), "entry_wrong j000"),
        ("a\t7\ta2".to_owned(), "entry_unreadable"),
        ("nonsense".to_owned(), "entry_unreadable"),
    ] {
        test.command("ZADD", "lined", &["0", &member]);
        let repairs = test.repair().await?;
        assert_eq!(repairs, [repair], "{member:?}");
    }
    assert_drains(&test, &READY).await
}

#[tokio::test]
async fn ready_jobs_of_groups_that_are_in_no_line_are_added() -> Result<()> {
    let test = filled().await?;
    let first = member(&test, "lined", "a2");
    test.command("ZREM", "lined", &[&first]);
    assert_eq!(test.repair().await?, ["not_listed a2"]);
    assert_eq!(test.fixture.group("a").await?.map(|a| a.ready), Some(2));

    test.command("DEL", "lined", &[]);
    let repairs = test.repair().await?;

    let added = ["a2", "a3", "b2", "c1", "c2", "d1"].map(|id| format!("not_listed {id}"));
    assert_eq!(repairs, added);
    assert_drains(&test, &READY).await
}

#[tokio::test]
async fn a_job_in_the_wrong_lane_or_with_a_score_in_its_line_is_moved_back() -> Result<()> {
    let test = filled().await?;
    let place = "014503599627370499";
    let opts = test.command("HGET", "opts", &["a2"]).text();
    let before = member(&test, "lined", "a2");
    let old_place = before.split('\t').nth(1).expect("a place");
    let opts = opts.replace(old_place, &format!("{place}00"));
    test.command("HSET", "opts", &["a2", &opts]);
    test.command("ZREM", "lined", &[&before]);
    test.command("ZADD", "lined", &["0", &format!("a\t{place}00\ta2")]);
    assert_eq!(test.repair().await?, ["entry_wrong a2"]);

    let scored = member(&test, "lined", "b2");
    test.command("ZADD", "lined", &["7", &scored]);
    assert!(
        test.repair()
            .await?
            .contains(&"value_unreadable".to_owned())
    );
    assert_drains(&test, &READY).await
}

#[tokio::test]
async fn a_job_of_a_group_is_removed_from_the_ready_lists() -> Result<()> {
    let test = filled().await?;
    test.command("RPUSH", "ready:5", &["\t0\ta2"]);

    assert_eq!(test.repair().await?, ["in_two_states a2"]);

    assert_drains(&test, &READY).await
}

#[tokio::test]
async fn slots_are_held_by_running_jobs_only() -> Result<()> {
    let test = filled().await?;
    for (member, repair) in [
        ("a\tnobody", "without_job nobody"),
        ("a\ta2", "leftover a2"),
        ("b\ta1", "leftover a1"),
        ("a\tj000", "leftover j000"),
        ("nonsense", "value_unreadable"),
    ] {
        test.command("ZADD", "working", &["0", member]);
        assert_eq!(test.repair().await?, [repair], "{member:?}");
    }
    test.command("ZREM", "working", &["a\ta1"]);
    assert_eq!(test.repair().await?, ["slot_missing a1"]);
    test.command("DEL", "working", &[]);
    assert_eq!(test.repair().await?, ["slot_missing a1", "slot_missing b1"]);
    assert_eq!(test.fixture.slots("a").await?, 1);
    assert_drains(&test, &READY).await
}

#[tokio::test]
async fn waiting_and_dead_jobs_keep_their_slots_in_ordered_lanes() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    fixture.set("group_slot=success").await?;
    fixture.fill_groups(&["a1", "a2", "b1", "b2", "c1"]).await?;
    let claim = fixture.take(3).await?;
    fixture.release(lease_of(&claim, 0)).await?;
    fixture.fail(lease_of(&claim, 1), Retry::Permanent).await?;
    fixture.complete(lease_of(&claim, 2)).await?;
    assert_eq!(test.repair().await?, Vec::<String>::new());

    test.command("ZREM", "working", &["a\ta1"]);
    assert_eq!(test.repair().await?, ["slot_missing a1"]);
    test.command("ZADD", "working", &["0", "c\tc1"]);
    assert_eq!(test.repair().await?, ["without_job c1"]);
    // A job that waits in the lane of others although it holds a slot.
    test.command("ZADD", "working", &["0", "a\ta2"]);
    assert_eq!(test.repair().await?, ["entry_wrong a2"]);

    assert_eq!(fixture.slots("b").await?, 1);
    fixture.retry("b1").await?;
    let mut ids = test.drain().await?;
    ids.sort();
    assert_eq!(ids, ["a1", "a2", "b1", "b2"]);
    Ok(())
}

#[tokio::test]
async fn counts_of_a_group_are_those_of_its_line_and_slots() -> Result<()> {
    let test = filled().await?;
    for (at, number) in [(2, "9"), (2, "0"), (3, "0"), (3, "4")] {
        set_in_record(&test, "a", at, number);
        assert_eq!(test.repair().await?, ["group_miscounted"], "{at} {number}");
    }
    let a = test.fixture.group("a").await?.expect("it has jobs");
    assert_eq!((a.ready, a.slots), (2, 1));
    assert_drains(&test, &READY).await
}

#[tokio::test]
async fn lost_and_unreadable_records_of_groups_are_rebuilt() -> Result<()> {
    let test = filled().await?;
    for record in [
        "",
        "x",
        "r 1 2",
        "r 1 2 1 0 0 0 0 0 - - -",
        "r 1 2 1 0 0 0 0 - 5 1 -",
        "r -1 2 1 0 0 0 0 - - - -",
        "r 1 2 1 0 0 0 0 - - - 99999999999",
    ] {
        test.command("HSET", "groups", &["a", record]);
        let repairs = test.repair().await?;
        assert!(
            repairs.contains(&"group_unreadable".to_owned()),
            "{record:?}: {repairs:?}"
        );
    }
    test.command("HDEL", "groups", &["a", "b"]);
    let repairs = test.repair().await?;
    assert!(
        repairs.contains(&"group_unreadable".to_owned()),
        "{repairs:?}"
    );
    test.command("DEL", "groups", &[]);
    let repairs = test.repair().await?;
    assert!(
        repairs.contains(&"group_unreadable".to_owned()),
        "{repairs:?}"
    );
    let a = test.fixture.group("a").await?.expect("it has jobs");
    assert_eq!((a.ready, a.slots), (2, 1));
    assert_drains(&test, &READY).await
}

#[tokio::test]
async fn groups_without_anything_are_dropped_and_the_others_are_listed() -> Result<()> {
    let test = filled().await?;
    let record = "- 1 0 0 0 0 0 0 - - - -";
    test.command("HSET", "groups", &["empty", record]);
    assert_eq!(test.repair().await?, ["without_group"]);
    test.command("ZADD", "group_names", &["0", "stray"]);
    assert_eq!(test.repair().await?, ["without_group"]);
    test.command("ZREM", "group_names", &["a"]);
    assert_eq!(test.repair().await?, ["group_not_listed"]);
    test.command("DEL", "group_names", &[]);
    assert_eq!(test.repair().await?, ["group_not_listed"]);

    let names = test.command("ZRANGE", "group_names", &["0", "-1"]);
    let names: Vec<_> = names.array().iter().map(Reply::text).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_drains(&test, &READY).await
}

#[tokio::test]
async fn numbers_of_all_groups_are_counted_again() -> Result<()> {
    let test = filled().await?;
    for (at, number) in [(9, "7"), (9, "0"), (15, "99"), (15, "0"), (10, "3")] {
        set_number(&test, at, number);
        assert_eq!(test.repair().await?, ["stats_wrong"], "{at} {number}");
    }
    for numbers in [
        "",
        "nonsense",
        "1 2 3",
        "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 -5",
    ] {
        test.command("HSET", "state", &["groups", numbers]);
        assert_eq!(test.repair().await?, ["stats_wrong"], "{numbers:?}");
    }
    test.command("HDEL", "state", &["groups"]);
    assert_eq!(test.repair().await?, ["stats_wrong"]);
    assert_eq!(test.fixture.group("a").await?.map(|a| a.ready), Some(2));
    assert_drains(&test, &READY).await
}

#[tokio::test]
async fn jobs_that_are_added_after_the_positions_were_lost_are_last_in_their_line() -> Result<()> {
    let test = filled().await?;
    set_number(&test, 6, "0");

    assert_eq!(test.repair().await?, ["stats_wrong"]);

    test.fixture.fill_groups(&["a4"]).await?;
    let line = test.fixture.snapshot().await?;
    let line: Vec<_> = line.groups[0]
        .line
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(line, ["a2", "a3", "a4"]);
    Ok(())
}

#[tokio::test]
async fn groups_are_found_where_they_belong() -> Result<()> {
    let test = filled().await?;
    test.fixture.fill_groups(&["f1"]).await?;
    let turn = member(&test, "turns", "f");
    for (command, key, rest, repairs) in [
        ("ZREM", "turns", vec![&*turn], vec!["group_misplaced"]),
        ("DEL", "turns", vec![], vec!["group_misplaced"]),
        ("ZREM", "resting", vec!["a"], vec!["group_misplaced"]),
        ("DEL", "resting", vec![], vec!["group_misplaced"]),
        ("ZADD", "resting", vec!["inf", "d"], vec!["group_misplaced"]),
        ("ZADD", "resting", vec!["inf", "f"], vec!["group_misplaced"]),
        (
            "ZADD",
            "resting",
            vec!["inf", "stray"],
            vec!["without_group"],
        ),
        ("ZADD", "turns", vec!["0", "stray"], vec!["without_group"]),
        ("ZADD", "turns", vec!["0", "5\ta"], vec!["group_misplaced"]),
        ("ZADD", "turns", vec!["3", &*turn], vec!["value_unreadable"]),
        (
            "ZADD",
            "recheck",
            vec!["inf", "stray", "inf", "a"],
            vec!["group_misplaced", "stats_wrong", "without_group"],
        ),
    ] {
        test.command(command, key, &rest);
        assert_eq!(test.repair().await?, repairs, "{command} {key} {rest:?}");
    }
    let mut expected = READY.to_vec();
    expected.insert(6, "f1");
    assert_drains(&test, &expected).await
}

#[tokio::test]
async fn a_group_whose_turn_is_too_late_or_whose_key_is_wrong_takes_its_turn() -> Result<()> {
    let test = filled().await?;
    test.fixture.fill_groups(&["f1"]).await?;
    set_in_record(&test, "f", 1, "9007199254740991");
    assert_eq!(test.repair().await?, ["group_misplaced"]);
    let turn = member(&test, "turns", "f");
    let key = "90000000050000000000000001";
    test.command("ZREM", "turns", &[&turn]);
    test.command("ZADD", "turns", &["0", &format!("{key}\tf")]);
    set_in_record(&test, "f", 0, key);
    assert_eq!(test.repair().await?, ["group_misplaced"]);
    assert_eq!(test.fixture.next(9).await?, ["j000", "f1", "j001"]);
    Ok(())
}

#[tokio::test]
async fn a_rate_of_a_group_that_was_closed_for_too_long_opens_after_one_period() -> Result<()> {
    let test = filled().await?;
    set_in_record(&test, "d", 4, "9007199254740991");

    assert_eq!(test.repair().await?, ["group_rate_wrong"]);

    test.fixture.advance(secs(3600));
    test.fixture.maintain().await?;
    let ids = test.fixture.next(9).await?;
    assert!(ids.contains(&"d1".to_owned()), "{ids:?}");
    Ok(())
}

#[tokio::test]
async fn groups_survive_the_loss_of_the_state_of_the_queue() -> Result<()> {
    let test = filled().await?;
    test.command("DEL", "state", &[]);

    let repairs = test.repair().await?;

    assert!(repairs.contains(&"stats_lost".to_owned()), "{repairs:?}");
    assert_eq!(test.fixture.slots("a").await?, 1);
    assert_drains(&test, &READY).await
}

#[tokio::test]
async fn groups_are_rebuilt_from_their_jobs_alone() -> Result<()> {
    let test = filled().await?;
    test.command("HDEL", "state", &["groups"]);
    for key in [
        "lined",
        "working",
        "turns",
        "resting",
        "groups",
        "group_names",
    ] {
        test.command("DEL", key, &[]);
    }

    test.repair().await?;

    assert_eq!(test.fixture.slots("a").await?, 1);
    assert_drains(&test, &READY).await
}

#[tokio::test]
async fn groups_that_wait_for_time_or_for_new_limits_are_in_their_place() -> Result<()> {
    let test = filled().await?;
    test.fixture.advance(secs(3600));
    assert_eq!(test.audit().await?.1.len(), 0);
    test.fixture.set("group_max_running=2").await?;
    assert_eq!(test.audit().await?.1, []);
    test.fixture.set("group_rate=1/1m").await?;
    assert_eq!(test.audit().await?.1, []);
    test.fixture.assert_sound().await
}

#[tokio::test]
async fn more_groups_than_one_call_places_again_are_in_their_place_after_a_change() -> Result<()> {
    const MANY: usize = 250;
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    fixture.set("group_max_running=2").await?;
    let job = |n, at| named(&format!("j{n}-{at}")).group(group_name(&format!("g{n:03}")));
    for at in 0..2 {
        let jobs = (0..MANY).map(|n| job(n, at)).collect();
        fixture.enqueue_all(jobs).await?;
    }
    for room in [100, 100, MANY - 200] {
        fixture.take(room).await?;
    }

    fixture.set("group_max_running=1").await?;

    let left = test.command("ZCARD", "turns", &[]).integer();
    assert!(left > 0, "all groups were placed again");
    assert_eq!(test.audit().await?.1, []);
    test.assert_sound().await
}
