//! No queue and no group exceeds its limits, and no slot is lost.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use tokio::time::sleep;
use windlass_chaos::actor::Launcher;
use windlass_chaos::event::Event;
use windlass_core::store::GroupName;
use windlass_core::{ClaimRequest, JobId, JobLease, Store};

use crate::{LEASE, PROGRAM, enqueue, group, job, kill_until, queue, set};

/// The limits of a run, and its groups.
const GROUPS: usize = 6;
const GROUP_MAX_RUNNING: usize = 2;
const MAX_RUNNING: usize = 10;
const RATE: usize = 30;
const BURST: usize = 5;

/// Kills in a run, one every half second.
const KILLS: usize = 12;

pub(crate) async fn hold(store: Arc<dyn Store>, address: OsString, (): ()) {
    let store = store.as_ref();
    let settings = [
        format!("max_running={MAX_RUNNING}"),
        format!("group_max_running={GROUP_MAX_RUNNING}"),
        format!("group_rate={RATE}/1s"),
        format!("group_burst={BURST}"),
        "poison_after=1000".to_owned(),
    ];
    set(store, &settings).await;
    let rounds = std::env::var("WINDLASS_ROUNDS").map_or(1, |text| text.parse().unwrap());
    let kills = KILLS * rounds;
    // More than can run in the time: every group always has ready jobs.
    let per_group = RATE * (kills / 2 + 5);
    let number = |n| job(n % GROUPS, n / GROUPS);
    enqueue(store, (0..per_group * GROUPS).map(number).collect()).await;
    let launcher = Launcher::new(PROGRAM, address);

    kill_until(&launcher, &["--work-ms", "40"], async |done| done == kills).await;

    let runs = runs(&launcher);
    let most = most_at_once(&runs, |_| true);
    assert!(most <= MAX_RUNNING, "{most} jobs of the queue ran at once");
    let mut fullest = 0;
    for number in 0..GROUPS {
        let of_group: Vec<_> = runs
            .iter()
            .filter(|run| run.group == group(number))
            .collect();
        let most = most_at_once(&runs, |run| run.group == group(number));
        assert!(
            most <= GROUP_MAX_RUNNING,
            "{most} jobs of group {number} ran at once"
        );
        fullest = fullest.max(most);
        let mut starts: Vec<_> = of_group.iter().map(|run| run.start_us).collect();
        starts.sort_unstable();
        for window in starts.windows(RATE + 1) {
            assert!(
                window[RATE] - window[0] >= 1_000_000,
                "group {number}: {window:?}"
            );
        }
    }
    println!(
        "{} runs, at most {most} at once, {fullest} of a group",
        runs.len()
    );
    assert_eq!(fullest, GROUP_MAX_RUNNING, "no group was ever full");
    assert_no_slot_is_lost(store).await;
}

/// After all leases have expired, every group can use all its slots.
async fn assert_no_slot_is_lost(store: &dyn Store) {
    sleep(LEASE).await;
    set(
        store,
        &[
            "group_rate=none".to_owned(),
            format!("max_running={}", GROUPS * 10),
        ],
    )
    .await;
    let mut claimed: BTreeMap<GroupName, usize> = BTreeMap::new();
    while let Some(claim) = store
        .claim(&queue(), ClaimRequest::single(100))
        .await
        .unwrap()
    {
        for job in claim.jobs {
            *claimed.entry(job.group.unwrap()).or_default() += 1;
        }
    }
    assert_eq!(claimed.len(), GROUPS);
    assert!(
        claimed.values().all(|slots| *slots == GROUP_MAX_RUNNING),
        "{claimed:?}"
    );
}

/// From a claim to the effect, or to the last moment at which the job surely held its slot.
struct Run {
    group: GroupName,
    start_us: u64,
    end_us: u64,
}

fn runs(launcher: &Launcher) -> Vec<Run> {
    let mut runs: BTreeMap<(JobId, u64), Run> = BTreeMap::new();
    let ledger = launcher.ledger.lock().clone();
    for (process, event) in ledger.events() {
        match event {
            Event::Claimed(JobLease { id, token }) => {
                let group = GroupName::new(id.as_str().split_once('-').unwrap().0).unwrap();
                let (start_us, end_us) = (token.number, token.number);
                let run = Run {
                    group,
                    start_us,
                    end_us,
                };
                runs.insert((id.clone(), start_us), run);
            }
            Event::Effect(JobLease { id, token }, at_us) => {
                let run = runs.get_mut(&(id.clone(), token.number)).unwrap();
                // A process that was not scheduled for so long has lost its lease.
                let lease = u64::try_from(LEASE.as_micros()).unwrap();
                run.end_us = (*at_us).min(run.start_us + lease);
            }
            Event::Violation(what) => panic!("{}: {what}", process.name),
            _ => {}
        }
    }
    runs.into_values().collect()
}

/// The highest number of runs at the same time.
fn most_at_once(runs: &[Run], is_counted: impl Fn(&Run) -> bool) -> usize {
    let counted = runs
        .iter()
        .filter(|run| is_counted(run) && run.end_us > run.start_us);
    let mut changes: Vec<_> = counted
        .flat_map(|run| [(run.start_us, 1), (run.end_us, -1)])
        .collect();
    // An end comes before a start at the same time.
    changes.sort_unstable();
    let (mut now, mut most) = (0_i64, 0);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    usize::try_from(most).unwrap()
}
