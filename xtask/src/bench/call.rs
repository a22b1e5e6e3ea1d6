//! One call of a queue's program: one line of JSON comes back, or its last words.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::install;

/// Nobody waits longer for a measurement of a few seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often we look whether it ended.
const GLANCE: Duration = Duration::from_millis(5);

/// Lines of what a program said last.
const LAST_WORDS: usize = 3;

/// Runs the program and reads its answer; the `Err` says what went wrong, with its last words.
pub(super) fn answer(folder: &Path, command: &mut Command) -> Result<Value, String> {
    within(PATIENCE, folder, command)
}

fn within(patience: Duration, folder: &Path, command: &mut Command) -> Result<Value, String> {
    let (out, err) = (folder.join("out"), folder.join("err"));
    let open = |path: &Path| {
        File::create(path).map_err(|error| format!("{} cannot be made: {error}", path.display()))
    };
    let child = command
        .stdin(Stdio::null())
        .stdout(open(&out)?)
        .stderr(open(&err)?)
        // A group of its own, so that its workers can be ended with it.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("it could not start: {error}"))?;
    let ended = end_of(child, patience);
    let said = install::read(&out).unwrap_or_default();
    let last_words = || {
        last(&format!(
            "{said}\n{}",
            install::read(&err).unwrap_or_default()
        ))
    };
    match ended? {
        None => Err(format!(
            "no answer within {} s; last words: {}",
            patience.as_secs(),
            last_words()
        )),
        Some(status) if !status.success() => {
            Err(format!("ended with {status}; last words: {}", last_words()))
        }
        Some(_) => said
            .lines()
            .last()
            .and_then(|line| serde_json::from_str(line).ok())
            .ok_or_else(|| format!("it answered no JSON; last words: {}", last_words())),
    }
}

/// Waits for the end, and ends whatever of its group is left; nothing when it took too long.
fn end_of(mut child: Child, patience: Duration) -> Result<Option<ExitStatus>, String> {
    let began = Instant::now();
    let ended = loop {
        match child.try_wait() {
            Ok(None) if began.elapsed() < patience => glance(),
            Ok(ended) => break Ok(ended),
            Err(error) => break Err(format!("it cannot be waited for: {error}")),
        }
    };
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // Mostly nobody is left, which is an error of no interest.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
    ended
}

/// Waits a moment before somebody looks again.
#[expect(
    clippy::disallowed_methods,
    reason = "the end of a child, or of somebody else's clients, is seen by looking"
)]
pub(super) fn glance() {
    std::thread::sleep(GLANCE);
}

fn last(text: &str) -> String {
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let from = lines.len().saturating_sub(LAST_WORDS);
    let words = lines[from..].join(" / ");
    if words.is_empty() {
        return "none".to_owned();
    }
    words.chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, patience: Duration) -> Result<Value, String> {
        let folder = tempfile::tempdir().expect("a folder");
        within(
            patience,
            folder.path(),
            Command::new("sh").args(["-c", script]),
        )
    }

    #[test]
    fn the_last_line_is_the_answer() {
        let answer = shell("echo talk; echo '{\"per_s\": 2.5}'", PATIENCE).expect("an answer");
        assert_eq!(answer["per_s"], 2.5);
        assert_eq!(shell("echo null", PATIENCE), Ok(Value::Null));
    }

    #[test]
    fn a_program_that_fails_is_told_with_its_last_words() {
        let why = shell("echo '{}'; echo no luck >&2; exit 3", PATIENCE);
        assert!(why.is_err_and(|why| why.contains("status: 3") && why.contains("no luck")));
        let why = shell("echo nonsense", PATIENCE);
        assert!(why.is_err_and(|why| why.contains("no JSON") && why.contains("nonsense")));
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_its_children() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = "sleep 600 & echo $! > pid; echo stuck; wait";
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(folder.path());

        let why = within(Duration::from_secs(5), folder.path(), &mut command);

        assert!(why.is_err_and(|why| why.contains("no answer") && why.contains("stuck")));
        let child = std::fs::read_to_string(folder.path().join("pid")).expect("it was started");
        let child = Path::new("/proc").join(child.trim()).join("cmdline");
        let began = Instant::now();
        // A zombie has no command line any more.
        while std::fs::read(&child).is_ok_and(|line| !line.is_empty()) {
            assert!(began.elapsed() < PATIENCE, "its child lives on");
            glance();
        }
    }
}
