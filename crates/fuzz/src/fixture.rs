//! A memory store whose time passes without waiting, and the check of its whole state.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::dump::Dump;
use windlass_core::{ManualClock, Store, Timestamp};
use windlass_store_memory::MemoryStore;
use windlass_testkit::soundness;

/// 2026-01-31T08:05:00Z.
const START: Timestamp = Timestamp::from_ms(1_769_846_700_000);

/// How far the clock of the store moves before each line: leases end within a few lines.
const STEP: Duration = Duration::from_secs(7);

/// In an input, stands for the latest token in a reply.
const TOKEN: &str = "$token";

/// The most lines of one input that are read.
pub const LINES_MAX: usize = 64;

/// A memory store with a manual clock.
#[derive(Debug)]
pub struct Fixture {
    /// The store.
    pub store: Arc<MemoryStore>,
    /// Its clock.
    pub clock: Arc<ManualClock>,
    token: String,
}

impl Fixture {
    /// Creates an empty store.
    #[expect(clippy::new_without_default, reason = "it is not a plain value")]
    pub fn new() -> Self {
        let clock = Arc::new(ManualClock::new(START));
        Self {
            store: Arc::new(MemoryStore::new(clock.clone())),
            clock,
            token: String::new(),
        }
    }

    /// Moves the clock on, and returns the line with the latest token filled in.
    pub fn next(&self, line: &str) -> String {
        self.clock.advance(STEP);
        line.replace(TOKEN, &self.token)
    }

    /// Parses a reply, which must be JSON, and remembers its token.
    pub fn replied(&mut self, reply: &str) {
        // Not as a value: a reference that is repeated may be a number of any size.
        let parsed: Result<&RawValue, _> = serde_json::from_str(reply);
        assert!(parsed.is_ok(), "the reply is not JSON: {parsed:?}: {reply}");
        let reply: Value = serde_json::from_str(reply).unwrap_or_default();
        if let Some(token) = find_token(&reply) {
            token.clone_into(&mut self.token);
        }
    }

    /// Asserts that every queue is consistent.
    pub async fn assert_sound(&self) {
        for queue in self.store.queues().await.expect("queues can be listed") {
            let dump = self
                .store
                .dump(&queue)
                .await
                .expect("a queue can be dumped");
            let problems = dump.as_ref().map(soundness::problems).unwrap_or_default();
            assert_eq!(problems, [""; 0], "{queue}");
        }
    }
}

/// Runs a future in a runtime whose timers end at once when nothing else is left to do.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.expect("a runtime can be built").block_on(future)
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
