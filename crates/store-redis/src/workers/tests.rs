//! Arguments and replies of the registry: values round-trip, damaged records are rejected.

mod registry;

use std::time::Duration;

use windlass_core::ErrorKind;

use super::*;

fn boot(text: &str) -> BootId {
    BootId::new(text).unwrap()
}

fn queue(text: &str) -> QueueName {
    QueueName::new(text).unwrap()
}

fn bulk(bytes: impl AsRef<[u8]>) -> Value {
    Value::BulkString(bytes.as_ref().to_vec())
}

fn new_worker() -> NewWorker {
    NewWorker {
        boot: boot("one"),
        name: "mailer of é".to_owned(),
        host: String::new(),
        pid: 77,
        version: "0.1.0".to_owned(),
        queues: vec![queue("mail"), queue("bills")],
    }
}

/// The record that `register` and `heartbeat` write for these arguments.
fn record(new: &NewWorker, command: &str, running: &[u8]) -> Vec<u8> {
    let args = register_args(new);
    let lines: [&[u8]; 4] = [command.as_bytes(), b"5000\t", &args[2], running];
    let [command, started, queues, running] = lines;
    let facts = [started, &args[1]].concat();
    [command, &facts, queues, running].join(&b'\n')
}

/// A page with one worker, last seen at 6000.
fn page(next: &str, now: &str, record: &[u8]) -> Value {
    let parts = [next, now, "one", "6000"].map(bulk);
    Value::Array(parts.into_iter().chain([bulk(record)]).collect())
}

#[test]
fn a_worker_is_read_back_as_it_registered_and_sent_heartbeats() {
    let heartbeat = Heartbeat {
        boot: boot("one"),
        running: vec![
            (queue("mail"), JobId::new("a b").unwrap()),
            (queue("bills"), JobId::new("c").unwrap()),
        ],
    };
    let running = heartbeat_args(&heartbeat).remove(1);
    let mut workers = Workers::default();

    let has_more = workers
        .add_page(page(
            "0",
            "65999",
            &record(&new_worker(), "pause", &running),
        ))
        .unwrap();

    assert!(!has_more);
    let expected = WorkerRecord {
        new: new_worker(),
        running: heartbeat.running,
        command: WorkerCommand::Pause,
        started_at: Timestamp::from_ms(5_000),
        last_seen: Timestamp::from_ms(6_000),
        silent_for: Duration::from_millis(59_999),
    };
    assert_eq!(workers.into_vec(), [expected]);
}

#[test]
fn a_worker_without_queues_and_jobs_is_idle_and_falls_silent() {
    let new = NewWorker {
        queues: vec![],
        ..new_worker()
    };
    let mut workers = Workers::default();

    workers
        .add_page(page("0", "66000", &record(&new, "continue", b"")))
        .unwrap();

    let worker = workers.into_vec().remove(0);
    assert!(worker.is_silent());
    assert_eq!((worker.new, worker.running), (new, vec![]));
}

#[test]
fn pages_follow_each_other_and_repeats_count_once() {
    let mut workers = Workers::default();
    let record = record(&new_worker(), "continue", b"");
    assert_eq!(workers.page_args(), [Bytes::from("0")]);

    assert!(workers.add_page(page("17", "6000", &record)).unwrap());
    assert_eq!(workers.page_args(), [Bytes::from("17")]);

    assert!(!workers.add_page(page("0", "6000", &record)).unwrap());
    assert_eq!(workers.into_vec().len(), 1);
}

#[test]
fn replies_are_read() {
    assert_eq!(read_command(bulk("stop")).unwrap(), WorkerCommand::Stop);
    assert!(read_command(bulk("sing")).is_err());
    assert!(read_command_reply(bulk("queued")).unwrap());
    assert!(!read_command_reply(bulk("unknown")).unwrap());
    assert!(read_command_reply(bulk("")).is_err());
    assert_eq!(read_queues(Value::Nil).unwrap(), None);
    assert_eq!(read_queues(bulk("")).unwrap(), Some(vec![]));
    let both = Some(vec![queue("mail"), queue("bills")]);
    assert_eq!(read_queues(bulk("mail\tbills")).unwrap(), both);
    assert!(read_queues(bulk("mail\t")).is_err());
}

#[test]
fn arguments_are_as_the_scripts_take_them() {
    let one = boot("one");
    let args = |args: Vec<Bytes>| args.iter().map(|arg| arg.to_vec()).collect::<Vec<_>>();
    assert_eq!(
        args(register_args(&new_worker())),
        [
            b"one".to_vec(),
            "77\tmailer of é\t\t0.1.0".into(),
            b"mail\tbills".to_vec()
        ]
    );
    assert_eq!(
        args(command_args(&one, WorkerCommand::Pause)),
        [b"one", &b"pause"[..]]
    );
    assert_eq!(args(find_args(&one)), [b"one"]);
    assert_eq!(args(leave_args(&one, None)), [b"one", &b""[..]]);
    let mail = queue("mail");
    assert_eq!(args(leave_args(&one, Some(&mail))), [b"one", &b"mail"[..]]);
}

#[test]
fn a_damaged_record_is_rejected_and_the_error_names_the_worker() {
    for bad in [
        "",
        "continue",
        "sing\n5\t77\ta\tb\tc\n\n",
        "continue\n5\t77\ta\tb\n\n",
        "continue\nsoon\t77\ta\tb\tc\n\n",
        "continue\n5\tx\ta\tb\tc\n\n",
        "continue\n5\t77\ta\tb\tc\nma il\n",
        "continue\n5\t77\ta\tb\tc\n\nmail",
        "continue\n5\t77\ta\tb\tc\n",
    ] {
        let error = Workers::default()
            .add_page(page("0", "6000", bad.as_bytes()))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoreDamaged, "{bad:?}");
        assert!(error.to_string().contains("\"one\""), "{error}");
    }
}
