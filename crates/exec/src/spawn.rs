//! Starts all processes on one thread: the parent-death signal is sent when the *thread* that started
//! the process ends, and threads of a runtime may end at any time.

use std::io;
use std::sync::mpsc;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use windlass_core::{Error, ErrorKind, Result};

/// The thread that starts processes. It ends when the last clone is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Spawner(mpsc::Sender<Request>);

#[derive(Debug)]
struct Request {
    command: Command,
    reply: oneshot::Sender<io::Result<Child>>,
}

impl Spawner {
    /// Starts the thread. Must be called in the Tokio runtime that waits for the processes.
    pub(crate) fn start() -> Result<Self> {
        let (sender, requests) = mpsc::channel::<Request>();
        let runtime = Handle::current();
        let work = move || {
            let _entered = runtime.enter();
            for Request { mut command, reply } in requests {
                // If the caller is gone, the process is killed on drop.
                let _ = reply.send(command.spawn());
            }
        };
        let thread = std::thread::Builder::new().name("windlass-spawn".to_owned());
        thread.spawn(work).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                "cannot start the thread that starts processes",
                "raise the limit on threads (ulimit -u), or run fewer programs on this machine",
            )
            .caused_by(error)
        })?;
        Ok(Self(sender))
    }

    pub(crate) async fn spawn(&self, command: Command) -> io::Result<Child> {
        let gone = || io::Error::other("the thread that starts processes has ended");
        let (reply, child) = oneshot::channel();
        self.0
            .send(Request { command, reply })
            .map_err(|_| gone())?;
        child.await.map_err(|_| gone())?
    }
}
