//! Completions, man pages and hints: what helps to find a command.

use std::process::Command;

use super::sandbox::{Ran, Sandbox, text};

/// Returns the completions of the last word.
fn completed(sandbox: &Sandbox, line: &str) -> Vec<String> {
    let words: Vec<_> = ["--", "windlass"]
        .into_iter()
        .chain(line.split(' '))
        .collect();
    let mut command = sandbox.command(&words);
    command
        .env("WINDLASS_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 2).to_string())
        .env("_CLAP_IFS", "\n");
    let ran = Ran::from(command.output().unwrap()).ok();
    ran.text().lines().map(str::to_owned).collect()
}

#[test]
fn queues_states_settings_and_flags_are_completed() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue mail x").ok();
    sandbox.run("enqueue news x").ok();
    sandbox.run("enqueue other x --store sqlite:other.db").ok();
    for (line, expected) in [
        ("queue stats m", &["mail"][..]),
        ("exec --queue n", &["news"]),
        ("exec n", &["news"]),
        ("job list mail --state r", &["ready", "running"]),
        ("queue set mail dead_a", &["dead_age="]),
        ("--store sqlite:other.db queue stats ", &["other"]),
        ("exec mail --stdin j", &["job"]),
    ] {
        let found = completed(&sandbox, line);
        let found: Vec<_> = found.iter().map(String::as_str).collect();
        assert!(found.starts_with(expected), "{line}: {found:?}");
    }
    assert!(completed(&sandbox, "enq").contains(&"enqueue".to_owned()));
}

#[test]
fn a_completion_creates_no_store() {
    let sandbox = Sandbox::new();
    assert!(completed(&sandbox, "queue stats m").is_empty());
    assert!(!sandbox.has_store());
}

#[test]
fn every_shell_has_a_script_that_asks_this_program() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = sandbox.run(&format!("completions {shell}")).ok().text();
        assert!(script.contains("WINDLASS_COMPLETE"), "{shell}: {script}");
        let path = sandbox.path(shell);
        std::fs::write(&path, script).unwrap();
        // Shells that are installed check the syntax.
        let is_checked = ["bash", "fish", "zsh"].contains(&shell);
        if is_checked && let Ok(checked) = Command::new(shell).arg("-n").arg(&path).output() {
            assert!(checked.status.success(), "{shell}: {checked:?}");
        }
    }
}

#[test]
fn every_command_has_a_man_page() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("man1")).unwrap();

    sandbox.run("man man1").ok();

    for (page, content) in [
        ("windlass.1", "enqueue"),
        ("windlass-exec.1", "\\-\\-burst"),
        ("windlass-queue-set.1", "dead_age"),
    ] {
        let text = std::fs::read_to_string(sandbox.path("man1").join(page)).unwrap();
        assert!(text.contains(content), "{page}: {text}");
    }
    let hidden = sandbox.path("man1").join("windlass-demo-worker.1");
    assert!(!hidden.exists());
    sandbox.run("man missing-folder").exits(2);
}

#[test]
fn a_word_of_another_tool_is_a_usage_error_with_the_command_to_use() {
    let sandbox = Sandbox::new();
    let error = sandbox.run("push mail hello --json").exits(2).error();
    assert_eq!(text(&error["message"]), "unknown command `push`");
    assert!(text(&error["help"]).contains("windlass enqueue"), "{error}");
}

#[test]
fn an_invalid_value_is_reported_with_its_flag() {
    let sandbox = Sandbox::new();
    for (line, message) in [
        (
            "enqueue mail x --delay 5 --json",
            "invalid delay: missing unit",
        ),
        (
            "exec mail --json --lease 5 true",
            "--lease: invalid duration: missing unit",
        ),
    ] {
        let error = sandbox.run(line).exits(2).error();
        assert!(text(&error["message"]).starts_with(message), "{error}");
        assert!(text(&error["help"]).contains("write 5s"), "{error}");
    }
}
