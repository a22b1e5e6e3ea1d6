//! Starts processes, always on one thread: the signal that tells a process of its runner's death
//! comes when the *thread* that started it ends, and threads of a runtime come and go.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// This program, even when its file was replaced since it began.
const SELF: &str = "/proc/self/exe";

/// What it is called with to become another one, which then does not outlive us.
const WORD: &str = "exec-child";

/// The thread; it ends with this.
#[derive(Debug)]
pub(super) struct Starter(mpsc::Sender<Request>);

type Request = (Command, oneshot::Sender<io::Result<Child>>);

impl Starter {
    /// To be called in the runtime that waits for the processes.
    pub(super) fn new() -> io::Result<Self> {
        let (sender, requests) = mpsc::channel::<Request>();
        let runtime = Handle::current();
        let thread = std::thread::Builder::new().name("windlass-spawn".to_owned());
        thread.spawn(move || {
            let _entered = runtime.enter();
            for (mut command, answer) in requests {
                // Nobody waits any more: the process ends as it is dropped.
                let _ = answer.send(command.spawn());
            }
        })?;
        Ok(Self(sender))
    }

    pub(super) async fn start(&self, command: Command) -> io::Result<Child> {
        let gone = || io::Error::other("the thread that starts processes has ended");
        let (answer, child) = oneshot::channel();
        self.0.send((command, answer)).map_err(|_| gone())?;
        child.await.map_err(|_| gone())?
    }
}

/// A command that ends with this process, even when that is killed.
pub(super) fn guarded(words: &[OsString]) -> Command {
    let own = if Path::new(SELF).exists() {
        Some(PathBuf::from(SELF))
    } else {
        std::env::current_exe().ok()
    };
    let Some(own) = own else {
        let mut command = Command::new(words.first().map_or(OsStr::new(""), |word| word));
        command.args(words.iter().skip(1));
        return command;
    };
    let mut command = Command::new(own);
    let worker = std::process::id().to_string();
    command.arg(WORD).arg(worker).arg("--").args(words);
    command
}
