//! A written conversation and its replay: `>` is said, `<` is answered, `~` moves the clock, and `:`
//! is a step of a processor's workers in short, which goes well.
//!
//! An answer may have more fields than are written. The text `…` stands for any text; in what is
//! said, it stands for the latest token that was answered.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use windlass_core::{ManualClock, Store, Timestamp, duration};
use windlass_stdio::{
    CancellationToken, Identity, Log, Options, Processor, ProcessorOptions, serve,
};
use windlass_store_memory::MemoryStore;

/// 2026-01-31T08:05:00Z.
pub(crate) const START: Timestamp = Timestamp::from_ms(1_769_846_700_000);

/// A store that stands still.
pub(crate) struct World {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Arc<dyn Store>,
}

impl World {
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

/// Replays a conversation with a new processor on a new store.
pub(crate) async fn processor(script: &str) {
    let world = World::new();
    let processor = world.processor();
    replay_processor(&world, &processor, script).await;
}

/// Replays a conversation with a processor.
pub(crate) async fn replay_processor(world: &World, processor: &Processor, script: &str) {
    let mut answers = Vec::new().into_iter();
    let script = script.lines().map(|line| in_full(line.trim()));
    let script = script.collect::<Vec<_>>().join("\n");
    for (at, line) in script.lines().enumerate() {
        match line.split_at_checked(1) {
            Some((">", said)) => {
                let left: Vec<String> = answers.collect();
                assert!(
                    left.is_empty(),
                    "before line {at} {line}: also said {left:?}"
                );
                answers = processor.handle(1, said.trim()).await.into_iter();
            }
            Some(("<", expected)) => compare(at, expected, answers.next().as_deref()),
            Some(("~", by)) => world.advance(by),
            _ => assert!(line.is_empty(), "what is {line:?}?"),
        }
    }
    let left: Vec<String> = answers.collect();
    assert!(left.is_empty(), "at the end: also said {left:?}");
}

/// A step as it is said and answered; all other lines are as they are.
fn in_full(line: &str) -> String {
    let Some(step) = line.strip_prefix(": ") else {
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
    let lines = match step.split(' ').collect::<Vec<_>>()[..] {
        [worker, "is", "idle", "at", queue] => vec![idle(worker, queue), ok.to_owned()],
        [job, "is", "added", "to", queue] => vec![of_job("add_job", job, queue), ok.to_owned()],
        [worker, "accepts", job, "of", queue] => {
            let topic = format!("workers/{worker}/job_accepted");
            vec![of_job(&topic, job, queue), ok.to_owned()]
        }
        [worker, "is", "offered", job, "of", queue] => {
            let topic = format!("default/job_queue/workers/{worker}/job_assignment");
            vec![
                in_full(&format!(": {worker} is idle at {queue}")),
                in_full(&format!(": {job} is added to {queue}")),
                format!(r#"< {{"topic":"{topic}","payload":{{"uuid":"{job}"}}}}"#),
            ]
        }
        _ => panic!("what is {step:?}?"),
    };
    lines.join("\n")
}

/// Replays a conversation with the door of all verbs.
pub(crate) async fn stdio(script: &str) {
    let world = World::new();
    let (mut input, reader) = tokio::io::duplex(4 * 1024 * 1024);
    let (writer, output) = tokio::io::duplex(64 * 1024);
    let store = Arc::clone(&world.store);
    let session = tokio::spawn(async move {
        let stop = CancellationToken::new();
        serve(store.as_ref(), reader, writer, Options::default(), stop).await
    });
    let mut output = BufReader::new(output).lines();
    let mut token = String::new();
    for (at, line) in script.lines().map(str::trim).enumerate() {
        match line.split_at_checked(1) {
            Some((">", said)) => {
                let said = said.replace("\"token\":\"…\"", &format!("\"token\":\"{token}\""));
                input.write_all(said.as_bytes()).await.unwrap();
                input.write_all(b"\n").await.unwrap();
            }
            Some(("<", expected)) => {
                let answer = output.next_line().await.unwrap();
                compare(at, expected, answer.as_deref());
                let answer: Value = serde_json::from_str(&answer.unwrap()).unwrap();
                if let Some(found) = find_token(&answer) {
                    found.clone_into(&mut token);
                }
            }
            Some(("~", by)) => world.advance(by),
            _ => assert!(line.is_empty(), "what is {line:?}?"),
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

fn compare(at: usize, expected: &str, answer: Option<&str>) {
    let answer = answer.unwrap_or_else(|| panic!("line {at}: nothing was said for {expected}"));
    let read = |text: &str| -> Value {
        let read = serde_json::from_str(text);
        read.unwrap_or_else(|error| panic!("line {at}: {error}: {text}"))
    };
    if let Err(why) = fits(&read(expected), &read(answer)) {
        panic!("line {at}: {why}\nexpected {expected}\nanswered {answer}");
    }
}

fn fits(expected: &Value, answer: &Value) -> Result<(), String> {
    match (expected, answer) {
        (Value::String(any), Value::String(_)) if any == "…" => Ok(()),
        (Value::Object(expected), Value::Object(answer)) => {
            for (name, expected) in expected {
                let answer = answer.get(name).ok_or(format!("{name} is missing"))?;
                fits(expected, answer).map_err(|why| format!("{name}: {why}"))?;
            }
            Ok(())
        }
        (Value::Array(expected), Value::Array(answer)) if expected.len() == answer.len() => {
            let mut pairs = expected.iter().zip(answer);
            pairs.try_for_each(|(expected, answer)| fits(expected, answer))
        }
        _ if expected == answer => Ok(()),
        _ => Err(format!("{answer} is not {expected}")),
    }
}

/// The conversations of a document: its blocks that begin with what is said.
pub(crate) fn of_document(text: &str) -> Vec<String> {
    let blocks = text.split("```").skip(1).step_by(2);
    let said = blocks.filter_map(|block| block.split_once('\n').map(|(_, body)| body.to_owned()));
    said.filter(|body| body.starts_with("> ")).collect()
}

#[tokio::test]
#[should_panic(expected = "is not \"queued\"")]
async fn a_replay_notices_another_answer() {
    processor(
        r#"> {"topic":"add_job","payload":{"uuid":"j","queue_name":"q"}}
           < {"payload":{"ok":true,"state":"queued"}}
           > {"topic":"del_job","payload":{"uuid":"j","queue_name":"q"}}
           < {"payload":{"ok":true,"state":"queued"}}"#,
    )
    .await;
}
