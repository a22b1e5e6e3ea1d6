//! An answer comes after the log was synced, and one sync serves many answers.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_chaos::actor::Stage;
use windlass_chaos::synced::{self, Synced};

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/preload/fsync.c");

#[tokio::test]
async fn every_answer_comes_after_a_sync_of_its_own_call() {
    let seen = enqueue(&["sequential", "--count", "200"]).await;

    println!(
        "one at a time: {} answers, {} syncs",
        seen.answers, seen.syncs
    );
    assert_eq!(seen.answers, 200);
    assert_eq!(seen.unsynced, []);
}

#[tokio::test]
async fn calls_made_at_once_share_a_sync_and_none_is_answered_before_it() {
    let seen = enqueue(&["concurrent", "--count", "64", "--rounds", "20"]).await;

    println!(
        "64 at a time: {} answers, {} syncs",
        seen.answers, seen.syncs
    );
    assert_eq!(seen.answers, 64 * 20);
    assert_eq!(seen.unsynced, []);
    assert!(seen.syncs * 4 < seen.answers, "{} syncs", seen.syncs);
}

/// The planted fault: a store that does not sync before it answers is found out.
#[tokio::test]
async fn a_store_that_answers_before_the_sync_is_caught() {
    let seen = enqueue(&["sequential", "--count", "50", "--unsynced"]).await;

    println!(
        "unsynced: {} of {} answers caught",
        seen.unsynced.len(),
        seen.answers
    );
    assert_eq!(seen.answers, 50);
    assert!(seen.unsynced.len() >= 45, "{} caught", seen.unsynced.len());
}

async fn enqueue(arguments: &[&str]) -> Synced {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage::new(PROGRAM, folder.path().join("jobs.db"));
    stage.preload = Some(compile(folder.path()));
    let arguments: Vec<_> = arguments.iter().map(|&word| word.to_owned()).collect();
    let actor = stage.start("enqueuer", &arguments).unwrap();
    let life = actor.life;

    let status = actor.done().await.unwrap();

    let ledger = stage.record.ledger();
    let lines = &ledger.lives[life].lines;
    assert!(status.success(), "{status}: {:?}", lines.last());
    synced::judge(lines)
}

/// Compiles the library that tells of syncs.
fn compile(folder: &Path) -> PathBuf {
    let library = folder.join("fsync.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let output = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-o"])
        .arg(&library)
        .args([SOURCE, "-ldl"])
        .output();
    let output = output.unwrap_or_else(|error| {
        panic!("`{compiler}` did not start ({error}): install a C compiler, or name one with CC")
    });
    assert!(
        output.status.success(),
        "`{compiler}` could not compile {SOURCE}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    library
}
