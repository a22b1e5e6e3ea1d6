//! Workers to run and to wait for, and the processes that they leave or do not leave.

use std::fs;
use std::path::Path;
use std::process::{Child, ChildStderr, Command};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use windlass_testkit::redis::until;
use windlass_testkit::redis::wait::PATIENCE;

use super::sandbox::{Ran, Sandbox, text};

impl Sandbox {
    /// Puts a job into the queue `q`.
    pub(crate) fn job(&self, id: &str, payload: &str, flags: &str) {
        let mut words = vec!["enqueue", "q", payload, "--id", id];
        words.extend(flags.split_whitespace());
        self.run_words(&words).ok();
    }

    /// Puts a job as large as they may be into the queue `q`.
    pub(crate) fn large_job(&self, id: &str, flags: &str) {
        let line = format!("enqueue q - --id {id} {flags}");
        self.feed(&line, &vec![b'x'; 1024 * 1024]).ok();
    }

    /// A job of the queue `q` as it is now.
    pub(crate) fn shown(&self, id: &str) -> Value {
        self.run_words(&["job", "get", "q", id, "--json"])
            .ok()
            .json()
    }

    /// Waits until a job of the queue `q` is in a state.
    pub(crate) fn shown_in(&self, id: &str, state: &str) -> Value {
        until("the state of the job", || {
            let job = self.shown(id);
            if job["state"] == state {
                Ok(job)
            } else {
                Err(job.to_string())
            }
        })
    }

    /// Runs all jobs of the queue `q` with a script of the shell.
    pub(crate) fn exec(&self, flags: &str, script: &str) -> Ran {
        let mut command = self.exec_command(flags);
        command.args(["--burst", "--json"]).args(tail(script));
        finished(command.spawn().unwrap())
    }

    /// Starts `exec` with a script, and leaves it running.
    pub(crate) fn start_exec(&self, flags: &str, script: &str) -> Running {
        Running::new(self.exec_command(flags).args(tail(script)).spawn().unwrap())
    }

    fn exec_command(&self, flags: &str) -> Command {
        let mut words = vec!["exec", "--queue", "q"];
        words.extend(flags.split_whitespace());
        self.command(&words)
    }

    /// Runs all jobs of the queue `q` with a resident script of the shell.
    pub(crate) fn worker(&self, flags: &str, script: &str) -> Ran {
        let mut command = self.worker_command(flags);
        command.arg("--burst").args(tail(script));
        finished(command.spawn().unwrap())
    }

    /// Starts `worker --stdio` with a script, and leaves it running.
    pub(crate) fn start_worker(&self, flags: &str, script: &str) -> Running {
        Running::new(
            self.worker_command(flags)
                .args(tail(script))
                .spawn()
                .unwrap(),
        )
    }

    fn worker_command(&self, flags: &str) -> Command {
        fs::write(self.path("lib.sh"), LIB).unwrap();
        let mut words = vec!["worker", "--queue", "q", "--stdio"];
        words.extend(flags.split_whitespace());
        self.command(&words)
    }

    /// Waits for a file with a line in it.
    pub(crate) fn line_of(&self, file: &str) -> String {
        until(file, || match fs::read_to_string(self.path(file)) {
            Ok(text) if text.ends_with('\n') => Ok(text.trim().to_owned()),
            other => Err(format!("{other:?}")),
        })
    }

    /// Makes a gate: a script that says `read _ < gate` waits until it is opened.
    pub(crate) fn gate(&self, name: &str) {
        let made = Command::new("mkfifo")
            .arg(self.path(name))
            .status()
            .unwrap();
        assert!(made.success());
    }

    /// Opens a gate; waits until somebody stands there.
    pub(crate) fn open(&self, name: &str) {
        fs::write(self.path(name), "go\n").unwrap();
    }
}

fn tail(script: &str) -> [&str; 4] {
    ["--", "sh", "-c", script]
}

/// What resident scripts have in common: `next_job` reads on to the next job, `done_with` answers.
const LIB: &str = r#"
field() { printf '%s\n' "$line" | sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'; }
next_job() {
    while IFS= read -r line; do
        case $line in *'"type":"job"'*) id=$(field id) token=$(field token) payload=$(field payload); return 0;; esac
    done
    return 1
}
done_with() { printf '{"type":"done","id":"%s","token":"%s","result":"%s"}\n' "$1" "$2" "$3"; }
"#;

/// A worker that is left running; it is killed when the test ends before it.
pub(crate) struct Running(Option<Child>);

impl Running {
    fn new(child: Child) -> Self {
        Self(Some(child))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(self.0.as_ref().unwrap());
        kill_process(pid, signal).unwrap();
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.as_mut().unwrap().try_wait().unwrap().is_some()
    }

    pub(crate) fn take_stderr(&mut self) -> ChildStderr {
        self.0.as_mut().unwrap().stderr.take().unwrap()
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Ran {
        finished(self.0.take().unwrap())
    }

    /// Tells it to stop, and waits for its end.
    pub(crate) fn stopped(self) -> Ran {
        self.signal(Signal::TERM);
        self.ended()
    }
}

/// Waits for the end of a program; one that does not end is killed, and its test fails.
fn finished(child: Child) -> Ran {
    let pid = Pid::from_child(&child);
    let (ended, watch) = mpsc::channel::<()>();
    let dog = thread::spawn(move || {
        if watch.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(ended);
    dog.join().unwrap();
    Ran::from(output)
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until a process is gone; one that only waits to be reaped is.
pub(crate) fn gone(pid: &str) {
    until("the end of a process", || {
        let shown = Command::new("ps")
            .args(["-o", "stat=", "-p", pid])
            .output()
            .unwrap();
        let state = String::from_utf8(shown.stdout).unwrap();
        match state.trim() {
            "" => Ok(()),
            state if state.starts_with('Z') => Ok(()),
            state => Err(format!("process {pid} is there: {state}")),
        }
    });
}

/// Whether a file is there.
pub(crate) fn exists(path: &Path) -> bool {
    path.try_exists().unwrap()
}

/// The state, and why.
pub(crate) fn state_and_reason(job: &Value) -> (&str, &str) {
    (text(&job["state"]), job["reason"].as_str().unwrap_or(""))
}
