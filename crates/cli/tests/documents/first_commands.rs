//! docs/stdio.md, docs/processor.md and docs/worker.md: the command that each page starts with.

use crate::page::steps;
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
