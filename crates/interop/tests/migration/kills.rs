//! A bridge killed at every command, to the older system and to the store.

use std::time::Duration;

use windlass_interop::bridge::BridgeSource;
use windlass_testkit::redis::{CutPoint, FaultProxy};

use crate::fixture::{Fixture, delayed_queue, payload, processor};

/// Runs a bridge until it is killed at this command. Returns whether it was.
///
/// Tasks of a killed bridge may outlive it in this process. Its proxy stays cut, so they reach nothing.
pub(crate) async fn kill(fixture: &Fixture, source: &BridgeSource, cut: CutPoint) -> bool {
    let proxy = Box::leak(Box::new(FaultProxy::before(&fixture.redis)));
    let mut bridge = fixture.bridge_at(&proxy.url(), source).await;
    proxy.count_from_here(cut);
    let until_cut = async {
        while !proxy.was_cut() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        // The result does not matter: the bridge may have been killed.
        _ = bridge.drain() => {}
        () = until_cut => {}
    }
    proxy.was_cut()
}

async fn kill_at_every_command(source: &BridgeSource, arrange: fn(&Fixture), ids: &[&str]) {
    let fixture = Fixture::new().await;
    let mut kills = 0;
    for cut in CutPoint::each() {
        fixture.command("FLUSHALL");
        arrange(&fixture);
        let was_killed = kill(&fixture, source, cut).await;

        fixture.migrate(source).await;

        let why = format!("{source}, {cut:?}");
        let jobs = fixture.jobs().await;
        assert!(
            jobs.keys().eq(sorted(ids).iter()),
            "{why}: {:?}",
            jobs.keys()
        );
        for id in ids {
            assert!(payload(&jobs[*id]).contains(id), "{why}: {id}");
        }
        assert_eq!(fixture.left().await, 0, "{why}");
        if !was_killed {
            break;
        }
        kills += 1;
    }
    // It takes and finishes each job, before and after each command.
    assert!(kills > 4 * ids.len(), "killed {kills} times");
}

fn sorted(ids: &[&str]) -> Vec<String> {
    let mut ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_from_the_processor_loses_nothing_and_makes_no_second_job() {
    let (arrange, ids) = (super::processor::arrange, super::processor::IDS);
    kill_at_every_command(&processor(), arrange, &ids).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_from_the_delayed_queue_loses_nothing_and_makes_no_second_job() {
    let (arrange, ids) = (super::delayed_queue::arrange, super::delayed_queue::IDS);
    kill_at_every_command(&delayed_queue(), arrange, &ids).await;
}
