//! Replays a written session: `>` is sent, `<` is the expected reply, and `~` advances the clock.
//!
//! A reply may have more fields than are written. The text `…` matches any text; in a request it
//! stands for the latest token in a reply.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use windlass::memory::MemoryStore;
use windlass::store::ManualClock;
use windlass::{Store, Timestamp, duration};
use windlass_cli::{CancellationToken, Options, serve};
use windlass_testkit::transcript::compare;

/// 2026-01-31T08:05:00Z.
const START: Timestamp = Timestamp::from_ms(1_769_846_700_000);

/// A memory store with a manual clock.
pub(crate) struct Fixture {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Arc<dyn Store>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self { clock, store }
    }

    fn advance(&self, text: &str) {
        self.clock.advance(duration::parse(text.trim()).unwrap());
    }
}

/// Replays a session with `windlass stdio`.
pub(crate) async fn stdio(script: &str) {
    let fixture = Fixture::new();
    let (mut input, reader) = tokio::io::duplex(4 * 1024 * 1024);
    let (writer, output) = tokio::io::duplex(64 * 1024);
    let store = Arc::clone(&fixture.store);
    let session = tokio::spawn(async move {
        let stop = CancellationToken::new();
        serve(store.as_ref(), reader, writer, Options::default(), stop).await
    });
    let mut output = BufReader::new(output).lines();
    let mut token = String::new();
    for (at, line) in script.lines().map(str::trim).enumerate() {
        match line.split_at_checked(1) {
            Some((">", sent)) => {
                let sent = sent.replace("\"token\":\"…\"", &format!("\"token\":\"{token}\""));
                input.write_all(sent.as_bytes()).await.unwrap();
                input.write_all(b"\n").await.unwrap();
            }
            Some(("<", expected)) => {
                let reply = output.next_line().await.unwrap();
                compare(at, expected, reply.as_deref());
                let reply: Value = serde_json::from_str(&reply.unwrap()).unwrap();
                if let Some(found) = find_token(&reply) {
                    found.clone_into(&mut token);
                }
            }
            Some(("~", by)) => fixture.advance(by),
            _ => assert!(line.is_empty(), "unknown line {line:?}"),
        }
    }
    drop(input);
    assert_eq!(output.next_line().await.unwrap(), None);
    session.await.unwrap();
}

fn find_token(value: &Value) -> Option<&str> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("token").and_then(Value::as_str);
            own.or_else(|| fields.values().find_map(find_token))
        }
        Value::Array(items) => items.iter().find_map(find_token),
        _ => None,
    }
}
