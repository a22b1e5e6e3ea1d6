//! The task of a connection: writes what callers left to it, reads replies, and keeps deadlines.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use redis::{PushInfo, PushKind, Value};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::super::lock;
use super::super::reply_reader::ReplyReader;
use super::{Cause, UNSENT_MAX, Wire};

/// Bytes read at once.
const READ_BYTES: usize = 32 * 1024;

/// Called for every RESP3 push message of a connection.
pub(crate) type PushHandler = Box<dyn Fn(PushInfo) + Send + Sync>;

/// The task of a connection.
pub(crate) struct Driver {
    wire: Arc<Wire>,
    reader: ReplyReader,
    bytes: Box<[u8]>,
    on_push: Option<PushHandler>,
    tick: Pin<Box<Sleep>>,
    /// What the timer is set to.
    tick_at: Option<Instant>,
}

impl Driver {
    /// Must be called in a runtime.
    pub(crate) fn new(wire: Arc<Wire>, reply_bytes_max: u64, on_push: Option<PushHandler>) -> Self {
        Self {
            wire,
            reader: ReplyReader::new(reply_bytes_max),
            bytes: vec![0; READ_BYTES].into(),
            on_push,
            tick: Box::pin(sleep_until(Instant::now())),
            tick_at: None,
        }
    }

    /// Writes and reads what can be written and read now.
    fn transfer(&mut self, cx: &mut Context<'_>) -> Result<(), Cause> {
        loop {
            let mut guard = lock(&self.wire.state);
            let state = &mut *guard;
            match &mut state.task {
                Some(task) => task.clone_from(cx.waker()),
                task @ None => *task = Some(cx.waker().clone()),
            }
            let was_full = state.unsent_bytes() >= UNSENT_MAX;
            state.write(cx)?;
            let has_space = was_full && state.unsent_bytes() < UNSENT_MAX;
            let mut buffer = ReadBuf::new(&mut self.bytes);
            let read = match &mut state.stream {
                Ok(stream) => Pin::new(stream).poll_read(cx, &mut buffer)?,
                Err(cause) => return Err(cause.clone()),
            };
            drop(guard);
            if has_space {
                self.wire.changed.notify_waiters();
            }
            if read.is_pending() {
                return Ok(());
            }
            let count = buffer.filled().len();
            if count == 0 {
                return Err(io::Error::from(io::ErrorKind::BrokenPipe).into());
            }
            let values = self.reader.read(&self.bytes[..count])?;
            self.deliver(values);
        }
    }

    fn deliver(&self, values: Vec<Value>) {
        let mut done = Vec::with_capacity(values.len());
        let mut state = lock(&self.wire.state);
        for value in values {
            let Some(value) = self.pass_push(value) else {
                continue;
            };
            let Some(call) = state.calls.front_mut() else {
                continue;
            };
            call.replies.push(value);
            if call.replies.len() == call.count {
                done.extend(state.calls.pop_front());
            }
        }
        drop(state);
        for call in done {
            if let Some(caller) = call.caller {
                // The caller may have been dropped.
                let _ = caller.send(Ok(call.replies));
            }
        }
    }

    /// Passes a push message on. Returns a value that is a reply: the reply to a subscription is a push as well.
    fn pass_push(&self, value: Value) -> Option<Value> {
        let Value::Push { kind, data } = value else {
            return Some(value);
        };
        let is_reply = matches!(kind, PushKind::Subscribe | PushKind::SSubscribe);
        if let Some(on_push) = &self.on_push {
            on_push(PushInfo { kind, data });
        }
        is_reply.then_some(Value::Okay)
    }

    /// Gives up calls at their deadline. The timer is set again only when it has elapsed, or for a call
    /// with an earlier deadline.
    fn keep_deadlines(&mut self, cx: &mut Context<'_>) {
        loop {
            let tick = lock(&self.wire.state).tick;
            let Some(at) = tick else { return };
            if self.tick_at != tick {
                self.tick.as_mut().reset(at);
                self.tick_at = tick;
            }
            if self.tick.as_mut().poll(cx).is_pending() {
                return;
            }
            self.tick_at = None;
            self.wire.give_up_overdue();
        }
    }
}

/// Without its task a connection is of no use: the runtime may end before the callers.
impl Drop for Driver {
    fn drop(&mut self) {
        self.wire.close(&Cause::Closed);
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.transfer(cx) {
            Ok(()) => {
                self.keep_deadlines(cx);
                Poll::Pending
            }
            Err(cause) => {
                self.wire.close(&cause);
                if let Some(on_push) = &self.on_push {
                    on_push(PushInfo {
                        kind: PushKind::Disconnection,
                        data: Vec::new(),
                    });
                }
                Poll::Ready(())
            }
        }
    }
}
