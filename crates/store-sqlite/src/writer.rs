//! The one thread that writes: while one group of calls is committed, the next gathers.
//!
//! All calls of a group share one transaction and so one fsync; every call is answered only after
//! the commit that holds it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc as std_mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};
use windlass_core::{Error, ErrorKind, Result};

use crate::bell::Bell;
use crate::fault::{self, Db};
use crate::place;
use crate::step::Tx;
use crate::turnstile::Turnstile;

/// Calls that one transaction serves at most: bounds how long others wait at the turnstile.
const GROUP_MAX: usize = 256;

/// Bytes of payloads at which a group is full, so that calls which each fit the disk do not use up
/// together what is kept free for workers.
const GROUP_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Calls that may wait; beyond it, callers wait before their call is taken.
const BACKLOG_MAX: usize = 1024;

/// How long the end of a store waits for a thread that waits for its turn.
const LEAVE_AFTER: Duration = Duration::from_millis(100);

/// What the writing thread works with.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) db: Connection,
    pub(crate) turnstile: Turnstile,
    pub(crate) bell: Arc<Bell>,
}

#[derive(Debug)]
pub(crate) struct Writer {
    calls: Option<mpsc::Sender<Box<dyn Call>>>,
    thread: Option<JoinHandle<()>>,
    /// Says nothing; closed when the thread ends.
    ended: Mutex<std_mpsc::Receiver<()>>,
    /// The thread waits for a turn that only another process can give it.
    at_turnstile: Arc<AtomicBool>,
    path: PathBuf,
    deadline: Duration,
}

impl Writer {
    pub(crate) fn start(
        engine: Engine,
        path: PathBuf,
        deadline: Duration,
    ) -> std::io::Result<Self> {
        let (calls, waiting) = mpsc::channel(BACKLOG_MAX);
        let place = path.clone();
        let (end, ended) = std_mpsc::channel();
        let at_turnstile = Arc::new(AtomicBool::new(false));
        let is_waiting = at_turnstile.clone();
        let thread = thread::Builder::new()
            .name("windlass-writer".to_owned())
            .spawn(move || {
                let _end: std_mpsc::Sender<()> = end;
                engine.run(waiting, &is_waiting, &place);
            })?;
        Ok(Self {
            calls: Some(calls),
            thread: Some(thread),
            ended: Mutex::new(ended),
            at_turnstile,
            path,
            deadline,
        })
    }

    /// Runs `verb` inside a transaction and answers once that is safe.
    ///
    /// `bytes` is what it brings to be stored. A verb may run twice: when its group failed, every
    /// call of it is tried by itself.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        verb: impl FnMut(&mut Tx<'_>) -> Db<T> + Send + 'static,
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
            return Err(fault::closed(&self.path));
        };
        let whole = async {
            calls
                .send(Box::new(call))
                .await
                .map_err(|_| fault::closed(&self.path))?;
            answer.await.map_err(|_| fault::closed(&self.path))?
        };
        match tokio::time::timeout(self.deadline, whole).await {
            Ok(result) => result,
            Err(_) => Err(self.late(&stage)),
        }
    }

    /// A call whose time is over: nothing was done if it had not begun, and now it never will.
    fn late(&self, stage: &AtomicU8) -> Error {
        match stage.compare_exchange(WAITING, GIVEN_UP, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => fault::held(&self.path, self.deadline),
            Err(_) => Error::new(
                ErrorKind::OutcomeUnknown,
                format!(
                    "the store {} did not answer within {} ms",
                    self.path.display(),
                    self.deadline.as_millis()
                ),
                "repeat the call with the same id or token: the first answer comes back",
            ),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // The thread ends when no sender is left; waiting for it releases the file.
        self.calls = None;
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        while ended.recv_timeout(LEAVE_AFTER) == Err(std_mpsc::RecvTimeoutError::Timeout) {
            if self.at_turnstile.load(Ordering::SeqCst) {
                // A process that stopped in its turn may never end it. All callers have their
                // answer, so the thread has nothing left to do: it ends when its turn comes.
                return;
            }
        }
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed when it happened.
            let _ = thread.join();
        }
    }
}

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const GIVEN_UP: u8 = 2;

