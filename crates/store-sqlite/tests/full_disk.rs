//! A disk that is nearly full: schedules leave the reserve to workers, and fire when there is room.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails on the spot"
)]

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::{Overlap, Rule};
use windlass_core::{
    ClaimRequest, ErrorKind, JobLease, LeaseTime, ManualClock, NewJob, OutcomeStatus, QueueName,
    Schedule, ScheduleName, Store, Timestamp,
};
use windlass_store_sqlite::{Options, SqliteStore};

/// The folder of the small disk, in the process that has it.
const DISK: &str = "WINDLASS_TEST_DISK";

const KIB: u64 = 1024;

/// What a disk must have left for a job without payload.
const RESERVE: u64 = 8 * 1024 * KIB;

/// A payload of which six need 768 KiB more: the log and the file have them.
const LARGE: usize = 64 * 1024;

const EVERY: Duration = Duration::from_secs(10);
const MINUTE: Duration = Duration::from_secs(60);

struct Fixture {
    store: SqliteStore,
    clock: Arc<ManualClock>,
    queue: QueueName,
    disk: PathBuf,
}

impl Fixture {
    /// A store on a small disk, with two schedules: `a` is small, and `b` is large.
    async fn new(disk: PathBuf) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_ms(1_800_000_000_000)));
        let options = Options {
            clock: clock.clone(),
            ..Options::default()
        };
        let store = SqliteStore::open(&disk.join("jobs.db"), options).unwrap();
        let queue = QueueName::new("q").unwrap();
        for (name, bytes) in [("a", 1), ("b", LARGE)] {
            let name = ScheduleName::new(name).unwrap();
            let rule = Rule::every(EVERY).unwrap();
            let mut schedule = Schedule::new(name, rule, NewJob::new(vec![7; bytes]));
            schedule.overlap = Overlap::Allow;
            let put = windlass_schedule::put(&store, &queue, schedule, None).await;
            put.unwrap();
        }
        Self {
            store,
            clock,
            queue,
            disk,
        }
    }

    /// Fills the disk until this many bytes are left.
    fn leave(&self, bytes: u64) {
        let filler = self.disk.join("filler");
        std::fs::write(&filler, "").unwrap();
        let disk = rustix::fs::statvfs(&self.disk).unwrap();
        let filled = disk.f_bavail * disk.f_frsize - bytes;
        std::fs::write(&filler, vec![0; usize::try_from(filled).unwrap()]).unwrap();
    }

    /// Fires what is due. Returns how many instants of `a` and of `b` have fired, and how many were missed.
    async fn fire(&self) -> [(u64, u64); 2] {
        let maintained = windlass_schedule::maintain(&self.store, &self.queue, 100).await;
        maintained.unwrap();
        let page = self.store.schedules(&self.queue, None, 10).await.unwrap();
        let totals = page.items.iter().map(|record| record.total);
        let totals: Vec<_> = totals.map(|total| (total.fired, total.missed)).collect();
        totals.try_into().unwrap()
    }
}

#[tokio::test]
async fn schedules_leave_the_reserve_to_workers_and_fire_when_there_is_room() {
    let Some(disk) = std::env::var_os(DISK) else {
        return run_again_with_a_small_disk();
    };
    let fixture = Fixture::new(disk.into()).await;
    let (store, queue) = (&fixture.store, &fixture.queue);
    store.enqueue(queue, vec![NewJob::new("x")]).await.unwrap();
    fixture.clock.advance(MINUTE);

    fixture.leave(RESERVE - 1024 * KIB);
    let refused = store.enqueue(queue, vec![NewJob::new("x")]).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::StoreFull);
    assert_eq!(fixture.fire().await, [(0, 0), (0, 0)]);
    let claim = store.claim(queue, ClaimRequest::single(9)).await.unwrap();
    let claim = claim.expect("a job is ready");
    assert_eq!(claim.jobs.len(), 1);
    let lease = JobLease::new(claim.jobs[0].id.clone(), claim.token);
    let completed = store.complete(queue, vec![lease.completion()], None).await;
    assert_eq!(completed.unwrap().statuses, [OutcomeStatus::Completed]);

    // Room for one of them.
    fixture.leave(RESERVE + 64 * KIB);
    assert_eq!(fixture.fire().await, [(6, 0), (0, 0)]);
    // A claim that waits polls, and does not repeat at once.
    let stats = store.stats(queue).await.unwrap().expect("it exists");
    assert_eq!(stats.next_due_ms, None);

    // Only the last minute is fresh; what is older is missed.
    fixture.clock.advance(MINUTE);
    fixture.leave(RESERVE + 2048 * KIB);
    assert_eq!(fixture.fire().await, [(12, 0), (7, 5)]);
}

#[tokio::test]
async fn an_instant_without_room_stays_due_when_its_schedule_changes_in_the_same_call() {
    let Some(disk) = std::env::var_os(DISK) else {
        return run_again_with_a_small_disk();
    };
    let fixture = Fixture::new(disk.into()).await;
    let (store, queue) = (&fixture.store, &fixture.queue);
    let request = || ClaimRequest {
        lease: LeaseTime::new(10 * MINUTE).unwrap(),
        ..ClaimRequest::single(9)
    };
    fixture.clock.advance(EVERY);
    let claim = store.claim(queue, request()).await.unwrap();
    let claim = claim.expect("both have fired");
    fixture.clock.advance(MINUTE);

    fixture.leave(RESERVE + 64 * KIB);
    let leases = claim.jobs.iter();
    let leases = leases.map(|job| JobLease::new(job.id.clone(), claim.token).completion());
    let completed = store.complete(queue, leases.collect(), Some(request()));
    let next = completed.await.unwrap().next.expect("one has fired");
    assert_eq!(next.jobs.len(), 6);

    fixture.leave(RESERVE + 2048 * KIB);
    assert_eq!(fixture.fire().await, [(7, 0), (7, 0)]);
}

/// Runs the test, which names its thread, in a private mount namespace, with a small disk.
fn run_again_with_a_small_disk() {
    let disk = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=32m tmpfs "$0" || exit 99; exec "$@""#;
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(disk.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--nocapture", "--exact"])
        .arg(std::thread::current().name().unwrap())
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
