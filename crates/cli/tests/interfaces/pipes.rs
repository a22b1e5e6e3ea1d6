//! A door that runs: lines are written to it and read from it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::thread::JoinHandle;

use serde_json::Value;

use super::sandbox::Sandbox;

pub(crate) struct Door {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    errors: JoinHandle<Vec<String>>,
}

impl Door {
    pub(crate) fn open(sandbox: &Sandbox, line: &str) -> Self {
        let words: Vec<_> = line.split_whitespace().collect();
        let mut command = sandbox.command(&words);
        command.stdin(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self {
            input: child.stdin.take(),
            output,
            errors: std::thread::spawn(move || stderr.lines().map_while(Result::ok).collect()),
            child,
        }
    }

    pub(crate) fn say(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
    }

    pub(crate) fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub(crate) fn ask(&mut self, line: &str) -> Value {
        self.say(line);
        self.hear()
    }

    /// The two ends, for threads of their own.
    pub(crate) fn take_input(&mut self) -> ChildStdin {
        self.input.take().unwrap()
    }

    pub(crate) fn output(&mut self) -> &mut BufReader<ChildStdout> {
        &mut self.output
    }

    /// The most memory it ever had, in KiB.
    pub(crate) fn memory_peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        let number = line.trim().trim_end_matches("kB").trim();
        number.parse().unwrap()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Closes its input and waits for it; answers what it said on standard error.
    pub(crate) fn close(mut self) -> (ExitStatus, Vec<String>) {
        drop(self.input.take());
        let status = self.child.wait().unwrap();
        (status, self.errors.join().unwrap())
    }
}
