//! docs/interop.md: inspecting the older systems, and the bridge from each.

use rustix::process::Signal;
use windlass_testkit::redis::{Server, until};

use crate::page::texts;
use crate::sandbox::Sandbox;
use crate::shell::{Running, Shell};
use crate::test_store::TestStore;

const PAGE: &str = include_str!("../../../../docs/interop.md");

fn ready(shell: &Shell, queue: &str) -> Option<u64> {
    let stats = shell.sandbox.run(&format!("queue stats {queue} --json"));
    let is_there = stats.code == Some(0);
    is_there.then(|| stats.json()["ready"].as_u64().unwrap())
}

#[test]
fn the_commands_of_the_page_on_older_systems_carry_their_work_over() {
    let mut shell = Shell::new(Sandbox::on(TestStore::redis()));
    let old = Server::start();
    let to_new = shell.sandbox.store.server().url();
    shell.substitute("redis://old:6379/0", &old.url());
    for url in [
        "redis://new:6379/0",
        "redis://127.0.0.1:6379/0",
        "redis://…",
    ] {
        shell.substitute(url, &to_new);
    }
    for line in [
        "windlass interop redis-work-queue add hello --prefix mail",
        "windlass interop blueque enqueue video hello",
        "windlass interop worqr enqueue mail hello --store redis://old:6379/0",
        "windlass interop delayed-queue submit hello --at 1000",
    ] {
        let ended = shell.command(line).status().unwrap();
        assert!(ended.success(), "{line}");
    }

    for line in texts(PAGE, "sh").concat().lines() {
        if line.contains("--follow") {
            let follower = Running::start(shell.command(&format!("exec {line}")));
            until("the task is migrated", || {
                let migrated = ready(&shell, "video");
                (migrated == Some(1))
                    .then_some(())
                    .ok_or("not yet".to_owned())
            });
            assert!(follower.end(Signal::INT).success(), "{line}");
        } else {
            let output = shell.command(line).output().unwrap();
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{line}: {printed}");
        }
    }

    assert_eq!(ready(&shell, "mail"), Some(2), "one item and one task");
    assert_eq!(ready(&shell, "reminders"), Some(1));
}
