//! docs/programs.md: programs as workers.

use crate::page::{steps, texts};
use crate::sandbox::Sandbox;
use crate::shell::Shell;

const PAGE: &str = include_str!("../../../../docs/programs.md");

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
    let [worker] = <[String; 1]>::try_from(texts(PAGE, "sh")).unwrap();
    std::fs::write(shell.sandbox.path("worker.sh"), worker).unwrap();
    shell.sandbox.run("enqueue shout hello --id s1").ok();

    let printed = shell.run("windlass worker --queue shout --stdio --burst -- sh worker.sh");

    assert_eq!(printed, "1 succeeded\n");
    let job = shell.sandbox.run("job get shout s1 --json").ok().json();
    assert_eq!(job["result"], "hello!");
}
