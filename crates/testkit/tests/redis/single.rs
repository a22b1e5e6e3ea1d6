//! One server.

use std::process::{Command, Stdio};

use windlass_testkit::redis::{Fsync, Reply, Server, ServerOptions, until};

#[test]
fn servers_listen_at_their_url_and_share_nothing() {
    let server = Server::start();
    assert!(
        server.url().starts_with("redis+unix:///"),
        "{}",
        server.url()
    );
    assert_eq!(server.command(&["SET", "a", "1"]).text(), "OK");
    assert_eq!(server.command(&["GET", "a"]), Reply::Bulk(b"1".to_vec()));
    assert_eq!(server.command(&["GET", "b"]), Reply::Nil);
    assert_eq!(server.command(&["INCR", "a"]).integer(), 2);
    assert!(
        matches!(server.command(&["LPOP", "a"]), Reply::Error(text) if text.starts_with("WRONGTYPE"))
    );
    assert_eq!(
        server.command(&["CONFIG", "GET", "port"]).array()[1].text(),
        "0"
    );

    let other = ServerOptions::new().tcp().start();
    assert_eq!(other.url(), format!("redis://127.0.0.1:{}/0", other.port()));
    assert_eq!(other.command(&["GET", "a"]), Reply::Nil);
}

/// The version is set by `cargo xtask matrix`, such as `Valkey 8.1`; without it, any will do.
#[test]
fn servers_report_the_version_that_was_chosen() {
    let chosen = std::env::var("WINDLASS_REDIS_VERSION").unwrap_or_default();
    let info = Server::start().command(&["INFO", "server"]);
    let reported = match info.field("valkey_version") {
        Some(version) => format!("Valkey {version}"),
        None => format!("Redis {}", info.field("redis_version").unwrap()),
    };
    assert!(reported.starts_with(&chosen), "{reported} is not {chosen}");
}

#[test]
fn bytes_pass_unchanged_and_pipelined_replies_come_in_order() {
    let server = Server::start();
    let bytes: Vec<u8> = (0..=255).chain(*b"\r\n$1\r\n").collect();
    let mut connection = server.connect().unwrap();
    connection.send(&[b"SET".as_slice(), b"a", &bytes]).unwrap();
    connection.send(&["GET", "a"]).unwrap();
    connection.send(&["LRANGE", "none", "0", "-1"]).unwrap();
    assert_eq!(connection.receive().unwrap().ok().text(), "OK");
    assert_eq!(connection.receive().unwrap(), Reply::Bulk(bytes));
    assert_eq!(connection.receive().unwrap(), Reply::Array(Vec::new()));
}

#[test]
fn only_a_server_with_an_append_only_file_keeps_its_data_after_a_kill() {
    for (sync, kept) in [
        (Some(Fsync::EverySecond), true),
        (Some(Fsync::Always), true),
        (None, false),
    ] {
        let options = ServerOptions::new();
        let server = match sync {
            Some(sync) => options.append_only(sync).start(),
            None => options.start(),
        };
        let url = server.url();
        server.command(&["SET", "a", "1"]).ok();
        let pid = server.pid();
        server.kill();
        assert!(!server.is_running());
        assert!(server.try_command(&["PING"]).is_err());
        server.restart();
        assert!(server.is_running());
        assert_ne!(server.pid(), pid);
        assert_eq!(server.url(), url);
        assert_eq!(server.command(&["EXISTS", "a"]).integer() == 1, kept);
    }
}

#[test]
fn a_stopped_server_replies_after_it_resumes() {
    let server = ServerOptions::new().tcp().start();
    let mut connection = server.connect().unwrap();
    server.stop();
    assert!(!server.is_running());
    connection.send(&["PING"]).unwrap();
    let state = std::fs::read_to_string(format!("/proc/{}/stat", server.pid()));
    if let Ok(state) = state {
        assert!(state.contains(") T "), "{state}");
    }
    server.resume();
    assert_eq!(connection.receive().unwrap().text(), "PONG");
    assert!(server.is_running());
}

#[test]
fn a_full_server_refuses_writes() {
    let server = ServerOptions::new().max_memory(1).start();
    assert!(
        matches!(server.command(&["SET", "a", "1"]), Reply::Error(text) if text.starts_with("OOM"))
    );
    let policy = server.command(&["CONFIG", "GET", "maxmemory-policy"]);
    assert_eq!(policy.array()[1].text(), "noeviction");
}

#[test]
fn a_configuration_line_overrides_the_defaults() {
    let server = ServerOptions::new().line("databases 3").start();
    assert!(matches!(server.command(&["SELECT", "3"]), Reply::Error(_)));
}

#[test]
#[should_panic(expected = "no-such-directive")]
fn a_server_that_does_not_start_shows_its_log() {
    ServerOptions::new().line("no-such-directive 1").start();
}

#[test]
fn a_dropped_server_leaves_no_process_and_no_folder() {
    let server = Server::start();
    let (pid, folder) = (server.pid(), server.folder().to_owned());
    drop(server);
    assert!(!folder.exists());
    assert!(!is_alive(pid));
}

/// Run by the test below in a separate process, which is killed.
#[test]
fn a_server_of_a_process_that_is_killed() {
    if std::env::var_os("WINDLASS_DIES").is_none() {
        return;
    }
    let server = Server::start();
    server.stop();
    println!("server {} {}", server.pid(), server.folder().display());
    loop {
        std::thread::park();
    }
}

#[test]
fn a_server_dies_with_a_test_process_that_is_killed() {
    use std::io::{BufRead, BufReader};

    let mut test = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "single::a_server_of_a_process_that_is_killed",
            "--nocapture",
        ])
        .env("WINDLASS_DIES", "yes")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(test.stdout.take().unwrap()).lines();
    let line = lines
        .map(Result::unwrap)
        .find(|line| line.contains("server "))
        .expect("prints which server it started");
    let fields: Vec<&str> = line.rsplit(' ').collect();
    let pid: u32 = fields[1].parse().unwrap();
    assert!(is_alive(pid));

    test.kill().unwrap();
    test.wait().unwrap();

    until("the server dies", || {
        if is_alive(pid) {
            Err(format!("{pid} is alive"))
        } else {
            Ok(())
        }
    });
    until("its folder is removed", || {
        if std::path::Path::new(fields[0]).exists() {
            Err(line.clone())
        } else {
            Ok(())
        }
    });
}

/// Whether a process exists and is not a zombie.
fn is_alive(pid: u32) -> bool {
    let found = Command::new("ps")
        .args(["-o", "stat=", "-p", &pid.to_string()])
        .output()
        .expect("ps runs");
    let state = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}
