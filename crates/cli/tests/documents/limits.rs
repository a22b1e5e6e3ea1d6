//! docs/limits.md: the commands, and what they limit.

use crate::page::{steps, texts};
use crate::sandbox::Sandbox;
use crate::shell::Shell;

const PAGE: &str = include_str!("../../../../docs/limits.md");

#[test]
fn the_page_sets_limits_that_claims_keep() {
    let shell = Shell::new(Sandbox::new());
    let printed: Vec<_> = texts(PAGE, "sh")
        .iter()
        .map(|block| shell.run(block))
        .collect();
    let [first, queue, groups, _] = <[String; 4]>::try_from(printed).unwrap();

    for (printed, expected) in [
        (first, "acme    2      0/5"),
        (queue, "100/1m"),
        (groups, "resumed"),
    ] {
        assert!(printed.contains(expected), "{printed}");
    }
    let sandbox = &shell.sandbox;
    sandbox.run("queue set api-calls max_running=2").ok();
    for payload in ["a", "b", "c"] {
        sandbox.run(&format!("enqueue api-calls {payload}")).ok();
    }
    let claimed = sandbox.run("claim api-calls --max 5 --json").ok().json();
    assert_eq!(claimed.as_array().unwrap().len(), 2);
}

#[test]
fn the_page_explains_why_a_job_waits() {
    let mut shell = Shell::new(Sandbox::new());
    for step in steps(PAGE) {
        shell.play(&step);
    }
}