/// A call on its way through the writer.
trait Call: Send + fmt::Debug {
    /// Whether its caller still waits; from now on it cannot give up.
    fn begin(&self) -> bool;
    /// How much it brings to be stored.
    fn bytes(&self) -> usize;
    /// Does its work inside the transaction and keeps the answer.
    fn run(&mut self, tx: &mut Tx<'_>) -> Db<()>;
    /// Passes on the answer, or why there is none.
    fn answer(self: Box<Self>, outcome: Result<()>);
}

struct WriteCall<F, T> {
    verb: F,
    bytes: usize,
    value: Option<T>,
    reply: oneshot::Sender<Result<T>>,
    stage: Arc<AtomicU8>,
}

impl<F, T> fmt::Debug for WriteCall<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WriteCall")
    }
}

impl<F, T> Call for WriteCall<F, T>
where
    F: FnMut(&mut Tx<'_>) -> Db<T> + Send,
    T: Send,
{
    fn begin(&self) -> bool {
        let begun = self
            .stage
            .compare_exchange(WAITING, BEGUN, Ordering::SeqCst, Ordering::SeqCst);
        // A caller that went away must not be handed jobs.
        begun != Err(GIVEN_UP) && !self.reply.is_closed()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> Db<()> {
        self.value = Some((self.verb)(tx)?);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<()>) {
        let Self { value, reply, .. } = *self;
        let missing = || {
            Error::new(
                ErrorKind::Internal,
                "a call was not run",
                "this is a fault of Windlass: report it with this message",
            )
        };
        let answer = outcome.and_then(|()| value.ok_or_else(missing));
        // A caller that went away needs no answer.
        let _ = reply.send(answer);
    }
}

impl Engine {
    fn run(self, mut calls: mpsc::Receiver<Box<dyn Call>>, at_turnstile: &AtomicBool, path: &Path) {
        let Self {
            mut db,
            turnstile,
            bell,
        } = self;
        let file = place::file_id(path);
        while let Some(first) = calls.blocking_recv() {
            // The turn comes first: what arrives while others write joins this group.
            at_turnstile.store(true, Ordering::SeqCst);
            let turn = turnstile.enter();
            at_turnstile.store(false, Ordering::SeqCst);
            let mut bytes = first.bytes();
            let mut group = vec![first];
            while group.len() < GROUP_MAX
                && bytes < GROUP_BYTES_MAX
                && let Ok(call) = calls.try_recv()
            {
                bytes += call.bytes();
                group.push(call);
            }
            match turn {
                Ok(_) if place::file_id(path) != file => {
                    for call in group {
                        call.answer(Err(fault::replaced(path)));
                    }
                }
                Ok(turn) => {
                    let served = serve(&mut db, &bell, group, path);
                    // Others may write while this group is answered.
                    drop(turn);
                    for (call, outcome) in served {
                        call.answer(outcome);
                    }
                }
                Err(error) => {
                    for call in group {
                        call.answer(Err(fault::from_io(error.kind().into(), path)));
                    }
                }
            }
        }
    }
}

type Group = Vec<Box<dyn Call>>;
type Served = Vec<(Box<dyn Call>, Result<()>)>;

/// Serves a group in one transaction or, when that fails, each call in one of its own, so that
/// one call's fault does not hurt its neighbours.
fn serve(db: &mut Connection, bell: &Bell, mut group: Group, path: &Path) -> Served {
    match commit(db, bell, &mut group) {
        Ok(()) => group.into_iter().map(|call| (call, Ok(()))).collect(),
        Err(fault) if group.len() == 1 || fault.is_common() => {
            let error = fault.into_error(path);
            let again = || fault::again(&error);
            group.into_iter().map(|call| (call, Err(again()))).collect()
        }
        Err(_) => {
            let alone = |call: Box<dyn Call>| {
                let mut alone = vec![call];
                let outcome = commit(db, bell, &mut alone).map_err(|fault| fault.into_error(path));
                alone.pop().map(|call| (call, outcome))
            };
            group.into_iter().filter_map(alone).collect()
        }
    }
}

/// Runs the calls whose callers still wait, and drops the others from the group.
fn commit(db: &mut Connection, bell: &Bell, group: &mut Group) -> Db<()> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Up to here callers may give up, knowing that nothing was done.
    group.retain(|call| call.begin());
    let mut tx = Tx::new(&transaction);
    for call in group {
        call.run(&mut tx)?;
    }
    let hints = tx.finish()?;
    transaction.commit()?;
    bell.ring(hints);
    Ok(())
}
