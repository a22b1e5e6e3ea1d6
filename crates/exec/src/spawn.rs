//! Starts processes, always on one thread: the signal that tells a child of its parent's death
//! comes when the *thread* that started it ends, and threads of a runtime come and go.

use std::io;
use std::sync::mpsc;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use windlass_core::{Error, ErrorKind, Result};

/// The thread that starts processes. It ends with the last clone of this.
#[derive(Debug, Clone)]
pub(crate) struct Spawner(mpsc::Sender<Request>);

#[derive(Debug)]
struct Request {
    command: Command,
    answer: oneshot::Sender<io::Result<Child>>,
}

impl Spawner {
    /// Starts the thread; to be called in the runtime that will wait for the processes.
    pub(crate) fn start() -> Result<Self> {
        let (sender, requests) = mpsc::channel::<Request>();
        let runtime = Handle::current();
        let work = move || {
            let _entered = runtime.enter();
            for Request {
                mut command,
                answer,
            } in requests
            {
                // Nobody waits any more: the process ends as it is dropped.
                let _ = answer.send(command.spawn());
            }
        };
        let thread = std::thread::Builder::new().name("windlass-spawn".to_owned());
        thread.spawn(work).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                "the thread that starts processes did not start",
                "raise the limit of threads (ulimit -u), or run fewer programs here",
            )
            .caused_by(error)
        })?;
        Ok(Self(sender))
    }

    pub(crate) async fn spawn(&self, command: Command) -> io::Result<Child> {
        let gone = || io::Error::other("the thread that starts processes has ended");
        let (answer, child) = oneshot::channel();
        self.0
            .send(Request { command, answer })
            .map_err(|_| gone())?;
        child.await.map_err(|_| gone())?
    }
}
