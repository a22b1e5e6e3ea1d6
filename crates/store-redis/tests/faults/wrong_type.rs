//! One key of the store has the wrong type: every operation either fails and changes nothing, or does
//! not need that key and completes.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::{Clock, ManualClock, SystemClock, Timestamp};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::{Connection, Server};

use crate::contents::{self, Content, Contents};
use crate::fixture::Fixture;
use crate::verbs::{self, Verb};

/// Every key of a queue except the ready lists.
const QUEUE_KEYS: &str = "state settings jobs opts errors results suspects ghosts scheduled expiring \
    unique running open claims left tokens holds leases owners stopping progress final succeeded dead \
    cancelled tombstones forgetting schedules plans firing refilling names history error_groups error_seen sleepers wake";
const READY_LISTS: usize = 10;
const REGISTRY_KEYS: &str = "schema queues workers seen mark";

const MARK: &str = "windlass:{*}:mark";

pub(crate) fn keys() -> Vec<String> {
    let of_queue = QUEUE_KEYS
        .split_whitespace()
        .map(|name| format!("windlass:{{q}}:{name}"));
    let ready = (0..READY_LISTS).map(|priority| format!("windlass:{{q}}:ready:{priority}"));
    let of_registry = REGISTRY_KEYS
        .split_whitespace()
        .map(|name| format!("windlass:{{*}}:{name}"));
    of_queue.chain(ready).chain(of_registry).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_the_wrong_type_never_leaves_a_verb_half_done() {
    let server = Server::start();
    let mut test = WrongTypeFixture::build(&server).await;
    let mut broken = Vec::new();
    let (mut refused, mut done) = (0, 0);
    for verb in verbs::all() {
        let complete = test.complete(&verb).await;
        for key in keys() {
            test.plant(&key);
            let before = contents::read(&mut test.link);
            let outcome = verb.call(&test.store, &test.fixture).await;
            let after = contents::read(&mut test.link);
            *(if outcome.is_ok() {
                &mut done
            } else {
                &mut refused
            }) += 1;
            let is_right = match &outcome {
                Ok(()) => {
                    differing(&after, &complete).iter().all(|name| *name == key)
                        && after.get(&key) == before.get(&key)
                }
                Err(_) if verb.is_several => each_tag_is_atomic(&before, &after, &complete, &key),
                Err(_) => after == before,
            };
            if !is_right {
                let changed = differing(&before, &after);
                let missing = differing(&after, &complete);
                broken.push(format!(
                    "{} with {key}: {outcome:?}\n    changed {changed:?}\n    missing {missing:?}",
                    verb.name
                ));
            }
        }
    }
    println!("{refused} refused, {done} done without the key");
    assert!(refused > 300 && done > 100);
    assert!(
        broken.is_empty(),
        "{} broken\n{}",
        broken.len(),
        broken.join("\n")
    );
}

/// Every key exists in the fixture; otherwise an operation could pass because it never used the key.
#[tokio::test(flavor = "multi_thread")]
async fn the_fixture_has_every_key() {
    let server = Server::start();
    let test = WrongTypeFixture::build(&server).await;
    let existing: BTreeSet<String> = test.dumped.iter().map(|(key, _)| key.clone()).collect();
    let missing: Vec<String> = keys()
        .into_iter()
        .filter(|key| !existing.contains(key))
        .collect();
    assert_eq!(missing, [""; 0]);
    let unexpected: Vec<&String> = existing
        .iter()
        .filter(|key| !keys().contains(key))
        .collect();
    assert_eq!(unexpected, [""; 0]);
}

struct WrongTypeFixture {
    store: RedisStore,
    fixture: Fixture,
    link: Connection,
    dumped: Vec<(String, Vec<u8>)>,
}

impl WrongTypeFixture {
    async fn build(server: &Server) -> Self {
        let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
        let clock = Arc::new(ManualClock::new(now));
        let options = Options {
            clock: Some(clock.clone()),
            ..Options::default()
        };
        let store = RedisStore::open(&server.url(), options).await.unwrap();
        let fixture = Fixture::build(&store, &clock).await;
        let mut link = server.connect().unwrap();
        let dumped = contents::dump(&mut link);
        Self {
            store,
            fixture,
            link,
            dumped,
        }
    }

    /// Returns the contents after the operation without a wrong type.
    async fn complete(&mut self, verb: &Verb) -> Contents {
        contents::restore(&mut self.link, &self.dumped);
        let outcome = verb.call(&self.store, &self.fixture).await;
        outcome.unwrap_or_else(|error| panic!("{}: {error}", verb.name));
        contents::read(&mut self.link)
    }

    /// Restores everything and gives one key the wrong type.
    fn plant(&mut self, key: &str) {
        contents::restore(&mut self.link, &self.dumped);
        set_wrong_type(&mut self.link, key);
    }
}

/// Replaces a key with one of another type.
pub(crate) fn set_wrong_type(link: &mut Connection, key: &str) {
    link.command(&["DEL", key]).unwrap().ok();
    let is_text = key.ends_with(":schema") || key.ends_with(":mark");
    let command = if is_text {
        ["RPUSH", key, "x"]
    } else {
        ["SET", key, "x"]
    };
    link.command(&command).unwrap().ok();
}

/// Returns the keys whose contents differ.
pub(crate) fn differing(a: &Contents, b: &Contents) -> Vec<String> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differs = |name: &&String| a.get(*name) != b.get(*name);
    names.into_iter().filter(differs).cloned().collect()
}

/// Whether each hash tag was changed completely or not at all: each has its own script. Reading the
/// registry may move its mark.
fn each_tag_is_atomic(
    before: &Contents,
    after: &Contents,
    complete: &Contents,
    planted: &str,
) -> bool {
    ["{q}", "{*}"].into_iter().all(|tag| {
        let of = |contents: &Contents| -> Vec<(String, Content)> {
            let own = contents
                .iter()
                .filter(|(name, _)| name.contains(tag) && *name != planted && *name != MARK);
            own.map(|(name, content)| (name.clone(), content.clone()))
                .collect()
        };
        of(after) == of(before) || of(after) == of(complete)
    })
}
