//! Replays a written session: `>` is sent, `<` is the expected reply, `~` advances the clock, and `:`
//! is shorthand for a message to the processor that succeeds.
//!
//! A reply may have more fields than are written. The text `…` matches any text.

use std::sync::Arc;

use windlass_core::{ManualClock, Store, Timestamp, duration};
use windlass_interop::processor::{Identity, Log, Processor, ProcessorOptions};
use windlass_store_memory::MemoryStore;
use windlass_testkit::transcript::compare;

/// 2026-01-31T08:05:00Z.
pub(crate) const START: Timestamp = Timestamp::from_ms(1_769_846_700_000);

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

    pub(crate) fn processor(&self) -> Processor {
        self.processor_with(|_| {})
    }

    pub(crate) fn processor_with(&self, change: impl FnOnce(&mut ProcessorOptions)) -> Processor {
        let mut options = ProcessorOptions::new(Identity {
            service_name: "job_queue".to_owned(),
            service_uuid: "processor-1".to_owned(),
            service_host: "here".to_owned(),
        });
        options.clock = self.clock.clone();
        change(&mut options);
        Processor::new(Arc::clone(&self.store), options, Log::silent()).unwrap()
    }

    fn advance(&self, text: &str) {
        self.clock.advance(duration::parse(text.trim()).unwrap());
    }
}

/// Replays a session with a new processor on a new store.
pub(crate) async fn processor(script: &str) {
    let fixture = Fixture::new();
    let processor = fixture.processor();
    replay_processor(&fixture, &processor, script).await;
}

/// Replays a session with a processor.
pub(crate) async fn replay_processor(fixture: &Fixture, processor: &Processor, script: &str) {
    let mut replies = Vec::new().into_iter();
    let script = script.lines().map(|line| expand(line.trim()));
    let script = script.collect::<Vec<_>>().join("\n");
    for (at, line) in script.lines().enumerate() {
        match line.split_at_checked(1) {
            Some((">", sent)) => {
                let left: Vec<String> = replies.collect();
                assert!(
                    left.is_empty(),
                    "before line {at} {line}: unexpected replies {left:?}"
                );
                replies = processor.handle(1, sent.trim()).await.into_iter();
            }
            Some(("<", expected)) => compare(at, expected, replies.next().as_deref()),
            Some(("~", by)) => fixture.advance(by),
            _ => assert!(line.is_empty(), "unknown line {line:?}"),
        }
    }
    let left: Vec<String> = replies.collect();
    assert!(left.is_empty(), "at the end: unexpected replies {left:?}");
}

/// Expands shorthand into a message and its reply; returns all other lines unchanged.
fn expand(line: &str) -> String {
    let Some(shorthand) = line.strip_prefix(": ") else {
        return line.to_owned();
    };
    let ok = r#"< {"payload":{"ok":true}}"#;
    let idle = |worker, queue| {
        let topic = format!("workers/{worker}/worker_idle");
        format!(r#"> {{"topic":"{topic}","payload":{{"queue_name":"{queue}"}}}}"#)
    };
    let of_job = |topic: &str, job, queue| {
        let payload = format!(r#"{{"uuid":"{job}","queue_name":"{queue}"}}"#);
        format!(r#"> {{"topic":"{topic}","payload":{payload}}}"#)
    };
    let lines = match shorthand.split(' ').collect::<Vec<_>>()[..] {
        [worker, "is", "idle", "at", queue] => vec![idle(worker, queue), ok.to_owned()],
        [job, "is", "added", "to", queue] => vec![of_job("add_job", job, queue), ok.to_owned()],
        [worker, "accepts", job, "of", queue] => {
            let topic = format!("workers/{worker}/job_accepted");
            vec![of_job(&topic, job, queue), ok.to_owned()]
        }
        [worker, "is", "offered", job, "of", queue] => {
            let topic = format!("default/job_queue/workers/{worker}/job_assignment");
            vec![
                expand(&format!(": {worker} is idle at {queue}")),
                expand(&format!(": {job} is added to {queue}")),
                format!(r#"< {{"topic":"{topic}","payload":{{"uuid":"{job}"}}}}"#),
            ]
        }
        _ => panic!("unknown shorthand {shorthand:?}"),
    };
    lines.join("\n")
}

#[tokio::test]
#[should_panic(expected = "is not \"queued\"")]
async fn a_replay_notices_another_reply() {
    processor(
        r#"> {"topic":"add_job","payload":{"uuid":"j","queue_name":"q"}}
           < {"payload":{"ok":true,"state":"queued"}}
           > {"topic":"del_job","payload":{"uuid":"j","queue_name":"q"}}
           < {"payload":{"ok":true,"state":"queued"}}"#,
    )
    .await;
}
