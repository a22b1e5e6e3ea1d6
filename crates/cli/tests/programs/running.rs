//! Helpers to run workers, and to wait for them and their processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use windlass_testkit::redis::until;
use windlass_testkit::redis::wait::TIMEOUT;

use super::sandbox::{Ran, Sandbox, text};

impl Sandbox {
    /// Enqueues a job in queue `q`.
    pub(crate) fn job(&self, id: &str, payload: &str, flags: &str) {
        let mut words = vec!["enqueue", "q", payload, "--id", id];
        words.extend(flags.split_whitespace());
        self.run_words(&words).ok();
    }

    /// Enqueues a job of the maximum size in queue `q`.
    pub(crate) fn large_job(&self, id: &str, flags: &str) {
        let line = format!("enqueue q - --id {id} {flags}");
        self.feed(&line, &vec![b'x'; 1024 * 1024]).ok();
    }

    /// Returns a job of queue `q`.
    pub(crate) fn shown(&self, id: &str) -> Value {
        self.run_words(&["job", "get", "q", id, "--json"])
            .ok()
            .json()
    }

    /// Waits until a job of queue `q` is in this state.
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

    /// Creates an executable shell script.
    pub(crate) fn program(&self, name: &str, script: &str) {
        fs::write(self.path(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path(name), mode).unwrap();
    }

    /// Runs all jobs of queue `q` with a shell script.
    pub(crate) fn exec(&self, flags: &str, script: &str) -> Ran {
        let mut command = self.exec_command(flags);
        command.args(["--burst", "--json"]).args(tail(script));
        finished(command.spawn().unwrap())
    }

    /// Starts `exec` with a script in the background.
    pub(crate) fn start_exec(&self, flags: &str, script: &str) -> Running {
        Running::new(self.exec_command(flags).args(tail(script)).spawn().unwrap())
    }

    pub(crate) fn exec_command(&self, flags: &str) -> Command {
        let mut words = vec!["exec", "--queue", "q"];
        words.extend(flags.split_whitespace());
        self.command(&words)
    }

    /// Runs all jobs of queue `q` with a resident shell script.
    pub(crate) fn worker(&self, flags: &str, script: &str) -> Ran {
        let mut command = self.worker_command(flags);
        command.arg("--burst").args(tail(script));
        finished(command.spawn().unwrap())
    }

    /// Starts `worker --stdio` with a script in the background.
    pub(crate) fn start_worker(&self, flags: &str, script: &str) -> Running {
        Running::new(
            self.worker_command(flags)
                .args(tail(script))
                .spawn()
                .unwrap(),
        )
    }

    pub(crate) fn worker_command(&self, flags: &str) -> Command {
        fs::write(self.path("lib.sh"), LIB).unwrap();
        let mut words = vec!["worker", "--queue", "q", "--stdio"];
        words.extend(flags.split_whitespace());
        self.command(&words)
    }

    /// Waits for a line in a file and returns it.
    pub(crate) fn line_of(&self, file: &str) -> String {
        until(file, || match fs::read_to_string(self.path(file)) {
            Ok(text) if text.ends_with('\n') => Ok(text.trim().to_owned()),
            other => Err(format!("{other:?}")),
        })
    }

    /// Creates a gate: a script that runs `read _ < gate` blocks until it is opened.
    pub(crate) fn gate(&self, name: &str) {
        let made = Command::new("mkfifo")
            .arg(self.path(name))
            .status()
            .unwrap();
        assert!(made.success());
    }

    /// Opens a gate; blocks until a script waits at it.
    pub(crate) fn open(&self, name: &str) {
        fs::write(self.path(name), "go\n").unwrap();
    }
}

pub(crate) fn tail(script: &str) -> [&str; 4] {
    ["--", "sh", "-c", script]
}

/// Shell functions for resident scripts: `next_job` reads the next job, `done_with` completes one.
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

/// A worker in the background; killed when dropped.
pub(crate) struct Running(Option<Child>);

impl Running {
    pub(crate) fn new(child: Child) -> Self {
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

    /// Waits until it exits.
    pub(crate) fn ended(mut self) -> Ran {
        finished(self.0.take().unwrap())
    }

    /// Sends SIGTERM and waits until it exits.
    pub(crate) fn stopped(self) -> Ran {
        self.signal(Signal::TERM);
        self.ended()
    }
}

/// Waits until a program exits; kills it after a timeout, which fails the test.
pub(crate) fn finished(child: Child) -> Ran {
    let pid = Pid::from_child(&child);
    let (ended, watch) = mpsc::channel::<()>();
    let watchdog = thread::spawn(move || {
        if watch.recv_timeout(TIMEOUT) == Err(RecvTimeoutError::Timeout) {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(ended);
    watchdog.join().unwrap();
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

/// Waits until a process is gone. A zombie counts as gone.
pub(crate) fn gone(pid: &str) {
    until("the process to exit", || {
        let shown = Command::new("ps")
            .args(["-o", "stat=", "-p", pid])
            .output()
            .unwrap();
        let state = String::from_utf8(shown.stdout).unwrap();
        match state.trim() {
            "" => Ok(()),
            state if state.starts_with('Z') => Ok(()),
            state => Err(format!("process {pid} still exists: {state}")),
        }
    });
}

/// Returns whether a file exists.
pub(crate) fn exists(path: &Path) -> bool {
    path.try_exists().unwrap()
}

/// The state of a job and its reason.
pub(crate) fn state_and_reason(job: &Value) -> (&str, &str) {
    (text(&job["state"]), job["reason"].as_str().unwrap_or(""))
}
