//! Waits for one job after the other, as an idle worker does, until it is killed.

use std::time::Duration;

use crate::event::Event;
use windlass_core::{ClaimRequest, JobLease, Result};

use crate::roles::{Scene, drainer};

/// Longer than any test: a wait ends with a job.
const PATIENCE: Duration = Duration::from_secs(300);

/// Waits, completes, and waits again.
pub async fn run(scene: Scene) -> Result<()> {
    loop {
        scene.voice.say(Event::Ready);
        let mut request = ClaimRequest::single(1);
        let claim = scene
            .store
            .claim_waiting(&scene.queue, &mut request, PATIENCE)
            .await?;
        let Some(claim) = claim else { continue };
        for job in claim.jobs {
            let hold = JobLease::new(job.id, claim.token);
            scene.voice.say(Event::Claimed(hold.clone()));
            drainer::complete(&scene, vec![hold]).await?;
        }
    }
}
