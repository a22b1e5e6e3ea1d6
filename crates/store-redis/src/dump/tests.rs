//! Dumps queues from planted keys: current values are shown, expired ones left out.

use std::collections::HashMap;
use std::time::Duration;

use redis::{Cmd, Value};
use windlass_core::store::Owner;
use windlass_core::{ErrorKind, OutcomeStatus};
use windlass_redis_link::{Link, LinkAddress, LinkMode};
use windlass_testkit::redis::Server;

use super::*;
use crate::codec::names::{BYTES, CLOCK_MARK, READY, SCHEMA, TOTAL_ENQUEUED};
use crate::codec::value;
use crate::keys::KeyType;

/// Keys and their planted values.
#[derive(Default)]
struct Planted(HashMap<String, Value>);

#[async_trait]
impl Ask for Planted {
    async fn ask(&self, key: &[u8], cmd: &Cmd) -> Result<Value> {
        let key = String::from_utf8(key.to_vec()).expect("keys are text");
        let planted = self.0.get(&key).cloned();
        let planted = planted.unwrap_or(Value::Array(vec![]));
        let arguments: Vec<_> = cmd.args_iter().collect();
        let name = &arguments[0];
        if *name == redis::Arg::Simple(b"HKEYS".as_slice()) {
            let fields = value::pairs(planted)?.into_iter().map(|pair| pair.0);
            return Ok(Value::Array(fields.map(|field| bulk(&field)).collect()));
        }
        if *name == redis::Arg::Simple(b"HMGET".as_slice()) {
            let asked = |field: &Bytes| arguments.contains(&redis::Arg::Simple(&field[..]));
            let pairs = value::pairs(planted)?.into_iter();
            let values = pairs
                .filter(|pair| asked(&pair.0))
                .map(|pair| bulk(&pair.1));
            return Ok(Value::Array(values.collect()));
        }
        Ok(planted)
    }
}

impl Planted {
    /// Plants items separated by bars: a list, or fields and values, or members and scores.
    fn plant(&mut self, name: &str, items: &str) {
        let items = items.split('|').map(|item| bulk(item.as_bytes()));
        self.0.insert(key(name), Value::Array(items.collect()));
    }

    /// Plants stats: a clock mark and a few counts.
    fn plant_stats(&mut self, mark_us: f64) {
        let mut numbers = [0.0; 47];
        (numbers[SCHEMA - 1], numbers[CLOCK_MARK - 1]) = (2.0, mark_us);
        (numbers[BYTES - 1], numbers[TOTAL_ENQUEUED - 1]) = (42.0, 9.0);
        (numbers[READY - 1], numbers[READY + 4]) = (1.0, 2.0);
        let packed: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        let items = vec![bulk(STATS_FIELD.as_bytes()), bulk(&packed)];
        self.0.insert(key("state"), Value::Array(items));
    }
}

fn bulk(bytes: &[u8]) -> Value {
    Value::BulkString(bytes.to_vec())
}

fn key(name: &str) -> String {
    format!("windlass:{{mail}}:{name}")
}

fn id(text: &str) -> JobId {
    JobId::new(text).unwrap()
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_ms(ms)
}

fn token(number: u64) -> Token {
    Token { number, nonce: 1 }
}

