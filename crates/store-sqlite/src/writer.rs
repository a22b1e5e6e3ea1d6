//! The only thread that writes. Calls that arrive during a commit form the next group.
//!
//! All calls of a group share one transaction and one fsync; a call is answered only after its
//! commit.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc as std_mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use windlass_core::notification::Notification;
use windlass_core::{Clock, Error, Result};

use crate::error::{self, TxResult};
use crate::file;
use crate::space;
use crate::sql::Sql;
use crate::time_limit::TimeLimit;
use crate::transaction::Tx;
use crate::wakeup::Wakeups;
use crate::write_lock::WriteLock;

/// Maximum calls per transaction. Bounds how long other processes wait for the lock.
const GROUP_MAX: usize = 256;

/// Payload bytes at which a group is full, so that calls which fit on the disk one by one do not
/// together use up the reserve for workers.
const GROUP_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Capacity of the call queue; when it is full, callers wait to submit.
const BACKLOG_MAX: usize = 1024;

/// Poll interval while closing a store whose thread may be waiting for the lock.
const CLOSE_POLL: Duration = Duration::from_millis(100);

/// What the writer thread owns.
#[derive(Debug)]
pub(crate) struct WriterState {
    pub(crate) db: Connection,
    pub(crate) time_limit: TimeLimit,
    pub(crate) write_lock: WriteLock,
    pub(crate) wakeups: Arc<Wakeups>,
    /// To send after the commit.
    pub(crate) notifications: Vec<Notification>,
    pub(crate) clock: Arc<dyn Clock>,
}

#[derive(Debug)]
pub(crate) struct Writer {
    calls: Option<mpsc::Sender<Box<dyn Call>>>,
    thread: Option<JoinHandle<()>>,
    /// Closed when the thread ends; nothing is sent.
    ended: Mutex<std_mpsc::Receiver<()>>,
    /// The thread is waiting for the write lock of another process.
    waits_for_lock: Arc<AtomicBool>,
    path: PathBuf,
    deadline: Duration,
}

impl Writer {
    pub(crate) fn start(
        state: WriterState,
        path: PathBuf,
        deadline: Duration,
    ) -> std::io::Result<Self> {
        let (calls, waiting) = mpsc::channel(BACKLOG_MAX);
        let store_path = path.clone();
        let (end, ended) = std_mpsc::channel();
        let waits_for_lock = Arc::new(AtomicBool::new(false));
        let is_waiting = waits_for_lock.clone();
        let thread = thread::Builder::new()
            .name("windlass-writer".to_owned())
            .spawn(move || {
                let _end: std_mpsc::Sender<()> = end;
                state.run(waiting, &is_waiting, &store_path);
            })?;
        Ok(Self {
            calls: Some(calls),
            thread: Some(thread),
            ended: Mutex::new(ended),
            waits_for_lock,
            path,
            deadline,
        })
    }

    /// Runs `verb` inside a transaction and returns after the commit.
    ///
    /// `bytes` is the size of its payloads. A verb may run twice: if its group fails, each call is
    /// retried alone.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        verb: impl FnMut(&mut Tx<'_>) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        let stage = Arc::new(AtomicU8::new(WAITING));
        let (reply, answer) = oneshot::channel();
        let call = WriteCall {
            verb,
            bytes,
            value: None,
            reply,
            stage: stage.clone(),
        };
        let Some(calls) = &self.calls else {
            return Err(error::closed(&self.path));
        };
        let call = async {
            calls
                .send(Box::new(call))
                .await
                .map_err(|_| error::closed(&self.path))?;
            answer.await.map_err(|_| error::closed(&self.path))?
        };
        match tokio::time::timeout(self.deadline, call).await {
            Ok(result) => result,
            Err(_) => Err(self.timed_out(&stage)),
        }
    }

    /// The error of a call that timed out. If it had not begun, it is withdrawn and nothing was done.
    fn timed_out(&self, stage: &AtomicU8) -> Error {
        match stage.compare_exchange(WAITING, GIVEN_UP, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => error::lock_timeout(&self.path, self.deadline),
            Err(_) => error::write_timeout(&self.path, self.deadline),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Dropping the sender ends the thread; joining it releases the file.
        self.calls = None;
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        while ended.recv_timeout(CLOSE_POLL) == Err(std_mpsc::RecvTimeoutError::Timeout) {
            if self.waits_for_lock.load(Ordering::SeqCst) {
                // A stopped process may never release the lock. All callers have been answered,
                // so the thread is left to end when it gets the lock.
                return;
            }
        }
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been printed.
            let _ = thread.join();
        }
    }
}

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const GIVEN_UP: u8 = 2;

