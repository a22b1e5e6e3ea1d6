//! Runs what a page shows in a folder of its own, as somebody does who pastes it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::mask::mask;
use crate::page::Step;
use crate::sandbox::Sandbox;

/// A line that a worker which ends at that moment may leave out.
const SOMETIMES: &str = "; it starts again in ";

/// Ids, tokens and times are at least so long; nothing else that differs is asked for again.
const NAME_CHARS_MIN: usize = 20;

/// A shell, and what stands here for the words of the page.
pub(crate) struct Shell {
    pub(crate) sandbox: Sandbox,
    stand_ins: Vec<(String, String)>,
}

impl Shell {
    pub(crate) fn new(sandbox: Sandbox) -> Self {
        let stand_ins = Vec::new();
        Self { sandbox, stand_ins }
    }

    /// Says what is meant here by words of the page, such as the address of a server.
    pub(crate) fn instead(&mut self, shown: &str, here: &str) {
        self.stand_ins.push((shown.to_owned(), here.to_owned()));
    }

    fn meant(&self, text: &str) -> String {
        let stand_ins = self.stand_ins.iter();
        stand_ins.fold(text.to_owned(), |text, (shown, here)| {
            text.replace(shown, here)
        })
    }

    /// A script, both its outputs in one.
    pub(crate) fn command(&self, script: &str) -> Command {
        self.script(&format!("exec 2>&1\n{script}"))
    }

    /// A script; `windlass` is found as after an installation.
    fn script(&self, script: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_windlass"));
        let folder = program.parent().unwrap().display().to_string();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("sh");
        command
            .args(["-c", &self.meant(script)])
            .current_dir(self.sandbox.path(""))
            .env("PATH", format!("{folder}:{path}"))
            .env_remove("WINDLASS_STORE")
            .env_remove("WINDLASS_HTTP_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        self.sandbox.place.name_to(&mut command);
        command
    }

    /// Runs a script and answers what it printed.
    pub(crate) fn run(&self, script: &str) -> String {
        let output = self.command(script).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command of a page and compares what it prints, where the page shows that.
    pub(crate) fn play(&mut self, step: &Step) {
        self.write_shown_file(step);
        let output = self.script(&step.command).output().unwrap();
        let outputs = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        if step.shown.is_empty() {
            assert!(output.status.success(), "$ {}: {outputs:?}", step.command);
            return;
        }
        let shown = self.meant(&step.shown);
        let rest = self.find(lines(&shown), &outputs[0], &step.command);
        // Remarks come from several pipes, so there is no order among them.
        let (shown, printed) = (masked(&rest), masked(&lines(&outputs[1])));
        assert_eq!(printed, shown, "$ {}", step.command);
    }

    /// Finds the results that were printed among the lines shown, in their order, and leaves the
    /// remarks.
    fn find<'a>(&mut self, shown: Vec<&'a str>, printed: &str, command: &str) -> Vec<&'a str> {
        let mut printed = lines(printed).into_iter().peekable();
        let mut rest = Vec::new();
        for line in shown {
            match printed.next_if(|printed| mask(printed) == mask(line)) {
                Some(printed) => self.learn(line, printed),
                None => rest.push(line),
            }
        }
        let unshown: Vec<_> = printed.collect();
        assert!(unshown.is_empty(), "$ {command}: not shown: {unshown:?}");
        rest
    }

    /// A file whose text the page shows with `cat` is there, and can be run.
    fn write_shown_file(&self, step: &Step) {
        let Some(name) = step.command.strip_prefix("cat ") else {
            return;
        };
        let path = self.sandbox.path(name);
        if !path.exists() {
            std::fs::write(&path, &step.shown).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        }
    }

    /// Later commands name the ids and tokens that were printed here, not those of the page.
    fn learn(&mut self, shown: &str, printed: &str) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-:.".contains(c);
        let shown = shown.split(|c| !is_part(c));
        let pairs = shown.zip(printed.split(|c| !is_part(c)));
        for (shown, here) in pairs.filter(|(shown, here)| shown != here) {
            if shown.len() >= NAME_CHARS_MIN && shown.len() == here.len() {
                self.instead(shown, here);
            }
        }
    }
}

/// The lines that are always there.
fn lines(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.contains(SOMETIMES));
    lines.collect()
}

/// Lines without what differs from run to run, in an order of their own.
fn masked(lines: &[&str]) -> Vec<String> {
    let mut masked: Vec<String> = lines.iter().map(|line| mask(line)).collect();
    masked.sort();
    masked
}

/// A command that goes on until it is told to end; it is killed when the test fails.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        Self(command.spawn().unwrap())
    }

    /// Tells it to end, and waits.
    pub(crate) fn end(mut self, signal: Signal) -> ExitStatus {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
        self.0.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
