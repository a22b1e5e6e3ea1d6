//! The events of a worker, as a program sees them that installs a subscriber.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails at that line"
)]

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass::{Bytes, Client, JobError, RetryPolicy, Worker};

/// Collects what a subscriber writes.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn send(letter: Bytes) -> Result<(), JobError> {
    if letter.is_empty() {
        Err(JobError::new("no ink\nin the pen"))
    } else {
        Ok(())
    }
}

/// The only test of its process, because a subscriber is installed once.
#[tokio::test]
async fn by_default_each_failure_is_one_event_and_a_job_that_succeeds_is_none() {
    let written = Written::default();
    let writer = written.clone();
    tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .without_time()
        .init();
    let client = Client::connect("memory:").await.unwrap();
    for _ in 0..500 {
        client
            .enqueue_raw("mail", "dear Ann")
            .kind("letter")
            .await
            .unwrap();
    }
    let retry = RetryPolicy::fixed(Duration::from_millis(10)).max_attempts(2);
    let empty = client.enqueue_raw("mail", "").kind("letter").id("empty");
    empty.retry(retry).await.unwrap();

    let worker = Worker::new(client)
        .queue("mail")
        .handle_raw("letter", send)
        .burst();
    assert_eq!(worker.run().await.unwrap().succeeded, 500);

    let written = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<&str> = written.lines().map(str::trim_start).collect();
    let facts = "queue=mail id=empty kind=\"letter\" attempt";
    assert_eq!(
        lines,
        [
            format!(
                "INFO windlass: worker started version={:?} store=\"memory:\" queues=\"mail\" concurrency=16",
                env!("CARGO_PKG_VERSION")
            ),
            format!(
                "WARN windlass: attempt failed {facts}=1 max_attempts=2 error=\"no ink\" retry_in_ms=10"
            ),
            format!("ERROR windlass: job is dead {facts}=2 max_attempts=2 error=\"no ink\""),
            "INFO windlass: worker stopped succeeded=500 failed=1 dead=1 released=0 snoozed=0 cancelled=0 lost=0"
                .to_owned(),
        ]
    );
}
