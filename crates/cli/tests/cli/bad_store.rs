//! Unusable stores: exit code, message and help, and that the user's files stay unchanged.

use std::fs::File;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::sandbox::{Ran, Sandbox};

/// Asserts that reading and enqueueing both fail with this exit code and error code, and that the
/// message contains these words.
fn assert_refused(sandbox: &Sandbox, store: &str, exit: i32, code: &str, words: &[&str]) {
    for line in [
        &["queue", "list", "--store", store][..],
        &["enqueue", "q", "x", "--store", store],
    ] {
        let ran = sandbox.run_words(line).exits(exit);
        assert!(ran.stdout.is_empty(), "{line:?}: {}", ran.text());
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
        assert!(ran.stderr.contains("\n  help: "), "{}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        for word in words {
            assert!(ran.stderr.contains(word), "{word:?} in {}", ran.stderr);
        }
        let mut line = line.to_vec();
        line.push("--json");
        let ran = sandbox.run_words(&line).exits(exit);
        assert_eq!(ran.error()["code"], code, "{line:?}");
    }
}

/// A sandbox whose default store has a hundred jobs.
fn filled() -> Sandbox {
    let sandbox = Sandbox::new();
    let lines = "{\"payload\":\"some work to do\"}\n".repeat(100);
    sandbox.feed("enqueue q --ndjson -", lines.as_bytes()).ok();
    sandbox
}

fn ready(sandbox: &Sandbox) -> u64 {
    let stats = sandbox.run("queue stats q --json").ok().json();
    stats["ready"].as_u64().unwrap()
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(bytes, at).unwrap();
}

#[test]
fn a_folder_is_bad_configuration() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("here")).unwrap();

    assert_refused(
        &sandbox,
        "sqlite:here",
        78,
        "store_foreign",
        &["here is a folder", "choose a file in it"],
    );
}

#[test]
fn a_missing_folder_is_unreachable_and_named() {
    let words = ["no store at", "create the folder", "not/here"];
    assert_refused(
        &Sandbox::new(),
        "sqlite:not/here/jobs.db",
        69,
        "store_unreachable",
        &words,
    );
}

#[test]
fn a_text_file_is_bad_configuration_and_left_as_it_is() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("letter"), "dear aunt,\n").unwrap();

    assert_refused(
        &sandbox,
        "sqlite:letter",
        78,
        "store_foreign",
        &["letter is not a Windlass store", "left untouched"],
    );

    assert_eq!(
        std::fs::read(sandbox.path("letter")).unwrap(),
        b"dear aunt,\n"
    );
    let files = std::fs::read_dir(sandbox.path(".")).unwrap().count();
    assert_eq!(files, 1, "no other file was created");
}

#[test]
fn an_empty_file_becomes_a_store() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("windlass.db"), "").unwrap();

    sandbox.run("enqueue q x").ok();

    assert_eq!(ready(&sandbox), 1);
}

#[test]
fn a_newer_store_is_bad_configuration() {
    let sandbox = filled();
    overwrite(&sandbox.path("windlass.db"), 60, &99_u32.to_be_bytes());
    let before = std::fs::read(sandbox.path("windlass.db")).unwrap();

    assert_refused(
        &sandbox,
        "sqlite:windlass.db",
        78,
        "store_newer",
        &["has schema 99", "upgrade Windlass"],
    );

    assert_eq!(std::fs::read(sandbox.path("windlass.db")).unwrap(), before);
}

#[test]
fn a_damaged_store_is_unreachable_and_the_help_says_how_to_save_it() {
    let words = ["is damaged", "restore a backup", ".recover"];
    for (at, bytes) in [(0, vec![7; 100]), (4096, vec![7; 8 * 4096])] {
        let sandbox = filled();
        overwrite(&sandbox.path("windlass.db"), at, &bytes);
        assert_refused(&sandbox, "sqlite:windlass.db", 69, "store_damaged", &words);
        sandbox.run("doctor --json").exits(69);
    }
    let sandbox = filled();
    let file = File::options()
        .write(true)
        .open(sandbox.path("windlass.db"))
        .unwrap();
    file.set_len(5000).unwrap();
    assert_refused(&sandbox, "sqlite:windlass.db", 69, "store_damaged", &words);
}

