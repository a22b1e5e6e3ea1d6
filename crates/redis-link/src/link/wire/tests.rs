//! Who writes a call, and how often the task and its timer are needed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::*;

const DAY: Duration = Duration::from_secs(86_400);

/// Counts how often the task is woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A connection whose task runs when the test polls it.
struct Fixture {
    wire: Arc<Wire>,
    driver: Driver,
    wakes: Arc<Wakes>,
    server: DuplexStream,
}

impl Fixture {
    /// The stream holds this many bytes that the server has not read.
    fn new(bytes: usize) -> Self {
        let (client, server) = tokio::io::duplex(bytes);
        let progress = LinkProgress::new(None);
        let stream = MeteredStream::new(Box::new(client), Arc::clone(&progress));
        let wire = Wire::new(stream, progress);
        let mut fixture = Self {
            driver: Driver::new(Arc::clone(&wire), 1000, None),
            wire,
            wakes: Arc::default(),
            server,
        };
        fixture.poll();
        fixture
    }

    /// Runs the task. Returns whether it has ended.
    fn poll(&mut self) -> bool {
        let waker = Waker::from(Arc::clone(&self.wakes));
        let mut cx = Context::from_waker(&waker);
        Pin::new(&mut self.driver).poll(&mut cx).is_ready()
    }

    /// Starts a call. Returns its replies, and how often that woke the task.
    fn start(&self, request: &dyn Request, until: Instant) -> (Replies, usize) {
        let before = self.wakes.0.load(Ordering::Relaxed);
        let Started::Sent(replies) = self.wire.start(&[request], CallDeadline::new(until)) else {
            panic!("the connection is open and has space");
        };
        (replies, self.wakes.0.load(Ordering::Relaxed) - before)
    }

    /// The bytes that the server can read now.
    async fn received(&mut self) -> usize {
        let mut bytes = vec![0; 1024 * 1024];
        let read = std::pin::pin!(self.server.read(&mut bytes));
        tokio::select! {
            biased;
            count = read => count.expect("the stream is open"),
            () = std::future::ready(()) => 0,
        }
    }

    async fn reply(&mut self, count: usize) {
        let replies = "+OK\r\n".repeat(count);
        let written = self.server.write_all(replies.as_bytes()).await;
        written.expect("the stream is open");
        self.poll();
    }
}

#[tokio::test]
async fn a_lone_call_is_written_by_its_caller_and_sets_no_timer() {
    let mut fixture = Fixture::new(1024);
    let (ping, now) = (redis::cmd("PING"), Instant::now());
    let (mut first, _) = fixture.start(&ping, now + DAY);
    fixture.poll();
    fixture.received().await;
    fixture.reply(1).await;
    assert!(matches!(first.try_recv(), Ok(Ok(_))));

    for later in 1..=3 {
        // The timer is set for the first call.
        let until = now + DAY + Duration::from_secs(later);
        let (mut replies, wakes) = fixture.start(&ping, until);
        assert_eq!(wakes, 0, "neither to write nor to set a timer");
        assert_eq!(fixture.received().await, b"*1\r\n$4\r\nPING\r\n".len());
        fixture.reply(1).await;
        assert!(matches!(replies.try_recv(), Ok(Ok(_))));
    }
    let (_, wakes) = fixture.start(&ping, now + DAY / 2);
    assert_eq!(wakes, 1, "its deadline is before the timer");
}

#[tokio::test]
async fn calls_behind_another_are_written_together_and_large_ones_at_once() {
    let mut fixture = Fixture::new(1024 * 1024);
    let (ping, until) = (redis::cmd("PING"), Instant::now() + DAY);
    let _first = fixture.start(&ping, until);
    let alone = fixture.received().await;

    let small: Vec<_> = (0..100).map(|_| fixture.start(&ping, until)).collect();
    assert_eq!(fixture.received().await, 0, "left to the task");
    fixture.poll();
    assert_eq!(fixture.received().await, 100 * alone);

    let mut page = redis::cmd("ECHO");
    page.arg(vec![b'x'; WRITE_MIN]);
    for _ in 0..5 {
        let _replies = fixture.start(&page, until);
        assert!(fixture.received().await > WRITE_MIN, "one write per page");
    }
    drop(small);
    fixture.reply(1 + 100 + 5).await;
    assert!(lock(&fixture.wire.state).calls.is_empty());
}

#[tokio::test]
async fn a_lost_connection_tells_which_calls_were_sent() {
    let mut fixture = Fixture::new(20);
    let (ping, until) = (redis::cmd("PING"), Instant::now() + DAY);
    let calls: Vec<_> = (0..3).map(|_| fixture.start(&ping, until).0).collect();
    // The first call and a part of the second.
    fixture.poll();
    fixture.server = tokio::io::duplex(1).0;

    assert!(fixture.poll());

    let mut is_sent = Vec::new();
    for call in calls {
        let failure = call.await.expect("it is answered").expect_err("it is lost");
        is_sent.push(failure.is_sent);
    }
    assert_eq!(is_sent, [true, true, false]);
    let started = fixture.wire.start(&[&ping], CallDeadline::new(until));
    assert!(matches!(started, Started::Closed(_)));
}

#[tokio::test]
async fn calls_wait_while_too_many_bytes_are_unsent() {
    let mut fixture = Fixture::new(1024);
    let mut large = redis::cmd("ECHO");
    large.arg(vec![b'x'; UNSENT_MAX + 1024]);
    let until = Instant::now() + DAY;
    let _large = fixture.start(&large, until);
    let ping = redis::cmd("PING");
    let deadline = CallDeadline::new(until);

    assert!(matches!(
        fixture.wire.start(&[&ping], deadline),
        Started::Full
    ));

    while !matches!(fixture.wire.start(&[&ping], deadline), Started::Sent(_)) {
        assert!(fixture.received().await > 0);
        fixture.poll();
    }
    fixture.wire.space().await;
}

#[tokio::test]
async fn a_call_is_given_up_at_its_deadline_and_its_late_reply_is_dropped() {
    let mut fixture = Fixture::new(1024);
    let (ping, now) = (redis::cmd("PING"), Instant::now());
    let (mut overdue, _) = fixture.start(&ping, now);
    let (mut other, _) = fixture.start(&ping, now + DAY);

    let failure = loop {
        fixture.poll();
        match overdue.try_recv() {
            Ok(replies) => break replies.expect_err("it is given up"),
            // The timer elapses when the runtime has a turn.
            Err(_) => tokio::task::yield_now().await,
        }
    };

    assert!(matches!(failure.cause, Cause::TimedOut) && failure.is_sent);
    fixture.reply(1).await;
    assert!(other.try_recv().is_err(), "the reply was for the first");
    fixture.reply(1).await;
    assert!(matches!(other.try_recv(), Ok(Ok(_))));
}

#[tokio::test]
async fn a_connection_whose_task_has_ended_is_closed() {
    let fixture = Fixture::new(1024);
    let (ping, until) = (redis::cmd("PING"), Instant::now() + DAY);
    let (call, _) = fixture.start(&ping, until);

    drop(fixture.driver);

    let failure = call.await.expect("it is answered").expect_err("no reply");
    assert!(matches!(failure.cause, Cause::Closed) && failure.is_sent);
    let started = fixture.wire.start(&[&ping], CallDeadline::new(until));
    assert!(matches!(started, Started::Closed(_)));
}
