//! A benchmark leaves nothing behind, however it ends.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use windlass_testkit::redis::{Server, until};

use super::sandbox::Sandbox;

fn keys(server: &Server) -> Vec<String> {
    let reply = server.command(&["KEYS", "*"]);
    reply.array().iter().map(|key| key.text()).collect()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn a_shared_server_is_left_unchanged() {
    let server = Server::start();
    let sandbox = Sandbox::new();
    let on = |line: &str| sandbox.run(&format!("{line} --json --store {}", server.url()));
    on("enqueue mine x --id 1").ok();
    let before = keys(&server);

    on("bench --jobs 500 --rounds 1 --limit").ok();
    on("bench process latency crash --jobs 50 --rounds 1").ok();

    let mut after = keys(&server);
    let mut before = before;
    before.sort();
    after.sort();
    assert_eq!(after, before);
}

#[test]
fn a_bench_that_is_stopped_leaves_no_key_and_no_file() {
    for scenario in ["process", "crash"] {
        let server = Server::start();
        let sandbox = Sandbox::new();
        let folder = tempfile::tempdir().unwrap();
        let url = server.url();
        let words = ["bench", scenario, "--jobs", "10000000", "--store", &url];
        let mut child = sandbox
            .command(&words)
            .env("TMPDIR", folder.path())
            .spawn()
            .unwrap();
        until("jobs are enqueued", || {
            let has_jobs = keys(&server).iter().any(|key| key.ends_with(":jobs"));
            has_jobs.then_some(()).ok_or_else(String::new)
        });

        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();

        assert_eq!(child.wait().unwrap().code(), Some(130), "{scenario}");
        assert_eq!(keys(&server), [""; 0], "{scenario}");
        assert!(is_empty(folder.path()), "{scenario}");
    }
}
