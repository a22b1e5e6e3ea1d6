//! Runs a queue's program once and reads its reply: one line of JSON, or its last output if it failed.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use xtask::install;

/// Measurements take a few seconds.
const TIMEOUT: Duration = Duration::from_secs(60);

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Lines of output that an error quotes.
const LAST_LINES: usize = 3;

/// Runs the program and returns its reply; an error quotes its last output.
pub(super) fn run(folder: &Path, command: &mut Command) -> Result<Value, String> {
    within(TIMEOUT, folder, command)
}

fn within(timeout: Duration, folder: &Path, command: &mut Command) -> Result<Value, String> {
    let (out, err) = (folder.join("out"), folder.join("err"));
    let open = |path: &Path| {
        File::create(path).map_err(|error| format!("cannot create {}: {error}", path.display()))
    };
    let child = command
        .stdin(Stdio::null())
        .stdout(open(&out)?)
        .stderr(open(&err)?)
        // A separate process group, so that its workers can be killed with it.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("cannot start it: {error}"))?;
    let ended = wait_for_exit(child, timeout);
    let stdout = install::read(&out).unwrap_or_default();
    let last_output = || {
        last_lines(&format!(
            "{stdout}\n{}",
            install::read(&err).unwrap_or_default()
        ))
    };
    match ended? {
        None => Err(format!(
            "timed out after {} s; last output: {}",
            timeout.as_secs(),
            last_output()
        )),
        Some(status) if !status.success() => {
            Err(format!("{status}; last output: {}", last_output()))
        }
        Some(_) => stdout
            .lines()
            .last()
            .and_then(|line| serde_json::from_str(line).ok())
            .ok_or_else(|| format!("the last line is not JSON; last output: {}", last_output())),
    }
}

/// Waits for the exit and kills the rest of the group. Returns `None` on timeout.
fn wait_for_exit(mut child: Child, timeout: Duration) -> Result<Option<ExitStatus>, String> {
    let began = Instant::now();
    let ended = loop {
        match child.try_wait() {
            Ok(None) if began.elapsed() < timeout => poll_pause(),
            Ok(ended) => break Ok(ended),
            Err(error) => break Err(format!("cannot wait for it: {error}")),
        }
    };
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // Fails if the group is already gone, which is the usual case.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
    ended
}

/// Sleeps for one poll interval.
#[expect(
    clippy::disallowed_methods,
    reason = "the exit of a child, or of another program's clients, has to be polled"
)]
pub(super) fn poll_pause() {
    std::thread::sleep(POLL_INTERVAL);
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let from = lines.len().saturating_sub(LAST_LINES);
    let output = lines[from..].join(" / ");
    if output.is_empty() {
        return "(no output)".to_owned();
    }
    output.chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, timeout: Duration) -> Result<Value, String> {
        let folder = tempfile::tempdir().expect("a folder");
        within(
            timeout,
            folder.path(),
            Command::new("sh").args(["-c", script]),
        )
    }

    #[test]
    fn the_last_line_is_the_reply() {
        let answer = shell("echo talk; echo '{\"per_s\": 2.5}'", TIMEOUT).expect("a reply");
        assert_eq!(answer["per_s"], 2.5);
        assert_eq!(shell("echo null", TIMEOUT), Ok(Value::Null));
    }

    #[test]
    fn a_program_that_fails_is_reported_with_its_last_output() {
        let why = shell("echo '{}'; echo no luck >&2; exit 3", TIMEOUT);
        assert!(why.is_err_and(|why| why.contains("status: 3") && why.contains("no luck")));
        let why = shell("echo nonsense", TIMEOUT);
        assert!(why.is_err_and(|why| why.contains("not JSON") && why.contains("nonsense")));
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_its_children() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = "sleep 600 & echo $! > pid; echo stuck; wait";
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(folder.path());

        let why = within(Duration::from_secs(5), folder.path(), &mut command);

        assert!(why.is_err_and(|why| why.contains("timed out") && why.contains("stuck")));
        let child =
            std::fs::read_to_string(folder.path().join("pid")).expect("the child has started");
        let child = Path::new("/proc").join(child.trim()).join("cmdline");
        let began = Instant::now();
        // A zombie has an empty command line.
        while std::fs::read(&child).is_ok_and(|line| !line.is_empty()) {
            assert!(began.elapsed() < TIMEOUT, "its child is still running");
            poll_pause();
        }
    }
}