#[test]
fn a_file_that_may_not_be_written_is_not_allowed() {
    let sandbox = filled();
    // A read-only mount, since root ignores file permissions.
    let folder = sandbox.path(".").canonicalize().unwrap();
    let store = format!("sqlite:{}", folder.join("windlass.db").display());
    for line in ["queue list", "enqueue q x"] {
        let ran = in_namespace(
            &format!(
                "mount --bind {0} {0} && mount -o remount,bind,ro {0}",
                quoted(&folder)
            ),
            &format!(
                "{} {line} --json --store {}",
                program(),
                quoted(Path::new(&store))
            ),
        );
        let ran = ran.exits(5);
        assert_eq!(ran.error()["code"], "store_read_only");
        assert!(ran.stderr.contains("read-only"), "{}", ran.stderr);
    }
    assert_eq!(ready(&sandbox), 100);
}

/// Runs a shell command in a private mount namespace prepared by `setup`.
pub(crate) fn in_namespace(setup: &str, line: &str) -> Ran {
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
        .arg(format!("({setup}) || exit 99; {line}"))
        .env_remove("WINDLASS_STORE")
        .stdin(Stdio::null())
        .output()
        .expect("unshare starts: install util-linux");
    assert_ne!(
        output.status.code(),
        Some(99),
        "this test mounts a file system in a private user namespace; allow that \
         (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; \
         in a container: --security-opt seccomp=unconfined): {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let unshared = !String::from_utf8_lossy(&output.stderr).starts_with("unshare:");
    assert!(unshared, "user namespaces are needed: {output:?}");
    Ran::from(output)
}

/// The program under test, quoted for the shell.
pub(crate) fn program() -> String {
    quoted(Path::new(env!("CARGO_BIN_EXE_windlass")))
}

/// A path quoted for the shell.
pub(crate) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[test]
fn created_files_are_accessible_to_the_owner_only() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue other x --store sqlite:open.db").ok();
    // A running process keeps all files of the store from being removed.
    let mut child = sandbox.start("claim q --wait 60s --store sqlite:open.db");
    wait_for(|| sandbox.path("open.db-wakeups").exists());

    for ending in ["", "-wal", "-shm", "-lock"] {
        let file = sandbox.path(&format!("open.db{ending}"));
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{ending}");
    }

    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn processes_may_create_the_store_concurrently() {
    let sandbox = Sandbox::new();
    let children: Vec<Child> = (0..6).map(|_| sandbox.start("enqueue q x")).collect();

    for child in children {
        Ran::from(child.wait_with_output().unwrap()).ok();
    }

    assert_eq!(ready(&sandbox), 6);
}

#[test]
fn a_link_is_the_store_it_points_at() {
    let sandbox = filled();
    symlink("windlass.db", sandbox.path("link.db")).unwrap();

    sandbox.run("enqueue q x --store sqlite:link.db").ok();

    assert_eq!(ready(&sandbox), 101);
    assert!(!sandbox.path("link.db-lock").exists());
}

#[test]
fn a_path_too_long_is_bad_usage() {
    let store = format!("sqlite:{}/jobs.db", "d/".repeat(300));
    let words = ["bytes", "shorter path"];
    assert_refused(&Sandbox::new(), &store, 2, "invalid", &words);
}

#[test]
fn a_waiting_process_is_woken_along_a_long_path() {
    let sandbox = Sandbox::new();
    let folder = "d".repeat(120);
    std::fs::create_dir(sandbox.path(&folder)).unwrap();
    let store = format!("--store sqlite:{folder}/jobs.db");
    sandbox.run(&format!("enqueue other x {store}")).ok();
    let waiting = sandbox.start(&format!("claim q --wait 60s --json {store}"));
    let sockets = sandbox.path(&format!("{folder}/jobs.db-wakeups"));
    wait_for(|| std::fs::read_dir(&sockets).is_ok_and(|mut sockets| sockets.next().is_some()));

    sandbox.run(&format!("enqueue q wake {store}")).ok();

    let claimed = Ran::from(waiting.wait_with_output().unwrap()).ok().json();
    assert_eq!(claimed[0]["payload"], "wake");
}

#[test]
fn a_process_stopped_with_the_write_lock_makes_others_exit_with_try_later() {
    let sandbox = filled();
    let mut stopped = stopped_with_write_lock(&sandbox);

    let ran = sandbox.run("enqueue q x --json").exits(75);

    assert_eq!(ran.error()["code"], "store_busy");
    assert!(ran.stderr.contains("nothing was changed"), "{}", ran.stderr);
    assert!(ready(&sandbox) >= 100, "reading still works");
    kill_process(Pid::from_child(&stopped), Signal::CONT).unwrap();
    sandbox.run("enqueue q x").ok();
    // It was paused for longer than a call may take: it either continues or reports that and stops.
    match stopped.wait().unwrap().code() {
        Some(0) => assert_eq!(ready(&sandbox), 100 + LINES as u64 + 1),
        code => assert_eq!(code, Some(75)),
    }
    assert!(
        ready(&sandbox) > 100,
        "the jobs from before, and those enqueued since"
    );
}

const LINES: usize = 20_000;

/// Starts a process and stops it while it holds the write lock.
fn stopped_with_write_lock(sandbox: &Sandbox) -> Child {
    let lines = "{\"payload\":1}\n".repeat(LINES);
    std::fs::write(sandbox.path("lines"), lines).unwrap();
    let mut child = sandbox
        .command(&["enqueue", "q", "--ndjson", "lines"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    let lock = File::open(sandbox.path("windlass.db-lock")).unwrap();
    loop {
        kill_process(pid, Signal::STOP).unwrap();
        wait_for(|| is_stopped(pid));
        if lock.try_lock().is_err() {
            return child;
        }
        lock.unlock().unwrap();
        kill_process(pid, Signal::CONT).unwrap();
        let ended = child.try_wait().unwrap();
        assert!(
            ended.is_none(),
            "it ended before it was caught with the lock"
        );
        std::thread::yield_now();
    }
}

/// Returns whether every thread of a process is stopped or has ended.
fn is_stopped(pid: Pid) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.flatten().all(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.chars().next());
        !matches!(state, Some('R' | 'S' | 'D'))
    })
}

