//! docs/duplicates.md: debounce, throttle and latest wins.

use crate::page::steps;
use crate::sandbox::Sandbox;
use crate::shell::Shell;

const PAGE: &str = include_str!("../../../../docs/duplicates.md");

#[test]
fn the_page_debounces_throttles_and_replaces() {
    let mut shell = Shell::new(Sandbox::new());

    for step in steps(PAGE) {
        shell.play(&step);
    }

    let jobs = |queue: &str| {
        let ran = shell.sandbox.run(&format!("job list {queue} --json")).ok();
        ran.json().as_array().map_or(0, Vec::len)
    };
    assert_eq!((jobs("index"), jobs("digest"), jobs("prices")), (1, 0, 2));
    assert_eq!(shell.sandbox.claim("prices")["payload"], "1.08");
}
