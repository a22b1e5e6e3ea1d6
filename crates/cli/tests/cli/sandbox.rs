//! A fresh folder for each test, and the real program to run in it.

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::test_store::{StoreLock, TestStore};

/// A private folder and store, removed when the test ends.
pub(crate) struct Sandbox {
    folder: TempDir,
    pub(crate) store: TestStore,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::on(TestStore::new())
    }

    /// A folder with the given store.
    pub(crate) fn on(store: TestStore) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            store,
        }
    }

    /// A file in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns whether the store exists.
    pub(crate) fn has_store(&self) -> bool {
        self.store.exists(self.folder.path())
    }

    /// Blocks all writes to the store until the lock is dropped.
    pub(crate) fn lock_store(&self) -> StoreLock {
        self.store.lock(self.folder.path())
    }

    /// The program, run in the folder without the caller's `WINDLASS_STORE`.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("WINDLASS_STORE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.store.configure(&mut command);
        command
    }

    /// Runs a command line, split at spaces.
    pub(crate) fn run(&self, line: &str) -> Ran {
        let words: Vec<_> = line.split_whitespace().collect();
        self.run_words(&words)
    }

    /// Runs a command line given as arguments.
    pub(crate) fn run_words<S: AsRef<OsStr>>(&self, words: &[S]) -> Ran {
        Ran::from(self.command(words).output().unwrap())
    }

    /// Runs a command line with bytes on stdin.
    pub(crate) fn feed(&self, line: &str, input: &[u8]) -> Ran {
        let words: Vec<_> = line.split_whitespace().collect();
        let mut child = self.command(&words).stdin(Stdio::piped()).spawn().unwrap();
        // The program may exit before it reads stdin.
        let _ = child.stdin.take().unwrap().write_all(input);
        Ran::from(child.wait_with_output().unwrap())
    }

    /// Runs a command line whose stdout is a closed pipe.
    pub(crate) fn run_with_closed_stdout(&self, line: &str) -> Ran {
        let words: Vec<_> = line.split_whitespace().collect();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Ran::from(self.command(&words).stdout(writer).output().unwrap())
    }

    /// Starts a command line in the background.
    pub(crate) fn start(&self, line: &str) -> Child {
        let words: Vec<_> = line.split_whitespace().collect();
        self.command(&words).spawn().unwrap()
    }

    /// Claims one job and returns its JSON.
    pub(crate) fn claim(&self, queue: &str) -> Value {
        let claimed = self.run(&format!("claim {queue} --json")).ok().json();
        assert_eq!(claimed.as_array().unwrap().len(), 1, "{claimed}");
        claimed[0].clone()
    }
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{} {}", self.text(), self.stderr);
        self
    }

    /// Asserts success.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.exits(0)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The JSON document on stdout.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.text(), self.stderr))
    }

    /// The JSON documents on stdout, one per line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The error on stderr, which must have a code, a message and help.
    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        let error: Value = serde_json::from_str(&self.stderr)
            .unwrap_or_else(|error| panic!("{error}: {}", self.stderr));
        for field in ["code", "message", "help"] {
            assert!(error["error"][field].is_string(), "{error}");
        }
        error["error"].clone()
    }
}

/// The text of a JSON field.
#[track_caller]
pub(crate) fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("not a string: {value}"))
}

/// Asserts that a JSON object has these fields.
#[track_caller]
pub(crate) fn has_fields(value: &Value, fields: &str) {
    for field in fields.split_whitespace() {
        assert!(value.get(field).is_some(), "{field} is missing in {value}");
    }
}