#[test]
fn a_store_locked_by_another_program_exits_with_try_later() {
    let sandbox = filled();
    let theirs = rusqlite::Connection::open(sandbox.path("windlass.db")).unwrap();
    theirs.execute_batch("BEGIN EXCLUSIVE").unwrap();

    let ran = sandbox.run("enqueue q x --json").exits(75);

    assert_eq!(ran.error()["code"], "store_busy");
    assert!(
        ran.stderr.contains("locked by another process"),
        "{}",
        ran.stderr
    );
    assert_eq!(ready(&sandbox), 100, "reading still works");
    theirs.execute_batch("ROLLBACK").unwrap();
    sandbox.run("enqueue q x").ok();
    assert_eq!(ready(&sandbox), 101);
}

#[test]
fn a_database_of_another_program_is_left_as_it_is() {
    let sandbox = Sandbox::new();
    let theirs = rusqlite::Connection::open(sandbox.path("music.db")).unwrap();
    theirs
        .execute_batch("CREATE TABLE album (title TEXT); INSERT INTO album VALUES ('Blue')")
        .unwrap();
    drop(theirs);
    let before = std::fs::read(sandbox.path("music.db")).unwrap();

    assert_refused(
        &sandbox,
        "sqlite:music.db",
        78,
        "store_foreign",
        &["music.db is not a Windlass store", "left untouched"],
    );

    assert_eq!(std::fs::read(sandbox.path("music.db")).unwrap(), before);
    let files = std::fs::read_dir(sandbox.path(".")).unwrap().count();
    assert_eq!(files, 1, "no other file was created");
}

#[test]
fn a_payload_of_a_mebibyte_is_the_largest() {
    let sandbox = Sandbox::new();
    let payload = vec![b'x'; 1024 * 1024 + 1];

    sandbox.feed("enqueue q -", &payload[1..]).ok();
    let ran = sandbox.feed("enqueue q - --json", &payload).exits(2);

    assert_eq!(ran.error()["code"], "invalid");
    assert!(ran.stderr.contains("1048577"), "{}", ran.stderr);
    assert_eq!(ready(&sandbox), 1);
}

/// Waits until a condition is true.
#[track_caller]
fn wait_for(condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "timed out waiting for the condition"
        );
        std::thread::yield_now();
    }
}