/// A call queued for the writer.
trait Call: Send {
    /// Starts the call. Returns false if its caller has given up; afterwards it no longer can.
    fn begin(&self) -> bool;
    /// The size of its payloads.
    fn bytes(&self) -> usize;
    /// Runs inside the transaction and keeps the reply.
    fn run(&mut self, tx: &mut Tx<'_>) -> TxResult<()>;
    /// Sends the reply or the error.
    fn answer(self: Box<Self>, outcome: Result<()>);
}

struct WriteCall<F, T> {
    verb: F,
    bytes: usize,
    value: Option<T>,
    reply: oneshot::Sender<Result<T>>,
    stage: Arc<AtomicU8>,
}

impl<F, T> Call for WriteCall<F, T>
where
    F: FnMut(&mut Tx<'_>) -> TxResult<T> + Send,
    T: Send,
{
    fn begin(&self) -> bool {
        let begun = self
            .stage
            .compare_exchange(WAITING, BEGUN, Ordering::SeqCst, Ordering::SeqCst);
        // A caller that is gone must not be given jobs.
        begun != Err(GIVEN_UP) && !self.reply.is_closed()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> TxResult<()> {
        self.value = Some((self.verb)(tx)?);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<()>) {
        let Self { value, reply, .. } = *self;
        // Committed calls have a value.
        if let Some(answer) = outcome.map(|()| value).transpose() {
            // The caller may be gone.
            let _ = reply.send(answer);
        }
    }
}

type Group = Vec<Box<dyn Call>>;
type Served = Vec<(Box<dyn Call>, Result<()>)>;

impl WriterState {
    fn run(
        mut self,
        mut calls: mpsc::Receiver<Box<dyn Call>>,
        waits_for_lock: &AtomicBool,
        path: &Path,
    ) {
        let file = file::file_id(path);
        while let Some(first) = calls.blocking_recv() {
            // Lock first: calls that arrive while others write join this group.
            waits_for_lock.store(true, Ordering::SeqCst);
            let locked = self.write_lock.lock();
            waits_for_lock.store(false, Ordering::SeqCst);
            let mut bytes = first.bytes();
            let mut group = vec![first];
            while group.len() < GROUP_MAX
                && bytes < GROUP_BYTES_MAX
                && let Ok(call) = calls.try_recv()
            {
                bytes += call.bytes();
                group.push(call);
            }
            let served = match locked {
                Ok(()) if file::file_id(path) != file => refuse(group, || error::replaced(path)),
                Ok(()) => self.serve(group, path),
                Err(error) => refuse(group, || error::from_io(error.kind().into(), path)),
            };
            // Others may write while waiters are woken, which then claim, and this group is answered.
            self.write_lock.unlock();
            self.wakeups.send(std::mem::take(&mut self.notifications));
            for (call, outcome) in served {
                call.answer(outcome);
            }
        }
    }

    /// Runs a group in one transaction. If that fails, runs each call in a separate one, so that one
    /// bad call does not fail the others.
    fn serve(&mut self, mut group: Group, path: &Path) -> Served {
        self.time_limit.start();
        match self.commit(&mut group, path) {
            Ok(()) => group.into_iter().map(|call| (call, Ok(()))).collect(),
            Err(error) if group.len() == 1 || error.affects_all() => {
                let error = error.into_error(path);
                refuse(group, || error.clone())
            }
            Err(_) => {
                let alone = |call: Box<dyn Call>| {
                    let mut alone = vec![call];
                    let outcome = self.commit(&mut alone, path);
                    let outcome = outcome.map_err(|error| error.into_error(path));
                    alone.pop().map(|call| (call, outcome))
                };
                group.into_iter().filter_map(alone).collect()
            }
        }
    }

    /// Runs the calls whose callers still wait, and drops the others from the group.
    fn commit(&mut self, group: &mut Group, path: &Path) -> TxResult<()> {
        let mut is_scattered = false;
        let committed = in_transaction(&self.db, || {
            // Until here callers can give up, and nothing was done.
            group.retain(|call| call.begin());
            let mut tx = Tx::new(&self.db, path);
            for call in group {
                tx.clock_us = self.clock.now_us();
                call.run(&mut tx)?;
            }
            is_scattered = tx.has_scattered_writes;
            if is_scattered {
                space::checkpoint_at(&self.db, space::LOG_PAGES_OF_SCHEDULES)?;
            }
            Ok((tx.is_shortened, tx.finish()?))
        });
        if is_scattered {
            // Cannot fail, and a commit must not be reported as failed.
            let _ = space::checkpoint_at(&self.db, space::LOG_PAGES);
        }
        let (is_shortened, notifications) = committed?;
        self.notifications.extend(notifications);
        if is_shortened {
            // Best effort: the change is committed, and the next checkpoint does the same.
            let _ = space::checkpoint(&self.db, "PASSIVE");
        }
        Ok(())
    }
}

/// Runs `work` in a transaction, which ends as `work` does. Unlike those of `rusqlite`, its statements are
/// prepared only once.
fn in_transaction<T>(db: &Connection, work: impl FnOnce() -> TxResult<T>) -> TxResult<T> {
    db.run("BEGIN IMMEDIATE", [])?;
    let done = work().and_then(|done| db.run("COMMIT", []).map(|_| done));
    if done.is_err() && !db.is_autocommit() {
        // The first error says more.
        let _ = db.run("ROLLBACK", []);
    }
    done
}

/// Answers every call with the same error.
fn refuse(group: Group, error: impl Fn() -> Error) -> Served {
    group.into_iter().map(|call| (call, Err(error()))).collect()
}
