//! A hand put something else under one of our keys: every verb refuses and changes nothing, or does
//! without that key and does everything.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::{Clock, ManualClock, SystemClock, Timestamp};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::{Connection, Server};

use crate::contents::{self, Content, Contents};
use crate::fixture::World;
use crate::verbs::{self, Verb};

/// Every key of a queue; the lists are ten.
const QUEUE_KEYS: &str = "state settings jobs opts errors results suspects ghosts scheduled expiring \
    unique running open claims left tokens holds leases owners stopping progress final succeeded dead \
    cancelled tombstones forgetting sleepers wake";
const LANES: usize = 10;
const REGISTRY_KEYS: &str = "schema queues workers seen mark";

const MARK: &str = "windlass:{*}:mark";

pub(crate) fn keys() -> Vec<String> {
    let of_queue = QUEUE_KEYS
        .split_whitespace()
        .map(|name| format!("windlass:{{q}}:{name}"));
    let lanes = (0..LANES).map(|lane| format!("windlass:{{q}}:ready:{lane}"));
    let of_registry = REGISTRY_KEYS
        .split_whitespace()
        .map(|name| format!("windlass:{{*}}:{name}"));
    of_queue.chain(lanes).chain(of_registry).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_the_wrong_type_never_leaves_a_verb_half_done() {
    let server = Server::start();
    let mut stage = Stage::build(&server).await;
    let mut broken = Vec::new();
    let (mut refused, mut done) = (0, 0);
    for verb in verbs::all() {
        let whole = stage.whole(&verb).await;
        for key in keys() {
            stage.plant(&key);
            let before = contents::read(&mut stage.link);
            let outcome = verb.call(&stage.store, &stage.world).await;
            let after = contents::read(&mut stage.link);
            *(if outcome.is_ok() {
                &mut done
            } else {
                &mut refused
            }) += 1;
            let is_right = match &outcome {
                Ok(()) => {
                    differing(&after, &whole).iter().all(|name| *name == key)
                        && after.get(&key) == before.get(&key)
                }
                Err(_) if verb.is_several => each_tag_is_whole(&before, &after, &whole, &key),
                Err(_) => after == before,
            };
            if !is_right {
                let changed = differing(&before, &after);
                let missing = differing(&after, &whole);
                broken.push(format!("{} with {key}: {outcome:?}\n    changed {changed:?}\n    unlike whole {missing:?}", verb.name));
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

/// The queue has something under every key that could be of a wrong type; otherwise a verb could
/// pass because it never came so far.
#[tokio::test(flavor = "multi_thread")]
async fn the_queue_that_verbs_are_tried_on_has_every_key() {
    let server = Server::start();
    let stage = Stage::build(&server).await;
    let there: BTreeSet<String> = stage.dumped.iter().map(|(key, _)| key.clone()).collect();
    let missing: Vec<String> = keys()
        .into_iter()
        .filter(|key| !there.contains(key))
        .collect();
    assert_eq!(missing, [""; 0]);
    let strange: Vec<&String> = there.iter().filter(|key| !keys().contains(key)).collect();
    assert_eq!(strange, [""; 0]);
}

struct Stage {
    store: RedisStore,
    world: World,
    link: Connection,
    dumped: Vec<(String, Vec<u8>)>,
}

impl Stage {
    async fn build(server: &Server) -> Self {
        let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
        let clock = Arc::new(ManualClock::new(now));
        let options = Options {
            clock: Some(clock.clone()),
            ..Options::default()
        };
        let store = RedisStore::open(&server.url(), options).await.unwrap();
        let world = World::build(&store, &clock).await;
        let mut link = server.connect().unwrap();
        let dumped = contents::dump(&mut link);
        Self {
            store,
            world,
            link,
            dumped,
        }
    }

    /// What there is after the verb when nothing is wrong.
    async fn whole(&mut self, verb: &Verb) -> Contents {
        contents::restore(&mut self.link, &self.dumped);
        let outcome = verb.call(&self.store, &self.world).await;
        outcome.unwrap_or_else(|error| panic!("{}: {error}", verb.name));
        contents::read(&mut self.link)
    }

    /// Everything as it was, and one key of another type.
    fn plant(&mut self, key: &str) {
        contents::restore(&mut self.link, &self.dumped);
        other_type(&mut self.link, key);
    }
}

/// Puts something of another type under a key.
pub(crate) fn other_type(link: &mut Connection, key: &str) {
    link.command(&["DEL", key]).unwrap().ok();
    let is_text = key.ends_with(":schema") || key.ends_with(":mark");
    let command = if is_text {
        ["RPUSH", key, "x"]
    } else {
        ["SET", key, "x"]
    };
    link.command(&command).unwrap().ok();
}

/// The keys whose contents differ.
pub(crate) fn differing(a: &Contents, b: &Contents) -> Vec<String> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differs = |name: &&String| a.get(*name) != b.get(*name);
    names.into_iter().filter(differs).cloned().collect()
}

/// Each slot was changed by a script of its own: wholly, or not at all. Any look at the registry
/// may move its mark.
fn each_tag_is_whole(before: &Contents, after: &Contents, whole: &Contents, planted: &str) -> bool {
    ["{q}", "{*}"].into_iter().all(|tag| {
        let of = |contents: &Contents| -> Vec<(String, Content)> {
            let own = contents
                .iter()
                .filter(|(name, _)| name.contains(tag) && *name != planted && *name != MARK);
            own.map(|(name, content)| (name.clone(), content.clone()))
                .collect()
        };
        of(after) == of(before) || of(after) == of(whole)
    })
}
