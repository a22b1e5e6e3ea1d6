//! A running `redis-server`: ours to signal, and dead when we are.
//!
//! A test process that dies by SIGKILL drops nothing. So a shell waits at the end of a pipe that
//! we alone hold open: when we are gone it reads the end of it and kills the server.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// The program to run: a path, for example that of a `valkey-server`.
const PROGRAM: &str = "WINDLASS_REDIS_SERVER";

/// What a server prints, in its folder.
pub(crate) const LOG: &str = "server.log";

/// Its configuration, in its folder.
pub(crate) const CONFIG: &str = "server.conf";

/// A line means that all is well; signals for the whole group of processes are not for it.
const WATCHDOG: &str = r#"trap '' HUP INT TERM; read line || { kill -9 "$1"; rm -rf "$2"; }"#;

/// A server and its watchdog.
#[derive(Debug)]
pub(crate) struct Process {
    server: Child,
    watchdog: Child,
    is_stopped: AtomicBool,
}

impl Process {
    /// Starts a server on the configuration in its folder; the `Err` says why it cannot.
    pub(crate) fn start(folder: &Path, is_sentinel: bool) -> Result<Self, String> {
        let mut server = spawn_server(folder, is_sentinel)?;
        let watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "watchdog"])
            .arg(server.id().to_string())
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match watchdog {
            Ok(watchdog) => Ok(Self {
                server,
                watchdog,
                is_stopped: AtomicBool::new(false),
            }),
            Err(error) => {
                let _ = server.kill();
                let _ = server.wait();
                Err(format!("no shell starts to watch over the server: {error}"))
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.server.id()
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.server.try_wait().expect("the server is our child")
    }

    /// Whether it can answer.
    pub(crate) fn is_running(&mut self) -> bool {
        !self.is_stopped.load(Ordering::Relaxed) && self.ended().is_none()
    }

    /// Stops it, and returns when it stands.
    pub(crate) fn stop(&self) {
        let pid = Pid::from_child(&self.server);
        kill_process(pid, Signal::STOP).expect("the server is there to be stopped");
        waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED).expect("the server stops");
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn resume(&self) {
        let pid = Pid::from_child(&self.server);
        self.is_stopped.store(false, Ordering::Relaxed);
        kill_process(pid, Signal::CONT).expect("the server is there to go on");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The number of the server is free for others only after the last line; by then nobody
        // is left who would kill by number.
        let _ = self.server.kill();
        if let Some(mut line) = self.watchdog.stdin.take() {
            let _ = line.write_all(b"\n");
        }
        let _ = self.watchdog.wait();
        let _ = self.server.wait();
    }
}

fn spawn_server(folder: &Path, is_sentinel: bool) -> Result<Child, String> {
    let unwritten =
        |error: std::io::Error| format!("cannot write into {}: {error}", folder.display());
    let log = File::options()
        .create(true)
        .append(true)
        .open(folder.join(LOG))
        .map_err(unwritten)?;
    let programs = match std::env::var_os(PROGRAM) {
        Some(program) => vec![program],
        None => ["redis-server", "valkey-server"]
            .map(OsString::from)
            .to_vec(),
    };
    for program in &programs {
        let mut command = Command::new(program);
        command.arg(folder.join(CONFIG));
        if is_sentinel {
            command.arg("--sentinel");
        }
        let errors = log.try_clone().map_err(unwritten)?;
        let spawned = command
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(unwritten)?)
            .stderr(errors)
            .spawn();
        match spawned {
            Ok(child) => return Ok(child),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(format!("{} could not start: {error}", program.display())),
        }
    }
    Err(missing(&programs.join(OsStr::new("` or `"))))
}

fn missing(programs: &OsStr) -> String {
    format!(
        "`{}` was not found, and a Redis server of its own is needed here\n\
         to get it: `cargo xtask check` installs it, or by hand `apt-get install redis-server`, \
         `brew install redis`; another one is named by {PROGRAM}=/path/to/valkey-server",
        programs.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_server_says_how_to_get_it() {
        let text = missing(OsStr::new("redis-server"));
        assert!(text.contains("cargo xtask check"), "{text}");
        assert!(text.contains("apt-get install"), "{text}");
    }
}
