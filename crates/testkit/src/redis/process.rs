//! A running `redis-server` that ends with this process.
//!
//! A test process killed by SIGKILL runs no destructors. So a shell reads from a pipe whose other end
//! only this process holds: at end of file it kills the server.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// The path of the server to run, such as `valkey-server`.
const PROGRAM: &str = "WINDLASS_REDIS_SERVER";

/// The log file in its folder.
pub(crate) const LOG: &str = "server.log";

/// The configuration file in its folder.
pub(crate) const CONFIG: &str = "server.conf";

/// Exits on a line of input; on end of file it kills the server. Ignores signals to the process group.
const WATCHDOG: &str = r#"trap '' HUP INT TERM; read line || { kill -9 "$1"; rm -rf "$2"; }"#;

/// A server and its watchdog.
#[derive(Debug)]
pub(crate) struct Process {
    server: Child,
    watchdog: Child,
    is_stopped: AtomicBool,
}

impl Process {
    /// Starts a server with the configuration in its folder.
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
                Err(format!("cannot start a shell to watch the server: {error}"))
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.server.id()
    }

    /// Its exit status, if it has exited.
    pub(crate) fn exit_status(&mut self) -> Option<ExitStatus> {
        self.server.try_wait().expect("the server is our child")
    }

    /// Whether it is neither stopped nor exited.
    pub(crate) fn is_running(&mut self) -> bool {
        !self.is_stopped.load(Ordering::Relaxed) && self.exit_status().is_none()
    }

    /// Stops it, and waits until it is stopped.
    pub(crate) fn stop(&self) {
        let pid = Pid::from_child(&self.server);
        kill_process(pid, Signal::STOP).expect("signal the server");
        waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED).expect("wait until the server stops");
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn resume(&self) {
        let pid = Pid::from_child(&self.server);
        self.is_stopped.store(false, Ordering::Relaxed);
        kill_process(pid, Signal::CONT).expect("signal the server");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Reap the server last: until then its process id cannot be reused, and the watchdog that
        // would kill by process id is gone.
        let _ = self.server.kill();
        if let Some(mut line) = self.watchdog.stdin.take() {
            let _ = line.write_all(b"\n");
        }
        let _ = self.watchdog.wait();
        let _ = self.server.wait();
    }
}

fn spawn_server(folder: &Path, is_sentinel: bool) -> Result<Child, String> {
    let cannot_write =
        |error: std::io::Error| format!("cannot write to {}: {error}", folder.display());
    let log = File::options()
        .create(true)
        .append(true)
        .open(folder.join(LOG))
        .map_err(cannot_write)?;
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
        let errors = log.try_clone().map_err(cannot_write)?;
        let spawned = command
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(cannot_write)?)
            .stderr(errors)
            .spawn();
        match spawned {
            Ok(child) => return Ok(child),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(format!("cannot start {}: {error}", program.display())),
        }
    }
    Err(missing(&programs.join(OsStr::new("` or `"))))
}

fn missing(programs: &OsStr) -> String {
    format!(
        "`{}` not found: a private Redis server is needed here\n\
         install it with `cargo xtask check`, `apt-get install redis-server` or \
         `brew install redis`, or set {PROGRAM}=/path/to/valkey-server",
        programs.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_a_missing_server_says_how_to_install_it() {
        let text = missing(OsStr::new("redis-server"));
        assert!(text.contains("cargo xtask check"), "{text}");
        assert!(text.contains("apt-get install"), "{text}");
    }
}
