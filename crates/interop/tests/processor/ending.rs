//! How a dispatcher runs and ends, and the sessions that docs/processor.md shows.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;
use windlass_api::lines::Cause;
use windlass_core::{NewJob, QueueName};
use windlass_testkit::transcript::of_document;

use super::script::{self, Fixture};

fn queue() -> QueueName {
    QueueName::new("q").unwrap()
}

#[tokio::test]
async fn the_sessions_of_the_page_on_the_processor_are_true() {
    let page = include_str!("../../../../docs/processor.md");
    let sessions = of_document(page);
    assert!(sessions.len() >= 3, "{}", sessions.len());
    for session in sessions {
        script::processor(&session).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_processor_ticks_by_itself() {
    let fixture = Fixture::new();
    let processor = fixture.processor();
    let (mut input, reader) = tokio::io::duplex(64 * 1024);
    let (writer, output) = tokio::io::duplex(64 * 1024);
    let running = tokio::spawn(async move {
        let stop = CancellationToken::new();
        processor.run(reader, writer, stop).await
    });
    let mut output = BufReader::new(output).lines();
    let idle = br#"{"topic":"workers/w1/worker_idle","payload":{"queue_name":"q"}}"#;
    input.write_all(idle).await.unwrap();
    input.write_all(b"\n").await.unwrap();
    assert!(
        output
            .next_line()
            .await
            .unwrap()
            .unwrap()
            .contains("worker_idle_reply")
    );
    fixture
        .store
        .enqueue(&queue(), vec![NewJob::new("from another interface")])
        .await
        .unwrap();
    let assignment = output.next_line().await.unwrap().unwrap();
    assert!(
        assignment.contains("workers/w1/job_assignment"),
        "{assignment}"
    );
    drop(input);
    running.await.unwrap();
}

#[tokio::test]
async fn an_assignment_that_nobody_reads_goes_back() {
    let fixture = Fixture::new();
    let processor = fixture.processor();
    fixture
        .store
        .enqueue(&queue(), vec![NewJob::new("x")])
        .await
        .unwrap();
    let (writer, output) = tokio::io::duplex(1024);
    drop(output);
    let input = &br#"{"topic":"workers/w1/worker_idle","payload":{"queue_name":"q"}}"#[..];
    let ended = processor.run(input, writer, CancellationToken::new()).await;
    assert!(matches!(ended.cause, Cause::OutputClosed), "{ended:?}");
    assert_eq!(ended.undelivered.len(), 1);
    let stats = fixture.store.stats(&queue()).await.unwrap().unwrap();
    assert_eq!((stats.ready, stats.running), (1, 0));
}
