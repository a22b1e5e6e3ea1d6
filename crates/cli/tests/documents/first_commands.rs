//! docs/stdio.md, docs/processor.md, docs/worker.md and docs/from-other-queues.md: their first commands.

use crate::page::{steps, texts};
use crate::sandbox::Sandbox;
use crate::shell::Shell;

#[test]
fn the_first_command_of_each_page_prints_what_it_shows() {
    // One sandbox for all: the first page creates the store that the last one reads.
    let mut shell = Shell::new(Sandbox::new());
    for page in [
        include_str!("../../../../docs/stdio.md"),
        include_str!("../../../../docs/processor.md"),
        include_str!("../../../../docs/worker.md"),
    ] {
        for step in steps(page) {
            shell.play(&step);
        }
    }
}

#[test]
fn the_commands_for_users_of_other_queues_succeed() {
    let shell = Shell::new(Sandbox::new());
    let page = include_str!("../../../../docs/from-other-queues.md");

    for line in texts(page, "sh").concat().lines() {
        let ended = shell.command(line).status().unwrap();
        assert!(ended.success(), "{line}");
    }

    let stats = shell.sandbox.run("queue stats reports --json").ok().json();
    assert_eq!(stats["schedules"], 1, "{stats}");
}