/// A queue with a job in every state except cancelled and succeeded. The single claim 9 leases `w`, the
/// boot's claim 8 leases `b`, and its claim 7 is finished.
fn full_queue() -> Planted {
    let mut planted = Planted::default();
    planted.plant_stats(20_000_000.0);
    let texts = [
        ("settings", "requeue|back"),
        (
            "jobs",
            "|x|r2|\ntwo|r1|\none|s|\n|w|\nrun|b|\nboot|d|\nx|bad|\ny",
        ),
        (
            "opts",
            "|x|r1|n\nc5000\nd7000\n|r2|n\nc6000\ng2\n|s|n\nc1\n|w|n\nc2\nukey\n|b|n\nc3\n|\
             d|n\nc4\n|bad|n\nc9000\np0\nx2\n",
        ),
        ("ready:5", "r2|\t2\tr2|gone|r1"),
        ("ghosts", "r2|1 1|gone|1 0"),
        ("suspects", "bad|549755813887"),
        ("scheduled", "s|21000"),
        ("unique", "key|w"),
        (
            "running",
            "|x|w|9000123-00000001\t5o3\td\tann|b|8000123-00000001\t5o4",
        ),
        (
            "open",
            "|x|9000123-00000001|1\t0\tt:9000123-00000001|8000123-00000001|1\t4\tb:one",
        ),
        (
            "claims",
            "|x|9000123-00000001|0\t1\tt:9000123-00000001\nw\n|\
             8000123-00000001|4\t3\tb:one\nr2\nb\nd\n|7000123-00000001|3\t1\tb:one\nold\n",
        ),
        ("left", "8000123-00000001|released r2\ndead d\n"),
        (
            "tokens",
            "7000123-00000001|10000|9000123-00000001|inf|8000123-00000001|inf",
        ),
        ("leases", "t:9000123-00000001|0|b:one|50000"),
        (
            "owners",
            "b:one|30000\t4\t8000123-00000001\t\t|t:9000123-00000001|1000\t\t\t\t",
        ),
        ("stopping", "b:one\tb|0"),
        ("progress", "b|0.5\t19000"),
        ("final", "d|dead\t15000\t8000\tpermanent"),
        ("errors", "d|no"),
        ("dead", "d|15000"),
        ("tombstones", "d|dead 20001|older|succeeded 20000"),
    ];
    for (name, items) in texts {
        planted.plant(name, items);
    }
    planted
}

async fn dump(planted: &Planted) -> Result<Option<QueueDump>> {
    let queue = QueueName::new("mail").unwrap();
    let keys = Keys::of_queue("windlass", &queue, 0);
    // The clock is slightly behind the mark, so the mark is used.
    read(planted, &keys, &queue, 19_999_000).await
}

async fn shown() -> QueueDump {
    let dump = dump(&full_queue()).await.unwrap();
    dump.expect("the queue exists")
}

#[tokio::test]
async fn a_queue_without_stats_does_not_exist() {
    assert_eq!(dump(&Planted::default()).await.unwrap(), None);
}

#[tokio::test]
async fn every_job_is_shown_in_its_state() {
    let dump = shown().await;

    let states: Vec<_> = dump
        .jobs
        .iter()
        .map(|job| (job.id.as_str(), job.state.as_str()))
        .collect();
    let expected = [
        ("b", "running"),
        ("bad", "ready"),
        ("d", "dead"),
        ("r1", "ready"),
        ("r2", "ready"),
        ("s", "scheduled"),
        ("w", "running"),
    ];
    assert_eq!(states, expected);
    let job = |name: &str| dump.jobs.iter().find(|job| job.id == id(name)).expect(name);
    let (boots, single) = (job("b"), job("w"));
    assert_eq!(boots.worker.as_ref().map(|boot| boot.as_str()), Some("one"));
    assert!(boots.is_cancel_requested && boots.progress.is_some());
    assert_eq!(boots.accepted_at, Some(at(8_000)));
    assert_eq!(
        single.worker.as_ref().map(|boot| boot.as_str()),
        Some("ann")
    );
    assert!(!single.is_cancel_requested && single.accepted_at.is_none());
    assert_eq!(job("s").due_at, at(21_000));
    assert_eq!(job("d").error.as_deref(), Some("no"));
    assert_eq!(job("r1").payload.as_deref(), Some(&b"one"[..]));
}

#[tokio::test]
async fn stale_entries_are_left_out() {
    let dump = shown().await;
    assert_eq!(dump.ready[5], (vec![], vec![id("r2"), id("r1")]));
    assert_eq!(dump.ready[0], (vec![id("bad")], vec![]));
    let others = dump.ready.iter().map(|(one, two)| one.len() + two.len());
    assert_eq!(others.sum::<usize>(), 3);
}

