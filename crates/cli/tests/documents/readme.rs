//! README.md: the quick start, and a worker that fails and retries.

use crate::page::texts;
use crate::sandbox::Sandbox;
use crate::shell::Shell;

const PAGE: &str = include_str!("../../../../README.md");

/// The test binary is already built and in `PATH`, so this block is not run.
const BUILD: &str = "cargo build --release && export PATH=\"$PWD/target/release:$PATH\"\n";

/// The demo, the build, the quick start, and a worker that fails.
fn parts() -> [String; 4] {
    texts(PAGE, "sh").try_into().unwrap()
}

fn is_empty(shell: &Shell) -> bool {
    let left = std::fs::read_dir(shell.sandbox.path("")).unwrap();
    left.count() == 0
}

#[test]
fn the_quick_start_brings_a_job_to_its_end_and_leaves_nothing() {
    let shell = Shell::new(Sandbox::new());
    let [_, build, quick_start, _] = parts();
    assert_eq!(build, BUILD);

    let printed = shell.run(&quick_start);

    assert!(printed.starts_with("letter-1\n"), "{printed}");
    let lines: Vec<Vec<&str>> = printed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for expected in [
        &["ready", "1"][..],
        &["1", "succeeded"],
        &["payload", "dear", "Ann"],
        &["result", "DEAR", "ANN"],
    ] {
        assert!(lines.iter().any(|line| line == expected), "{printed}");
    }
    let again = shell.run("windlass enqueue mail again --id letter-1 --json");
    assert!(again.contains("\"duplicate\":true"), "{again}");
    let remove = "rm -r windlass.db*";
    assert!(PAGE.contains(&format!("`{remove}`")));
    shell.run(remove);
    assert!(is_empty(&shell), "files are left");
}

#[test]
fn the_worker_that_fails_is_retried_and_a_dead_job_can_be_retried() {
    let shell = Shell::new(Sandbox::new());
    let [_, _, _, failing] = parts();

    let printed = shell.run(&failing);

    assert!(printed.contains("the mail server is away"), "{printed}");
    let job = |id: &str| {
        let line = format!("job get mail {id} --json");
        shell.sandbox.run(&line).ok().json()
    };
    let (bob, nobody) = (job("letter-2"), job("letter-3"));
    assert_eq!(
        (&bob["attempt"], &bob["result"]),
        (&2.into(), &"sent: dear Bob\n".into())
    );
    assert_eq!(
        (&nobody["attempt"], &nobody["state"]),
        (&2.into(), &"dead".into())
    );
    let error = nobody["error"].as_str().unwrap();
    assert!(error.contains("no such address"), "{nobody}");
    let retry = "windlass job retry mail letter-3";
    assert!(PAGE.contains(&format!("`{retry}`")));
    shell.run(retry);
    assert_eq!(job("letter-3")["state"], "ready");
}

#[test]
fn the_commands_that_show_what_happens_succeed() {
    let shell = Shell::new(Sandbox::new());
    shell.sandbox.run("enqueue mail hello --id letter-3").ok();
    let table = PAGE.split("| To see | Run |").nth(1).unwrap();
    let table = table.split("\n\n").next().unwrap();
    let commands = table
        .split('`')
        .filter(|text| text.starts_with("windlass "));
    // These run until they are stopped; other tests cover them.
    let commands: Vec<_> = commands
        .filter(|command| {
            !["tail", "serve", "top"]
                .iter()
                .any(|name| command.contains(name))
        })
        .collect();

    assert!(commands.len() >= 6, "{commands:?}");
    for command in commands {
        let ended = shell.command(command).status().unwrap();
        assert!(ended.success(), "{command}");
    }
}

#[test]
fn the_demo_that_the_first_lines_name_is_a_command() {
    let [first, ..] = parts();
    assert!(first.starts_with("cargo run --release -- demo "), "{first}");
    Sandbox::new().run("demo --help").ok();
}
