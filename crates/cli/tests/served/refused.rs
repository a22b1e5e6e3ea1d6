//! Commands that need the store itself say so, and tokens are neither sent in the clear nor shown.

use crate::sandbox::Sandbox;

#[test]
fn commands_that_need_the_store_itself_say_so() {
    let sandbox = Sandbox::new();
    for (line, why, help) in [
        (
            "store compact",
            "is a store behind a server",
            "run this command where the file is",
        ),
        (
            "store backup copy.db",
            "is a store behind a server",
            "run this command where the file is",
        ),
        (
            "store migrate",
            "only the store itself can be migrated",
            "run this where the store is",
        ),
        (
            "interop inspect",
            "keep their jobs in Redis",
            "set the URL of their server",
        ),
        (
            "bench --store http://127.0.0.1:1",
            "needs a store of its own",
            "omit --store",
        ),
        (
            "demo --store http://127.0.0.1:1",
            "needs a store of its own",
            "omit --store",
        ),
    ] {
        let ran = sandbox.run(line).exits(2);
        assert!(ran.stderr.contains(why), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(help), "{line}: {}", ran.stderr);
    }
    let deep = sandbox.run("doctor --deep").ok().text();
    assert!(
        deep.contains("run `windlass doctor --deep` where the file is"),
        "{deep}"
    );
}

#[test]
fn a_wrong_token_exits_with_5_and_is_not_shown() {
    let sandbox = Sandbox::new();
    let token = "hunter2-0123456789abcdef0123456789";
    let mut command = sandbox.command(&["queue", "list", "--json"]);
    let output = command.env("WINDLASS_HTTP_TOKEN", token).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{stderr}");
    assert!(
        stderr.contains("\"forbidden\"") && stderr.contains("WINDLASS_HTTP_TOKEN"),
        "{stderr}"
    );
    assert!(!stderr.contains("hunter2"), "{stderr}");
}

#[test]
fn a_token_is_not_sent_to_another_machine_without_encryption() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("--store http://192.0.2.1:7700 queue list");
    let stderr = ran.exits(2).stderr;
    assert!(
        stderr.contains("without encryption") && stderr.contains("https://"),
        "{stderr}"
    );
    let ran = sandbox.run("--store http://:hunter2@127.0.0.1:7700 queue list");
    let stderr = ran.exits(2).stderr;
    assert!(
        !stderr.contains("hunter2") && stderr.contains("WINDLASS_HTTP_TOKEN"),
        "{stderr}"
    );
}

#[test]
fn a_worker_runs_jobs_of_a_served_store() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue mail one").ok();
    sandbox.run("enqueue mail two").ok();
    sandbox.run("exec --queue mail --burst -- cat").ok();
    let stats = sandbox.run("queue stats mail --json").ok().json();
    assert_eq!(stats["total"]["succeeded"], 2, "{stats}");
    sandbox.run("doctor").ok();
}
