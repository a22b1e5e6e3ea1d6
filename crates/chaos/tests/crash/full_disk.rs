//! Processes are killed and stopped while the disk of the store is full, until it has room again.

use std::path::Path;
use std::process::Command;

use windlass_chaos::event::Event;
use windlass_chaos::ledger::Ledger;
use windlass_store_sqlite::SqliteStore;
use windlass_testkit::StoreUnderTest;

use crate::conditions::Conditions;
use crate::{Round, seed};

/// Fewer than in a round: half of them are on the full disk, half after it.
const KILLS: usize = 12;

/// The folder of the small disk, in the process that has it.
const DISK: &str = "WINDLASS_TEST_DISK";

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_its_promises_on_a_full_disk() {
    let Some(disk) = std::env::var_os(DISK) else {
        return run_again_with_a_small_disk();
    };
    let disk = Path::new(&disk);
    let path = disk.join("jobs.db");
    let open = || SqliteStore::open(&path, windlass_store_sqlite::Options::default()).unwrap();
    let opened = async || StoreUnderTest::new(open());
    let round = Round {
        seed: seed(),
        kills: KILLS,
        conditions: Conditions {
            large_every: 300,
            waiters: 0,
            partitions: 1,
            link: 0,
        },
    };

    round
        .within_bound(async {
            let mut processes = round.start(path.clone().into(), opened).await;
            let ledger = processes.launcher.ledger.clone();
            ledger.wait_until(|ledger| refusals(ledger) > 0).await;
            let mut faults = round.plan(&processes);
            let later = faults.split_off(faults.len() / 2);
            round.suffer(&mut processes, &faults).await;
            let refused = refusals(&ledger.lock());
            let before = accepted(&ledger.lock());
            grow(disk);
            ledger
                .wait_until(|ledger| accepted(ledger) > before + 100)
                .await;
            round.suffer(&mut processes, &later).await;
            round.finish(processes, opened).await;
            println!("refused {refused} times; {before} jobs accepted before there was room again");
        })
        .await;

    assert_eq!(open().check_file().await.unwrap(), [""; 0]);
}

/// How often a full disk refused a call.
fn refusals(ledger: &Ledger) -> usize {
    let is_full =
        |event: &Event| matches!(event, Event::StoreError(what) if what.starts_with("store_full"));
    ledger.events().filter(|(_, event)| is_full(event)).count()
}

fn accepted(ledger: &Ledger) -> usize {
    let is_accepted = |event: &Event| matches!(event, Event::Accepted(_));
    let events = ledger.events().filter(|(_, event)| is_accepted(event));
    events.count()
}

/// Runs this test in a private mount namespace, with a small disk.
fn run_again_with_a_small_disk() {
    let disk = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=16m tmpfs "$0" || exit 99; exec "$@""#;
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(disk.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--nocapture", "--exact"])
        .arg("full_disk::sqlite_keeps_its_promises_on_a_full_disk")
        .env(DISK, disk.path())
        .status()
        .expect("unshare starts: install util-linux");
    assert_ne!(
        status.code(),
        Some(99),
        "this test mounts a file system in a private user namespace; allow that \
         (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; \
         in a container: --security-opt seccomp=unconfined)"
    );
    assert!(status.success(), "on a small disk: {status}");
}

/// Gives the small disk more room than a run needs.
fn grow(disk: &Path) {
    let mut mount = Command::new("mount");
    let status = mount.args(["-o", "remount,size=1g"]).arg(disk).status();
    assert!(status.unwrap().success(), "the disk cannot grow");
}
