//! The reader thread, on a separate connection: reads and writes do not block each other. Long reads
//! have a thread and a connection each.

use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tokio::sync::{mpsc, oneshot};
use windlass_core::Result;

use crate::SqliteStore;
use crate::error::{self, TxResult};
use crate::open;
use crate::time_limit::TimeLimit;

/// Capacity of the read queue; when it is full, callers wait to submit.
const BACKLOG_MAX: usize = 1024;

type Read = Box<dyn FnOnce(&Connection) + Send>;

#[derive(Debug)]
pub(crate) struct Reader {
    reads: Option<mpsc::Sender<Read>>,
    thread: Option<JoinHandle<()>>,
    path: PathBuf,
    deadline: Duration,
}

impl Reader {
    pub(crate) fn start(
        db: Connection,
        time_limit: TimeLimit,
        path: PathBuf,
        deadline: Duration,
    ) -> io::Result<Self> {
        let (reads, mut waiting) = mpsc::channel::<Read>(BACKLOG_MAX);
        let thread = thread::Builder::new()
            .name("windlass-reader".to_owned())
            .spawn(move || {
                while let Some(read) = waiting.blocking_recv() {
                    time_limit.start();
                    read(&db);
                }
            })?;
        Ok(Self {
            reads: Some(reads),
            thread: Some(thread),
            path,
            deadline,
        })
    }

    /// Runs `query` on one snapshot of the store.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let path = self.path.clone();
        let read: Read = Box::new(move |db| {
            let snapshot = || {
                let snapshot = db.unchecked_transaction()?;
                query(&snapshot)
            };
            // The caller may be gone.
            let _ = reply.send(snapshot().map_err(|error| error.into_error(&path)));
        });
        let reads = self
            .reads
            .as_ref()
            .ok_or_else(|| error::closed(&self.path))?;
        let call = async {
            reads
                .send(read)
                .await
                .map_err(|_| error::closed(&self.path))?;
            answer.await.map_err(|_| error::closed(&self.path))?
        };
        let timed_out = |_| Err(error::read_timeout(&self.path, self.deadline));
        tokio::time::timeout(self.deadline, call)
            .await
            .unwrap_or_else(timed_out)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.reads = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been printed.
            let _ = thread.join();
        }
    }
}

impl SqliteStore {
    /// Runs a long query on one snapshot.
    pub(crate) async fn long_read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        self.on_thread("windlass-long-read", |path| {
            let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            open::distrust(&db)?;
            query(&*db.unchecked_transaction()?)
        })
        .await
    }

    /// Runs something long on a dedicated thread, so that other calls do not wait for it.
    pub(crate) async fn on_thread<T: Send + 'static>(
        &self,
        name: &str,
        run: impl FnOnce(&Path) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let path = self.path.clone();
        let run = move || {
            // The caller may be gone.
            let _ = reply.send(run(&path).map_err(|error| error.into_error(&path)));
        };
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)
            .map_err(|error| error::from_io(error, &self.path))?;
        answer.await.map_err(|_| error::closed(&self.path))?
    }
}
