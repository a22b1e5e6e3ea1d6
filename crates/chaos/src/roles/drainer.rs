//! Claims and completes until nothing is left that has not ended.

use std::time::Duration;

use crate::event::Event;
use crate::{LEASE, payload};
use tokio::time::timeout;
use windlass_core::{BootId, ClaimRequest, Filter, JobLease, JobState, Result};

use crate::roles::Scene;

/// The longest pause before it looks again: leases of the dead end without a hint.
const PAUSE: Duration = Duration::from_millis(50);

/// Drains the queue.
pub async fn run(scene: Scene) -> Result<()> {
    let boot = BootId::generate();
    scene.voice.say(Event::Boot(boot.clone()));
    let mut watch = scene
        .insist(|| scene.store.watch(std::slice::from_ref(&scene.queue)))
        .await?;
    let mut seq = 0;
    loop {
        seq += 1;
        scene.voice.say(Event::Claiming);
        let request = ClaimRequest::worker(boot.clone(), seq, 100).lease(LEASE * 10);
        let claim = scene
            .insist(|| scene.store.claim(&scene.queue, request.clone()))
            .await?;
        let Some(claim) = claim else {
            if is_empty(&scene).await? {
                return Ok(());
            }
            // A hint or the end of the pause: both mean look again.
            let _ = timeout(PAUSE, watch.next()).await;
            continue;
        };
        let mut holds = Vec::new();
        for job in claim.jobs {
            let hold = JobLease::new(job.id, claim.token);
            scene.voice.say(Event::Claimed(hold.clone()));
            if job.payload != payload::of(&hold.id) {
                scene
                    .voice
                    .fault(format!("the payload of {} is torn", hold.id));
            }
            holds.push(hold);
        }
        complete(&scene, holds).await?;
    }
}

/// Completes a claim in one call, and says so.
pub async fn complete(scene: &Scene, holds: Vec<JobLease>) -> Result<()> {
    for hold in &holds {
        scene.voice.say(Event::Completing(hold.clone()));
    }
    let completions: Vec<_> = holds.iter().map(|hold| hold.clone().completion()).collect();
    let completed = scene
        .insist(|| {
            scene
                .store
                .complete(&scene.queue, completions.clone(), None)
        })
        .await?;
    for (how, hold) in completed.statuses.into_iter().zip(holds) {
        scene.voice.say(Event::Told(how, hold));
    }
    Ok(())
}

async fn is_empty(scene: &Scene) -> Result<bool> {
    for state in [JobState::Scheduled, JobState::Ready, JobState::Running] {
        let filter = Filter {
            state: Some(state),
            kind: None,
        };
        let page = scene
            .insist(|| scene.store.list(&scene.queue, &filter, None, 1))
            .await?;
        if !page.items.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}
