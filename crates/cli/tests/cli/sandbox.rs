//! A fresh folder for each test, and the real program to run in it.

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::place::{Holder, Place};

/// A folder and a store of its own, removed when the test ends.
pub(crate) struct Sandbox {
    folder: TempDir,
    pub(crate) place: Place,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::on(Place::new())
    }

    /// A folder with a store that was made before.
    pub(crate) fn on(place: Place) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            place,
        }
    }

    /// A file in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Whether anything was put into a store.
    pub(crate) fn has_store(&self) -> bool {
        self.place.is_made(self.folder.path())
    }

    /// Keeps all others from writing to the store, for as long as the answer is there.
    pub(crate) fn hold_store(&self) -> Holder {
        self.place.hold(self.folder.path())
    }

    /// The program in the folder, untouched by the environment of whoever runs the tests.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("WINDLASS_STORE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.place.name_to(&mut command);
        command
    }

    /// Runs a line whose words have no spaces in them.
    pub(crate) fn run(&self, line: &str) -> Ran {
        let words: Vec<_> = line.split_whitespace().collect();
        self.run_words(&words)
    }

    /// Runs a line word by word.
    pub(crate) fn run_words<S: AsRef<OsStr>>(&self, words: &[S]) -> Ran {
        Ran::from(self.command(words).output().unwrap())
    }

    /// Runs a line with bytes on standard input.
    pub(crate) fn feed(&self, line: &str, input: &[u8]) -> Ran {
        let words: Vec<_> = line.split_whitespace().collect();
        let mut child = self.command(&words).stdin(Stdio::piped()).spawn().unwrap();
        // A program that refuses before it reads closes the pipe early.
        let _ = child.stdin.take().unwrap().write_all(input);
        Ran::from(child.wait_with_output().unwrap())
    }

    /// Runs a line whose standard output nobody reads.
    pub(crate) fn run_unheard(&self, line: &str) -> Ran {
        let words: Vec<_> = line.split_whitespace().collect();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Ran::from(self.command(&words).stdout(writer).output().unwrap())
    }

    /// Starts a line and leaves it running.
    pub(crate) fn start(&self, line: &str) -> Child {
        let words: Vec<_> = line.split_whitespace().collect();
        self.command(&words).spawn().unwrap()
    }

    /// Claims one job and answers its JSON.
    pub(crate) fn claim(&self, queue: &str) -> Value {
        let claimed = self.run(&format!("claim {queue} --json")).ok().json();
        assert_eq!(claimed.as_array().unwrap().len(), 1, "{claimed}");
        claimed[0].clone()
    }
}

/// How a run ended.
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

    /// The one JSON document on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.text(), self.stderr))
    }

    /// The JSON documents on standard output, one a line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The error on standard error: with a code, a message and help, and nothing beside it.
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
