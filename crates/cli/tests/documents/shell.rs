//! Runs the commands of a page in a temporary directory, as if they were pasted.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::mask::mask;
use crate::page::Step;
use crate::sandbox::Sandbox;

/// The shortest id, token or time. Shorter text that differs is not reused by later commands.
const NAME_CHARS_MIN: usize = 20;

/// A shell, and the substitutions for text of the page.
pub(crate) struct Shell {
    pub(crate) sandbox: Sandbox,
    substitutions: Vec<(String, String)>,
}

impl Shell {
    pub(crate) fn new(sandbox: Sandbox) -> Self {
        let substitutions = Vec::new();
        Self {
            sandbox,
            substitutions,
        }
    }

    /// Replaces text of the page, such as the address of a server, in all later commands.
    pub(crate) fn substitute(&mut self, shown: &str, actual: &str) {
        self.substitutions
            .push((shown.to_owned(), actual.to_owned()));
    }

    fn expand(&self, text: &str) -> String {
        let substitutions = self.substitutions.iter();
        substitutions.fold(text.to_owned(), |text, (shown, actual)| {
            text.replace(shown, actual)
        })
    }

    /// A script, with stderr redirected to stdout.
    pub(crate) fn command(&self, script: &str) -> Command {
        self.script(&format!("exec 2>&1\n{script}"))
    }

    /// A script, with `windlass` in `PATH`.
    fn script(&self, script: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_windlass"));
        let folder = program.parent().unwrap().display().to_string();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("sh");
        command
            .args(["-c", &self.expand(script)])
            .current_dir(self.sandbox.path(""))
            .env("PATH", format!("{folder}:{path}"))
            .env_remove("WINDLASS_STORE")
            .env_remove("WINDLASS_HTTP_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        self.sandbox.store.configure(&mut command);
        command
    }

    /// Runs a script and returns its output.
    pub(crate) fn run(&self, script: &str) -> String {
        let output = self.command(script).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command of a page and compares its output, if the page shows one.
    pub(crate) fn play(&mut self, step: &Step) {
        self.write_shown_file(step);
        let output = self.script(&step.command).output().unwrap();
        let outputs = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        if step.shown.is_empty() {
            assert!(output.status.success(), "$ {}: {outputs:?}", step.command);
            return;
        }
        let shown = self.expand(&step.shown);
        let rest = self.match_stdout(shown.lines().collect(), &outputs[0], &step.command);
        // Lines on stderr come from several pipes, so their order is not fixed.
        let errors: Vec<_> = outputs[1].lines().collect();
        let (shown, printed) = (masked(&rest), masked(&errors));
        assert_eq!(printed, shown, "$ {}", step.command);
    }

    /// Matches stdout against the lines shown, in order. Returns the lines that are left, which should
    /// be those of stderr.
    fn match_stdout<'a>(
        &mut self,
        shown: Vec<&'a str>,
        printed: &str,
        command: &str,
    ) -> Vec<&'a str> {
        let mut printed = printed.lines().peekable();
        let mut rest = Vec::new();
        for line in shown {
            match printed.next_if(|printed| mask(printed) == mask(line)) {
                Some(printed) => self.learn_names(line, printed),
                None => rest.push(line),
            }
        }
        let unshown: Vec<_> = printed.collect();
        assert!(unshown.is_empty(), "$ {command}: not shown: {unshown:?}");
        rest
    }

    /// Creates a file that the page shows with `cat`, and makes it executable.
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

    /// Replaces the ids and tokens of the page in later commands by those that were printed.
    fn learn_names(&mut self, shown: &str, printed: &str) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-:.".contains(c);
        let shown = shown.split(|c| !is_part(c));
        let pairs = shown.zip(printed.split(|c| !is_part(c)));
        for (shown, actual) in pairs.filter(|(shown, actual)| shown != actual) {
            if shown.len() >= NAME_CHARS_MIN && shown.len() == actual.len() {
                self.substitute(shown, actual);
            }
        }
    }
}

/// Lines with everything masked that differs from run to run, sorted.
fn masked(lines: &[&str]) -> Vec<String> {
    let mut masked: Vec<String> = lines.iter().map(|line| mask(line)).collect();
    masked.sort();
    masked
}

/// A command that runs until it gets a signal. It is killed if the test fails.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        Self(command.spawn().unwrap())
    }

    /// Sends a signal and waits for the exit.
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
