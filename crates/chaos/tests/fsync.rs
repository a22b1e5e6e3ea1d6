//! Replies are sent after the log is synced, and concurrent calls share a sync.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails on the spot"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_chaos::actor::Launcher;
use windlass_chaos::synced::{self, SyncReport};

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/preload/fsync.c");

#[tokio::test]
async fn every_reply_comes_after_a_sync_that_began_during_its_call() {
    let seen = enqueue(&["sequential", "--count", "200"]).await;

    println!(
        "one at a time: {} replies, {} syncs",
        seen.replies, seen.syncs
    );
    assert_eq!(seen.replies, 200);
    assert_eq!(seen.unsynced, []);
}

#[tokio::test]
async fn concurrent_calls_share_a_sync_and_none_gets_a_reply_before_it() {
    let seen = enqueue(&["concurrent", "--count", "64", "--rounds", "20"]).await;

    println!(
        "64 at a time: {} replies, {} syncs",
        seen.replies, seen.syncs
    );
    assert_eq!(seen.replies, 64 * 20);
    assert_eq!(seen.unsynced, []);
    assert!(seen.syncs * 4 < seen.replies, "{} syncs", seen.syncs);
}

/// A planted bug: a store that does not sync before it replies is detected.
#[tokio::test]
async fn a_store_that_replies_before_the_sync_is_caught() {
    let seen = enqueue(&["sequential", "--count", "50", "--unsynced"]).await;

    println!(
        "unsynced: {} of {} replies caught",
        seen.unsynced.len(),
        seen.replies
    );
    assert_eq!(seen.replies, 50);
    assert!(seen.unsynced.len() >= 45, "{} caught", seen.unsynced.len());
}

async fn enqueue(arguments: &[&str]) -> SyncReport {
    let folder = tempfile::tempdir().unwrap();
    let mut launcher = Launcher::new(PROGRAM, folder.path().join("jobs.db"));
    launcher.preload = Some(compile(folder.path()));
    let arguments: Vec<_> = arguments
        .iter()
        .map(|&argument| argument.to_owned())
        .collect();
    let actor = launcher.start("enqueuer", &arguments).unwrap();
    let process = actor.process;

    let status = actor.finish().await.unwrap();

    let ledger = launcher.ledger.lock();
    let lines = &ledger.processes[process].lines;
    assert!(status.success(), "{status}: {:?}", lines.last());
    synced::check(lines)
}

/// Compiles the library that reports syncs.
fn compile(folder: &Path) -> PathBuf {
    let library = folder.join("fsync.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let output = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-o"])
        .arg(&library)
        .args([SOURCE, "-ldl"])
        .output();
    let output = output.unwrap_or_else(|error| {
        panic!("cannot start `{compiler}` ({error}): install a C compiler, or set CC")
    });
    assert!(
        output.status.success(),
        "`{compiler}` failed to compile {SOURCE}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    library
}
