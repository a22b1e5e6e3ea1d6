//! How sessions end, wait and return jobs; pipes that are not read, and timers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;
use windlass::store::Stats;
use windlass::{NewJob, QueueName, Store};
use windlass_api::lines::{Cause, SessionEnd, UndeliveredJob};
use windlass_cli::{CancellationToken, Options, serve};

use super::script::Fixture;

struct Session {
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    stop: CancellationToken,
    ended: JoinHandle<SessionEnd>,
}

impl Session {
    fn start(store: &Arc<dyn Store>, is_ordered: bool) -> Self {
        let (input, reader) = tokio::io::duplex(1024);
        let (writer, output) = tokio::io::duplex(1024);
        let (store, stop) = (Arc::clone(store), CancellationToken::new());
        let options = Options {
            is_ordered,
            ..Options::default()
        };
        let stopping = stop.clone();
        let ended =
            tokio::spawn(
                async move { serve(store.as_ref(), reader, writer, options, stopping).await },
            );
        Self {
            input,
            output: BufReader::new(output).lines(),
            stop,
            ended,
        }
    }

    async fn send(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    /// Sends a line until the session stops reading. Returns how often it was sent.
    async fn fill(&mut self, line: &str, most: u32) -> u32 {
        let mut sent = 0;
        let timeout = Duration::from_secs(5);
        while tokio::time::timeout(timeout, self.send(line)).await.is_ok() {
            sent += 1;
            assert!(sent < most, "it never stops reading");
        }
        sent
    }

    fn close_output(&mut self) {
        self.output = BufReader::new(tokio::io::duplex(1).0).lines();
    }

    async fn receive(&mut self) -> Value {
        let line = self.output.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

fn queue() -> QueueName {
    QueueName::new("q").unwrap()
}

async fn stats(fixture: &Fixture) -> Stats {
    fixture.store.stats(&queue()).await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn unordered_a_waiting_claim_delays_no_other_request() {
    let fixture = Fixture::new();
    let mut session = Session::start(&fixture.store, false);
    session
        .send(r#"{"op":"claim","ref":"c","queue":"q","wait":"30s"}"#)
        .await;
    session.send(r#"{"op":"queues","ref":"s"}"#).await;
    assert_eq!(session.receive().await["ref"], "s");
    session
        .send(r#"{"op":"enqueue","ref":"e","queue":"q","id":"a"}"#)
        .await;
    let mut replies = [session.receive().await, session.receive().await];
    replies.sort_by_key(|reply| reply["ref"].to_string());
    assert_eq!(replies[0]["jobs"][0]["id"], "a");
}

#[tokio::test(start_paused = true)]
async fn ordered_a_waiting_claim_delays_those_behind_it() {
    let fixture = Fixture::new();
    let mut session = Session::start(&fixture.store, true);
    session
        .send(r#"{"op":"claim","ref":"c","queue":"q","wait":"30s"}"#)
        .await;
    session.send(r#"{"op":"queues","ref":"s"}"#).await;
    let first = session.receive().await;
    assert_eq!(
        (&first["ref"], &first["jobs"]),
        (&"c".into(), &Value::Array(vec![]))
    );
    assert_eq!(session.receive().await["ref"], "s");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_finishes_what_is_in_flight() {
    let fixture = Fixture::new();
    let mut session = Session::start(&fixture.store, true);
    session
        .send(r#"{"op":"claim","ref":1,"queue":"q","wait":"5s"}"#)
        .await;
    session
        .input
        .write_all(br#"{"op":"queues","ref":2}"#)
        .await
        .unwrap();
    drop(session.input);
    let mut rest = Vec::new();
    while let Some(line) = session.output.next_line().await.unwrap() {
        rest.push(line);
    }
    assert_eq!(rest.len(), 2, "{rest:?}");
    let ended = session.ended.await.unwrap();
    assert!(matches!(ended.cause, Cause::InputEnded), "{ended:?}");
    assert_eq!((ended.replies, ended.errors), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_stop_cuts_waits_short_and_answers_them() {
    let fixture = Fixture::new();
    fixture
        .store
        .enqueue(
            &queue(),
            vec![
                NewJob::new("x")
                    .id(windlass::JobId::new("a").unwrap())
                    .delay(Duration::from_secs(3600)),
            ],
        )
        .await
        .unwrap();
    let mut session = Session::start(&fixture.store, false);
    session
        .send(r#"{"op":"claim","ref":1,"queue":"q","wait":"60s"}"#)
        .await;
    session
        .send(r#"{"op":"wait","ref":2,"queue":"q","id":"a","timeout":"60s"}"#)
        .await;
    session.send(r#"{"op":"queues","ref":3}"#).await;
    assert_eq!(session.receive().await["ref"], 3);
    let start = tokio::time::Instant::now();
    session.stop.cancel();
    let mut replies = [session.receive().await, session.receive().await];
    replies.sort_by_key(|reply| reply["ref"].to_string());
    assert_eq!(replies[0]["jobs"], Value::Array(vec![]));
    assert_eq!(replies[1]["error"]["code"], "timed_out");
    assert!(matches!(session.ended.await.unwrap().cause, Cause::Stopped));
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn a_claim_that_nobody_reads_gives_its_jobs_back_in_their_order() {
    let fixture = Fixture::new();
    let jobs = ["1", "2", "3"].map(|id| NewJob::new("x").id(windlass::JobId::new(id).unwrap()));
    fixture
        .store
        .enqueue(&queue(), jobs.to_vec())
        .await
        .unwrap();
    let mut session = Session::start(&fixture.store, true);
    session.close_output();
    session.send(r#"{"op":"claim","queue":"q","max":2}"#).await;
    let ended = session.ended.await.unwrap();
    assert!(matches!(ended.cause, Cause::OutputClosed), "{ended:?}");
    assert_eq!(ended.undelivered.len(), 2, "{ended:?}");
    assert!(
        ended
            .undelivered
            .iter()
            .all(|job| matches!(job, UndeliveredJob::Released(_)))
    );
    let claim = windlass::store::ClaimRequest::single(3);
    let claim = fixture.store.claim(&queue(), claim).await.unwrap().unwrap();
    let ids: Vec<_> = claim.jobs.iter().map(|job| job.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_waits_while_the_reader_goes_away_holds_nothing() {
    let fixture = Fixture::new();
    let mut session = Session::start(&fixture.store, false);
    session
        .send(r#"{"op":"claim","ref":1,"queue":"q","wait":"60s"}"#)
        .await;
    session.close_output();
    session
        .send(r#"{"op":"enqueue","queue":"q","id":"a"}"#)
        .await;
    let ended = session.ended.await.unwrap();
    assert!(matches!(ended.cause, Cause::OutputClosed), "{ended:?}");
    let stats = stats(&fixture).await;
    assert_eq!((stats.ready, stats.running), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_does_not_read_stops_the_session_from_reading() {
    let fixture = Fixture::new();
    let mut session = Session::start(&fixture.store, true);
    let line = format!(r#"{{"op":"queues","ref":"{}"}}"#, "r".repeat(500));
    // The pipes buffer 1 KiB each, and the session buffers a bounded amount, so this ends.
    let sent = session.fill(&line, 1_000).await;
    assert!(sent > 50, "{sent}");
}

#[tokio::test(start_paused = true)]
async fn only_so_many_requests_are_in_flight() {
    let fixture = Fixture::new();
    let mut session = Session::start(&fixture.store, false);
    let line = r#"{"op":"claim","queue":"q","wait":"60s"}"#;
    let sent = session.fill(line, 3_000).await;
    // The pipe and one read from it buffer 1 KiB of further requests each.
    let held = u32::try_from(2 * 1024 / (line.len() + 1)).unwrap();
    assert!((64..64 + 4 + held).contains(&sent), "{sent}");
}

#[tokio::test]
async fn a_gigabyte_in_one_line_is_read_and_thrown_away() {
    let fixture = Fixture::new();
    let long = tokio::io::repeat(b'[').take(1_000_000_000);
    let rest = &b"\n{\"op\":\"queues\",\"ref\":2}"[..];
    let mut output = Vec::new();
    let stop = CancellationToken::new();
    let store = fixture.store.as_ref();
    serve(
        store,
        long.chain(rest),
        &mut output,
        Options::default(),
        stop,
    )
    .await;
    let output = String::from_utf8(output).unwrap();
    let lines: Vec<_> = output.lines().collect();
    assert!(
        lines[0].contains("1000000000 bytes is too long; maximum"),
        "{output}"
    );
    assert!(lines[1].starts_with(r#"{"ref":2,"ok":true"#), "{output}");
}
