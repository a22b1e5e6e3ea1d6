//! `windlass top`, on a pseudo-terminal and without one.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::sandbox::{Sandbox, has_fields};

/// Shows the pid and the screen, then the exit code and the modes of the terminal.
const SHELL: &str = r#"stty rows 24 cols 80; sh -c 'echo "pid=$$ "; exec "$WINDLASS" top'; echo "exit=$?"; stty -a"#;

/// How long to wait for a text on the screen.
const TIMEOUT: Duration = Duration::from_secs(60);

/// `top` on a terminal that `script` makes.
pub(crate) struct OnTerminal {
    script: Child,
    printed: Receiver<Vec<u8>>,
    seen: String,
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // It has ended unless the test failed.
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

impl OnTerminal {
    pub(crate) fn start(sandbox: &Sandbox) -> Self {
        let top = sandbox.command(&["top"]);
        let mut script = Command::new("script");
        script
            .args(["-qefc", SHELL, "/dev/null"])
            .env("WINDLASS", top.get_program())
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh")
            .env_remove("WINDLASS_STORE")
            .current_dir(top.get_current_dir().unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        for (name, value) in top.get_envs() {
            if let Some(value) = value {
                script.env(name, value);
            }
        }
        let mut script = script.spawn().unwrap();
        let mut stdout = script.stdout.take().unwrap();
        let (sender, printed) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = stdout.read(&mut bytes) {
                let _ = sender.send(bytes[..length].to_vec());
            }
        });
        Self {
            script,
            printed,
            seen: String::new(),
        }
    }

    /// Reads until the screen has shown a text, without the commands for the terminal.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let end = Instant::now() + TIMEOUT;
        while !plain(&self.seen).contains(text) {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.printed.recv_timeout(left) else {
                panic!("{text:?} is not shown: {}", self.seen);
            };
            self.seen += &String::from_utf8_lossy(&bytes);
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        let stdin = self.script.stdin.as_mut().unwrap();
        stdin.write_all(keys.as_bytes()).unwrap();
    }

    fn terminate(&mut self) {
        let pid = self.seen.split("pid=").nth(1).unwrap();
        let pid = pid.split_whitespace().next().unwrap().parse().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    }

    /// Returns everything that was printed.
    pub(crate) fn end(mut self) -> String {
        self.wait_for("exit=");
        while let Ok(bytes) = self.printed.recv_timeout(TIMEOUT) {
            self.seen += &String::from_utf8_lossy(&bytes);
        }
        std::mem::take(&mut self.seen)
    }
}

/// Replaces the commands for the terminal with single spaces.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split("\u{1b}[");
    plain += parts.next().unwrap_or_default();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        plain.push(' ');
        plain += end.map_or("", |end| &part[end + 1..]);
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_numbers_are_shown_and_the_terminal_is_restored_however_it_ends() {
    let ends: [fn(&mut OnTerminal); 3] = [
        |top| top.press("q"),
        |top| top.press("\u{3}"),
        OnTerminal::terminate,
    ];
    for end in ends {
        let sandbox = Sandbox::new();
        sandbox.run("enqueue mail x").ok();
        sandbox.run("enqueue mail y").ok();
        let mut top = OnTerminal::start(&sandbox);
        top.wait_for("ready 2 scheduled 0");
        top.wait_for("mail 2 0 0 0");

        end(&mut top);

        let printed = top.end();
        assert!(printed.contains("exit=0"), "{printed}");
        let (_, after) = printed.rsplit_once("\u{1b}[?1049l").unwrap();
        assert!(
            after.contains(" icanon") && after.contains(" echo "),
            "{after}"
        );
        assert!(printed.contains("\u{1b}[?25h"), "the cursor is shown");
    }
}

#[test]
fn keys_change_the_store() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue mail x").ok();
    let mut top = OnTerminal::start(&sandbox);
    top.wait_for("ready 1 scheduled 0");

    top.press("p");
    top.wait_for("mail paused");
    top.press("\r");
    top.wait_for("[ready]");
    top.press("q");

    top.end();
    let stats = sandbox.run("queue stats mail --json").ok().json();
    assert_eq!(stats["paused"], true);
}

#[test]
fn without_a_terminal_it_prints_one_snapshot_if_asked() {
    let sandbox = Sandbox::new();
    sandbox
        .run("enqueue mail x --id a --max-attempts 1 --kind letter")
        .ok();
    let token = sandbox.claim("mail")["token"].as_str().unwrap().to_owned();
    sandbox
        .run(&format!("fail mail a --token {token} --error broken"))
        .ok();

    let refused = sandbox.run("top").exits(2);
    let json = sandbox.run("top --json").ok().json();
    let text = sandbox.run("top --once").ok().text();

    assert!(
        refused.stderr.contains("windlass top --once"),
        "{}",
        refused.stderr
    );
    has_fields(
        &json["queues"][0],
        "queue ready dead in_per_second out_per_second workers",
    );
    assert_eq!(json["total"]["dead"], 1);
    let failure = &json["failures"][0];
    assert_eq!(
        (&failure["id"], &failure["error"]),
        (&"a".into(), &"broken".into())
    );
    assert!(text.contains("QUEUE") && text.contains("broken"), "{text}");
}
