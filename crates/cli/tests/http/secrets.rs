//! Authentication, and that no secret is shown.

use std::io::Read;

use crate::sandbox::Sandbox;
use crate::server::TestServer;

const CANARY: &str = "canary-s3cr3t-0123456789abcdef0123456789abcdef";

/// Writes a token file that only its owner may write, whatever the umask.
fn write_tokens(sandbox: &Sandbox, text: &str) {
    use std::os::unix::fs::PermissionsExt;

    std::fs::write(sandbox.path("tokens"), text).unwrap();
    let permissions = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(sandbox.path("tokens"), permissions).unwrap();
}

#[test]
fn listening_for_other_machines_requires_a_token() {
    let sandbox = Sandbox::new();
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let ran = sandbox
            .run(&format!("serve --json --listen {listen}"))
            .exits(2);
        assert!(ran.error()["help"].as_str().unwrap().contains("--tokens"));
        sandbox.run(&format!("up --listen {listen}")).exits(2);
    }
    assert!(
        !sandbox.has_store(),
        "a store was created for a server that does not start"
    );
    let server = TestServer::start(&sandbox, "serve --listen 0.0.0.0:0 --insecure", |_| {});
    drop(server);
    let with = |command: &mut std::process::Command| {
        command.env("WINDLASS_HTTP_TOKEN", CANARY);
    };
    drop(TestServer::start(
        &sandbox,
        "serve --listen 0.0.0.0:0",
        with,
    ));
}

#[test]
fn a_token_of_the_file_or_the_environment_is_accepted_and_never_shown() {
    let sandbox = Sandbox::new();
    let new = sandbox
        .run("token new ann --scope enqueue --queue mail-*")
        .ok();
    let new = new.text();
    let (ann, file) = new.split_once('\n').unwrap();
    let digest = file.split(' ').nth(1).unwrap();
    write_tokens(&sandbox, file);
    let line = "serve --listen 127.0.0.1:0 --tokens tokens";
    let mut server = TestServer::start(&sandbox, line, |command| {
        command.env("WINDLASS_HTTP_TOKEN", CANARY);
    });
    let mut shown = Vec::new();
    for (token, path, status) in [
        (CANARY, "/v1/queues/any/jobs", 201),
        (ann, "/v1/queues/mail-1/jobs", 201),
        (ann, "/v1/queues/post/jobs", 403),
        (ann, "/v1/queues/mail-1/claim", 403),
        ("canary-s3cr3t-wrong", "/v1/queues/mail-1/jobs", 401),
    ] {
        let headers = format!("authorization: Bearer {token}\r\ncontent-type: application/json");
        let response = server.request_with("POST", path, &headers, b"{}");
        assert_eq!(response.status, status, "{path}");
        shown.extend(response.head.into_bytes());
        shown.extend(response.body);
    }
    assert_eq!(server.request("GET", "/metrics", "").status, 401);
    let ps = std::fs::read(format!("/proc/{}/cmdline", server.child.id())).unwrap_or_default();
    shown.extend(ps);
    server.child.kill().unwrap();
    server
        .child
        .stderr
        .take()
        .unwrap()
        .read_to_end(&mut shown)
        .unwrap();
    let shown = String::from_utf8_lossy(&shown);
    assert!(
        !shown.contains("s3cr3t") && !shown.contains(digest) && !shown.contains(ann),
        "{shown}"
    );
}

#[test]
fn a_short_token_and_an_invalid_file_are_rejected_without_showing_them() {
    let sandbox = Sandbox::new();
    let line = ["serve", "--json", "--listen", "127.0.0.1:0"];
    let short = sandbox
        .command(&line)
        .env("WINDLASS_HTTP_TOKEN", "hunter2")
        .output()
        .unwrap();
    assert_eq!(short.status.code(), Some(78));
    assert!(!String::from_utf8_lossy(&short.stderr).contains("hunter2"));
    write_tokens(&sandbox, "ann hunter2 read\n");
    let bad = sandbox
        .run("serve --json --listen 127.0.0.1:0 --tokens tokens")
        .exits(2);
    assert!(
        bad.stderr.contains("line 1") && !bad.stderr.contains("hunter2"),
        "{}",
        bad.stderr
    );
    // The SHA-256 of `test`.
    let guessable = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    write_tokens(&sandbox, &format!("ann {guessable} read\n"));
    let bad = sandbox
        .run("serve --json --listen 127.0.0.1:0 --tokens tokens")
        .exits(2);
    assert!(bad.stderr.contains("easy to guess"), "{}", bad.stderr);
    sandbox
        .run("serve --listen 127.0.0.1:0 --tokens none")
        .exits(2);
}

#[test]
fn the_token_of_a_lease_is_not_used_as_the_token_of_the_server() {
    let sandbox = Sandbox::new();
    let with = |variable| {
        move |command: &mut std::process::Command| {
            command.env(variable, CANARY);
        }
    };
    let line = "serve --listen 127.0.0.1:0";
    let server = TestServer::start(&sandbox, line, with("WINDLASS_HTTP_TOKEN"));
    let url = server.url();
    let submit = |variable| {
        let words = ["submit", "--count", "1", "--url", &url];
        let ran = sandbox.command(&words).env(variable, CANARY).output();
        ran.unwrap().status.code()
    };

    // `exec` passes the lease token to programs in this variable.
    assert_eq!(submit("WINDLASS_TOKEN"), Some(5));
    assert_eq!(submit("WINDLASS_HTTP_TOKEN"), Some(0));
    drop(server);
    let open = TestServer::start(&sandbox, line, with("WINDLASS_TOKEN"));
    assert_eq!(open.request("GET", "/v1/queues", "").status, 200);
}

#[test]
fn the_token_is_not_shown_to_the_command() {
    let sandbox = Sandbox::new();
    let words = ["up", "--listen", "127.0.0.1:0", "--queue", "q", "--", "env"];
    let server = TestServer::start_arguments(&sandbox, &words, |command| {
        command.env("WINDLASS_HTTP_TOKEN", CANARY);
    });
    let token = format!("authorization: Bearer {CANARY}");
    let headers = format!("{token}\r\ncontent-type: application/json");
    let job = br#"{"id":"a"}"#;
    assert_eq!(
        server
            .request_with("POST", "/v1/queues/q/jobs", &headers, job)
            .status,
        201
    );

    let path = "/v1/queues/q/jobs/a/wait?timeout=30s";
    let ended = server.request_with("GET", path, &token, b"").json(200);

    let seen = ended["result"].as_str().unwrap();
    assert!(seen.contains("WINDLASS_JOB_ID=a"), "{seen}");
    assert!(!seen.contains("s3cr3t"), "{seen}");
}

#[test]
fn the_help_lists_every_limit_of_a_token() {
    let help = Sandbox::new().run("serve --help").ok().text();
    for limit in ["rate=N", "requests=N", "streams=N", "names=N"] {
        assert!(help.contains(limit), "{limit}: {help}");
    }
}