#[tokio::test]
async fn claims_and_leases_are_shown_by_their_owners() {
    let dump = shown().await;
    let claims: Vec<_> = dump
        .claims
        .iter()
        .map(|claim| (claim.token, claim.size, claim.remaining, claim.finished_at))
        .collect();
    let expected = [
        (token(7_000_123), 1, 0, Some(at(10_000))),
        (token(8_000_123), 3, 1, None),
        (token(9_000_123), 1, 1, None),
    ];
    assert_eq!(claims, expected);
    let left = vec![
        (id("d"), OutcomeStatus::Dead),
        (id("r2"), OutcomeStatus::Released),
    ];
    assert_eq!(dump.claims[1].left, left);
    let leases = [
        LeaseDump {
            owner: Owner::from_stored("b:one".to_owned()),
            until: at(50_000),
            length: Duration::from_secs(30),
            last: Some((4, token(8_000_123))),
        },
        LeaseDump {
            owner: Owner::token(token(9_000_123)),
            until: at(0),
            length: Duration::from_secs(1),
            last: None,
        },
    ];
    assert_eq!(dump.leases, leases);
}

#[tokio::test]
async fn expired_tombstones_and_claims_are_left_out() {
    let now = shown().await;
    assert_eq!(now.tombstones, [(id("d"), JobState::Dead, at(20_001))]);
    assert_eq!(now.claims.len(), 3);

    let mut planted = full_queue();
    planted.plant_stats(70_000_000.0);
    let queue = QueueName::new("mail").unwrap();
    let keys = Keys::of_queue("windlass", &queue, 0);
    let later = read(&planted, &keys, &queue, 70_000_000).await.unwrap();

    let later = later.expect("the queue exists");
    assert!(later.tombstones.is_empty());
    assert_eq!(later.claims.len(), 2);
}

#[tokio::test]
async fn stats_and_settings_are_shown() {
    let dump = shown().await;
    let stats = dump.stats;
    assert_eq!((stats.ready, stats.scheduled, stats.running), (3, 1, 2));
    assert_eq!((stats.succeeded, stats.dead, stats.cancelled), (0, 1, 0));
    assert_eq!((stats.bytes, stats.total.enqueued), (42, 9));
    // The heads are `bad`, due at 9 s, and `r2`, due at 6 s.
    assert_eq!(stats.oldest_ms, Some(14_000));
    assert_eq!(stats.next_due_ms, Some(1_000));
    let back = (Bytes::from("requeue"), Bytes::from("back"));
    assert_eq!(dump.settings, rules::settings(&[back]).unwrap());
    let held = UniqueKey::new("key").unwrap();
    assert_eq!(dump.unique_keys, [(held, id("w"))]);
}

#[tokio::test]
async fn a_queue_with_a_damaged_value_is_not_shown() {
    for (name, items) in [
        ("settings", "requeue|sideways"),
        ("suspects", "bad|-5"),
        ("ghosts", "r2|many"),
        ("leases", "b:nobody|5"),
        ("tokens", "7000123-00000001|0.5"),
        ("tombstones", "d|ready 5"),
        ("open", "8000123-00000001|1"),
        ("left", "8000123-00000001|b"),
    ] {
        let mut planted = full_queue();
        planted.plant(name, items);
        let error = dump(&planted).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoreDamaged, "{name}");
    }
}

#[tokio::test]
async fn a_server_shows_the_same_as_what_was_planted_there() {
    let server = Server::start();
    let planted = full_queue();
    let queue = QueueName::new("mail").unwrap();
    let keys = Keys::of_queue("windlass", &queue, 0);
    for (_, kind, key) in keys.all() {
        let name = str::from_utf8(key).expect("keys are text");
        let Some(Value::Array(items)) = planted.0.get(name).cloned() else {
            continue;
        };
        let mut args = value::items(Value::Array(items)).unwrap();
        let command = match kind {
            KeyType::Hash => "HSET",
            KeyType::List => "RPUSH",
            _ => {
                args.chunks_mut(2).for_each(<[Bytes]>::reverse);
                "ZADD"
            }
        };
        server.command(&[&[Bytes::from(command), key.clone()], &args[..]].concat());
    }
    let address = LinkAddress::parse(&server.url()).expect("the URL is valid");
    let link = Link::open(&address, LinkMode::Store)
        .await
        .expect("the server is up");

    let shown = read(&link, &keys, &queue, 19_999_000).await.unwrap();

    assert_eq!(shown, dump(&planted).await.unwrap());
}
