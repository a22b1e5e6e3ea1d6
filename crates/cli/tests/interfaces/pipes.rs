//! A running command that reads lines from stdin and writes lines to stdout.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::thread::JoinHandle;

use serde_json::Value;

use super::sandbox::Sandbox;

pub(crate) struct PipeSession {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    errors: JoinHandle<Vec<String>>,
}

impl PipeSession {
    pub(crate) fn start(sandbox: &Sandbox, line: &str) -> Self {
        let arguments: Vec<_> = line.split_whitespace().collect();
        let mut command = sandbox.command(&arguments);
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

    pub(crate) fn write_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
    }

    pub(crate) fn read_reply(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub(crate) fn request(&mut self, line: &str) -> Value {
        self.write_line(line);
        self.read_reply()
    }

    /// Takes the input, to write from another thread.
    pub(crate) fn take_input(&mut self) -> ChildStdin {
        self.input.take().unwrap()
    }

    pub(crate) fn output(&mut self) -> &mut BufReader<ChildStdout> {
        &mut self.output
    }

    /// Returns the peak memory in KiB.
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

    /// Closes the input and waits for the exit. Returns the lines on stderr.
    pub(crate) fn close(mut self) -> (ExitStatus, Vec<String>) {
        drop(self.input.take());
        let status = self.child.wait().unwrap();
        (status, self.errors.join().unwrap())
    }
}
