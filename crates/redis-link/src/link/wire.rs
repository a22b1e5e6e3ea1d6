//! The wire of a connection: callers write their calls to it, a task reads the replies.
//!
//! A lone call is written by its caller, without the task. A call made while others are in flight is left to
//! the task, which writes all that have gathered. The task also gives up calls whose deadline is over, with
//! one timer for all of them.

mod driver;

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use redis::{RedisError, Value};
use tokio::io::AsyncWrite;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::lock;
use super::progress::{CallDeadline, LinkProgress};
use super::reply_limit::ReplyTooLarge;
use super::request::Request;
use super::stream::MeteredStream;

pub(super) use driver::Driver;
pub(crate) use driver::PushHandler;

/// Bytes that may wait to be written; more calls wait until there are fewer.
const UNSENT_MAX: usize = 256 * 1024;

/// Bytes that are worth a write of their own while other calls are in flight.
const WRITE_MIN: usize = 16 * 1024;

/// The replies to one request.
pub(super) type Replies = oneshot::Receiver<Result<Vec<Value>, Failure>>;

/// Why a request has no replies.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) cause: Cause,
    /// Whether the server may have received a part of it.
    pub(super) is_sent: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Cause {
    TimedOut,
    /// The connection was closed on this side.
    Closed,
    Lost(RedisError),
    TooLarge(ReplyTooLarge),
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Self {
        Self::Lost(error.into())
    }
}

/// What became of a request.
pub(super) enum Started {
    /// Its replies will arrive.
    Sent(Replies),
    /// It must wait for space.
    Full,
    /// The connection is closed.
    Closed(Cause),
}

pub(super) struct Wire {
    state: Mutex<State>,
    progress: Arc<LinkProgress>,
    /// There may be space for a call, or the connection is closed.
    changed: Notify,
}

struct State {
    stream: Result<MeteredStream, Cause>,
    /// Bytes of calls, of which `written` have been written.
    unsent: Vec<u8>,
    written: usize,
    /// Whether the stream may hold back bytes that were written.
    is_flushed: bool,
    /// All bytes written so far, and all bytes of calls.
    sent: u64,
    queued: u64,
    calls: VecDeque<PendingCall>,
    task: Option<Waker>,
    /// When the task looks for calls whose deadline is over.
    tick: Option<Instant>,
}

/// A call whose replies are missing.
struct PendingCall {
    /// The position of its first byte.
    start: u64,
    count: usize,
    replies: Vec<Value>,
    /// `None` once it is given up: its replies are dropped.
    caller: Option<oneshot::Sender<Result<Vec<Value>, Failure>>>,
    deadline: CallDeadline,
}

impl Wire {
    pub(super) fn new(stream: MeteredStream, progress: Arc<LinkProgress>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                stream: Ok(stream),
                unsent: Vec::new(),
                written: 0,
                is_flushed: true,
                sent: 0,
                queued: 0,
                calls: VecDeque::new(),
                task: None,
                tick: None,
            }),
            progress,
            changed: Notify::new(),
        })
    }

    /// Queues a request, and writes it if no other call is in flight.
    pub(super) fn start(&self, requests: &[&dyn Request], deadline: CallDeadline) -> Started {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        if let Err(cause) = &state.stream {
            return Started::Closed(cause.clone());
        }
        if state.unsent_bytes() >= UNSENT_MAX {
            return Started::Full;
        }
        let is_alone = state.calls.is_empty();
        let before = state.unsent.len();
        for request in requests {
            request.write(&mut state.unsent);
        }
        let (caller, replies) = oneshot::channel();
        let count = requests.iter().map(|request| request.replies()).sum();
        state.calls.push_back(PendingCall {
            start: state.queued,
            count,
            replies: Vec::with_capacity(count),
            caller: Some(caller),
            deadline,
        });
        state.queued += (state.unsent.len() - before) as u64;
        let is_earliest = state.tick.is_none_or(|tick| deadline.until < tick);
        if is_earliest {
            state.tick = Some(deadline.until);
        }
        let task = state.task.clone();
        let mut is_left = true;
        if let Some(task) = &task
            && (is_alone || state.unsent_bytes() >= WRITE_MIN)
        {
            // If the stream accepts no more, it wakes the task.
            is_left = false;
            if let Err(error) = state.write(&mut Context::from_waker(task)) {
                drop(guard);
                self.close(&error.into());
                return Started::Sent(replies);
            }
        }
        drop(guard);
        if let Some(task) = task
            && (is_left || is_earliest)
        {
            task.wake();
        }
        Started::Sent(replies)
    }

    /// Waits until a call may find space.
    pub(super) async fn space(&self) {
        loop {
            // Created before the check, so that it also sees what is notified in between.
            let changed = self.changed.notified();
            let has_space = {
                let state = lock(&self.state);
                state.stream.is_err() || state.unsent_bytes() < UNSENT_MAX
            };
            if has_space {
                return;
            }
            changed.await;
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).stream.is_err()
    }

    /// Ends the connection; calls in flight fail.
    pub(super) fn close(&self, cause: &Cause) {
        let mut state = lock(&self.state);
        if state.stream.is_err() {
            return;
        }
        let sent = state.sent;
        state.stream = Err(cause.clone());
        let calls = std::mem::take(&mut state.calls);
        let task = state.task.take();
        state.unsent = Vec::new();
        drop(state);
        for mut call in calls {
            let is_sent = call.start < sent;
            call.fail(cause, is_sent);
        }
        self.changed.notify_waiters();
        if let Some(task) = task {
            task.wake();
        }
    }

    /// Gives up the calls whose deadline is over, unless bytes have moved since.
    fn give_up_overdue(&self) {
        let (now, moved) = (Instant::now(), self.progress.moved_at());
        let mut state = lock(&self.state);
        let mut next = None;
        for call in &mut state.calls {
            if call.caller.is_none() {
                continue;
            }
            if call.deadline.is_over(now, moved) {
                // Its bytes may wait to be written, but they cannot be taken back.
                call.fail(&Cause::TimedOut, true);
            } else {
                let until = call.deadline.until;
                next = Some(next.map_or(until, |next: Instant| next.min(until)));
            }
        }
        state.tick = next;
    }
}

impl PendingCall {
    fn fail(&mut self, cause: &Cause, is_sent: bool) {
        if let Some(caller) = self.caller.take() {
            // The caller may have been dropped.
            let _ = caller.send(Err(Failure {
                cause: cause.clone(),
                is_sent,
            }));
        }
    }
}

impl State {
    fn unsent_bytes(&self) -> usize {
        self.unsent.len() - self.written
    }

    /// Writes what the stream accepts. It wakes the task of `cx` when it accepts more.
    fn write(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let Ok(stream) = &mut self.stream else {
            return Ok(());
        };
        let mut stream = Pin::new(stream);
        while self.written < self.unsent.len() {
            match stream.as_mut().poll_write(cx, &self.unsent[self.written..]) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => {
                    self.written += count;
                    self.sent += count as u64;
                    self.is_flushed = false;
                }
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => {
                    self.unsent.drain(..std::mem::take(&mut self.written));
                    return Ok(());
                }
            }
        }
        self.unsent.clear();
        self.unsent.shrink_to(UNSENT_MAX);
        self.written = 0;
        if !self.is_flushed
            && let Poll::Ready(flushed) = stream.poll_flush(cx)
        {
            flushed?;
            self.is_flushed = true;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
