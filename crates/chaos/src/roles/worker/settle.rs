//! The many ways a worker may be done with a job, and what it should not do after them.

use std::time::Duration;

use crate::event::Event;
use fastrand::Rng;
use windlass_core::{Due, JobLease, OutcomeStatus, Result, Retry};

use crate::roles::{Scene, drainer};

/// Settles one job in a way drawn by chance, sometimes twice.
pub(super) async fn settle(scene: &Scene, rng: &mut Rng, hold: JobLease) -> Result<()> {
    match rng.u8(..20) {
        0 => fail(scene, rng, &hold).await?,
        1 => release(scene, &hold).await?,
        2 => snooze(scene, rng, &hold).await?,
        _ => drainer::complete(scene, vec![hold.clone()]).await?,
    }
    if rng.u8(..10) == 0 {
        // After a completion a repeat, after anything else an attempt with a token that is spent.
        drainer::complete(scene, vec![hold]).await?;
    }
    Ok(())
}

async fn fail(scene: &Scene, rng: &mut Rng, hold: &JobLease) -> Result<()> {
    let failure = hold.clone().failure("it did not work").retry(soon(rng));
    let Scene { store, queue, .. } = scene;
    let told = scene
        .insist(|| store.fail(queue, vec![failure.clone()]))
        .await?;
    say(scene, hold, &told);
    Ok(())
}

async fn release(scene: &Scene, hold: &JobLease) -> Result<()> {
    let Scene { store, queue, .. } = scene;
    let told = scene
        .insist(|| store.release(queue, vec![hold.clone()]))
        .await?;
    say(scene, hold, &told);
    Ok(())
}

async fn snooze(scene: &Scene, rng: &mut Rng, hold: &JobLease) -> Result<()> {
    let snooze = hold.clone().snooze(shortly(rng));
    let Scene { store, queue, .. } = scene;
    let told = scene
        .insist(|| store.snooze(queue, vec![snooze.clone()]))
        .await?;
    say(scene, hold, &told);
    Ok(())
}

fn say(scene: &Scene, hold: &JobLease, told: &[OutcomeStatus]) {
    for how in told {
        scene.voice.say(Event::Told(*how, hold.clone()));
    }
}

fn soon(rng: &mut Rng) -> Retry {
    Retry::At(shortly(rng))
}

fn shortly(rng: &mut Rng) -> Due {
    Due::After(Duration::from_millis(rng.u64(..100)))
}
