//! deploy/: the command lines of the units, the image and the manifest work.

use std::process::Command;

use rustix::process::Signal;
use windlass_testkit::redis::until;

use crate::sandbox::Sandbox;
use crate::server::TestServer;
use crate::shell::Running;

const SERVER: &str = include_str!("../../../../deploy/systemd/windlass.service");
const WORKER: &str = include_str!("../../../../deploy/systemd/windlass-worker@.service");
const IMAGE: &str = include_str!("../../../../deploy/Dockerfile");
const MANIFEST: &str = include_str!("../../../../deploy/kubernetes.yaml");

/// The arguments that a unit starts `windlass` with.
fn unit_arguments(unit: &str) -> Vec<&str> {
    let mut lines = unit.lines();
    let start = lines.find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/windlass "));
    start.unwrap().split(' ').collect()
}

/// A list of strings, as in JSON, after each occurrence of `name`.
fn lists(text: &str, name: &str) -> Vec<Vec<String>> {
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix(name));
    lines
        .map(|list| serde_json::from_str(list).unwrap())
        .collect()
}

#[test]
fn the_service_serves_and_stops_on_sigterm() {
    let sandbox = Sandbox::new();
    let arguments = unit_arguments(SERVER);
    let arguments = arguments.iter().map(|word| match *word {
        // The default port may be in use.
        "127.0.0.1:7700" => "127.0.0.1:0",
        word => word,
    });
    let arguments: Vec<&str> = arguments.collect();

    let server = TestServer::start_arguments(&sandbox, &arguments, |_| {});

    assert_eq!(server.request("GET", "/readyz", "").status, 200);
    assert_eq!(server.terminate().0, Some(0));
}

#[test]
fn the_worker_of_a_queue_runs_its_program_and_stops_on_sigterm() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue mail hello --id letter").ok();
    let jobs = WORKER.lines().find_map(|line| {
        let (_, jobs) = line.split_once("Environment=WINDLASS_JOBS=")?;
        Some(jobs)
    });
    let arguments = unit_arguments(WORKER).into_iter().map(|word| {
        word.replace("/usr/local/lib/windlass/%i", "cat")
            .replace("${WINDLASS_JOBS}", jobs.unwrap())
            .replace("%i", "mail")
    });
    let arguments: Vec<String> = arguments.collect();

    let worker = Running::start(sandbox.command(&arguments));

    until("the letter has a result", || {
        let job = sandbox.run("job get mail letter --json").ok().json();
        if job["result"] == "hello" {
            Ok(())
        } else {
            Err(job.to_string())
        }
    });
    assert!(worker.end(Signal::TERM).success());
}

#[test]
fn the_image_and_the_manifest_start_commands_that_exist() {
    let image = lists(IMAGE, "CMD ");
    let manifest = lists(MANIFEST, "args: ");
    assert_eq!((image.len(), manifest.len()), (1, 2));
    for arguments in image.into_iter().chain(manifest) {
        let flags = arguments.iter().take_while(|word| *word != "--");
        // With the help flag, flags are still parsed, and nothing runs.
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        let ended = command.args(flags).arg("--help").output().unwrap();
        assert!(ended.status.success(), "{arguments:?}: {ended:?}");
    }
}
