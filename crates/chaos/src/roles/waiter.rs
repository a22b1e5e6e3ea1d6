//! Waits for one job after the other, as an idle worker does, until it is killed.

use std::time::Duration;

use windlass_api::claim_waiting;
use windlass_chaos::event::Event;
use windlass_core::{ClaimRequest, Hold, Result};

use crate::roles::{Scene, drainer};

/// Longer than any test: a wait ends with a job.
const PATIENCE: Duration = Duration::from_secs(300);

/// Waits, completes, and waits again.
pub(crate) async fn run(scene: Scene) -> Result<()> {
    loop {
        scene.voice.say(Event::Ready);
        let mut request = ClaimRequest::single(1);
        let claim =
            claim_waiting(scene.store.as_ref(), &scene.queue, &mut request, PATIENCE).await?;
        let Some(claim) = claim else { continue };
        for job in claim.jobs {
            let hold = Hold::new(job.id, claim.token);
            scene.voice.say(Event::Claimed(hold.clone()));
            drainer::complete(&scene, vec![hold]).await?;
        }
    }
}
