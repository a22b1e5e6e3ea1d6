//! docs/schedules.md: the commands, and the file that a deploy applies.

use crate::page::texts;
use crate::sandbox::Sandbox;
use crate::shell::Shell;

const PAGE: &str = include_str!("../../../../docs/schedules.md");

#[test]
fn the_page_puts_runs_and_applies_schedules() {
    let shell = Shell::new(Sandbox::new());
    let [file] = <[String; 1]>::try_from(texts(PAGE, "toml")).unwrap();
    std::fs::write(shell.sandbox.path("schedules.toml"), file).unwrap();
    let [first, operate, apply] = <[String; 3]>::try_from(texts(PAGE, "sh")).unwrap();

    let printed = shell.run(&first);
    assert!(printed.contains("Europe/Berlin"), "{printed}");
    let printed = shell.run(&operate);
    assert!(printed.contains("7 jobs enqueued"), "{printed}");
    let printed = shell.run(&apply);
    assert!(printed.contains("changed reports nightly"), "{printed}");

    let again = shell
        .sandbox
        .run("schedules apply schedules.toml --prune --json");
    assert_eq!(again.ok().json()["unchanged"], 2);
}
