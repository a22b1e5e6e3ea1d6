//! docs/programs.md: programs as workers.

use crate::page::{steps, texts};
use crate::sandbox::Sandbox;
use crate::shell::Shell;

const PAGE: &str = include_str!("../../../../docs/programs.md");

/// The resident worker in shell, and the script that claims by hand.
fn scripts() -> [String; 2] {
    texts(PAGE, "sh").try_into().unwrap()
}

#[test]
fn the_commands_of_the_page_on_programs_print_what_it_shows() {
    let mut shell = Shell::new(Sandbox::new());
    for step in steps(PAGE) {
        shell.play(&step);
    }
}

#[test]
fn the_resident_worker_in_shell_works_off_jobs() {
    let shell = Shell::new(Sandbox::new());
    let [worker, _] = scripts();
    std::fs::write(shell.sandbox.path("worker.sh"), worker).unwrap();
    shell.sandbox.run("enqueue shout hello --id s1").ok();

    let printed = shell.run("windlass worker --queue shout --stdio --burst -- sh worker.sh");

    assert!(printed.ends_with("1 succeeded\n"), "{printed}");
    let job = shell.sandbox.run("job get shout s1 --json").ok().json();
    assert_eq!(job["result"], "hello!");
}

#[test]
fn the_script_that_claims_by_hand_completes_its_job() {
    let shell = Shell::new(Sandbox::new());
    let [_, script] = scripts();

    let printed = shell.run(&script);

    assert!(printed.starts_with("letter-2\n"), "{printed}");
    assert!(printed.contains("\"dear Ann\""), "{printed}");
    assert!(printed.ends_with("completed\n"), "{printed}");
}
