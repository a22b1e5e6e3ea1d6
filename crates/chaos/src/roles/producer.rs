//! Enqueues batches under ids of its own choosing, and some of them twice.

use std::time::Duration;

use crate::event::Event;
use crate::payload;
use clap::Args;
use fastrand::Rng;
use windlass_core::{Enqueued, JobId, NewJob, Priority, Result};

use crate::roles::Scene;
use crate::roles::stop::Stop;

/// The longest pause between two batches: enough jobs for all, and not too many to check.
const PAUSE_MAX: Duration = Duration::from_millis(12);

/// How a producer is started.
#[derive(Debug, Args)]
pub struct Arguments {
    /// What its ids begin with
    #[arg(long)]
    pub name: String,

    /// What its choices are drawn from
    #[arg(long)]
    pub seed: u64,

    /// Ids of an earlier life to ask for first, with commas between
    #[arg(long, value_delimiter = ',')]
    pub again: Vec<JobId>,
}

/// Enqueues until it is asked to stop.
pub async fn run(scene: Scene, arguments: Arguments, stop: &Stop) -> Result<()> {
    let mut rng = Rng::with_seed(arguments.seed);
    let mut batch = arguments.again;
    let mut count = 0;
    while !stop.is_asked() {
        let is_repeat = !batch.is_empty() && (count == 0 || rng.u8(..12) == 0);
        if !is_repeat {
            batch.clear();
            for _ in 0..rng.usize(1..=10) {
                count += 1;
                batch.push(JobId::new(format!("{}-{count}", arguments.name))?);
            }
        }
        ask(&scene, &mut rng, &batch).await?;
        count = count.max(1);
        let pause_us = u64::try_from(PAUSE_MAX.as_micros()).unwrap_or(u64::MAX);
        tokio::time::sleep(Duration::from_micros(rng.u64(..pause_us))).await;
    }
    Ok(())
}

async fn ask(scene: &Scene, rng: &mut Rng, ids: &[JobId]) -> Result<()> {
    let mut jobs = Vec::new();
    for id in ids {
        let job = NewJob::new(payload::of(id)).id(id.clone());
        let job = job.priority(Priority::new(rng.u8(4..7))?);
        jobs.push(match rng.u64(..8) {
            0 => job.delay(Duration::from_millis(rng.u64(..100))),
            _ => job,
        });
    }
    scene.voice.say(Event::Asking(ids.to_vec()));
    let answers = scene
        .insist(|| scene.store.enqueue(&scene.queue, jobs.clone()))
        .await?;
    for (id, answer) in ids.iter().zip(&answers) {
        if answer.id() != id {
            scene
                .voice
                .fault(format!("asked for {id}, answered {answer:?}"));
        }
        scene.voice.say(match answer {
            _ if answer.level() < scene.level => Event::Short(id.clone()),
            Enqueued::Duplicate { id, .. } => Event::Duplicate(id.clone()),
            _ => Event::Accepted(id.clone()),
        });
    }
    if answers.len() != ids.len() {
        scene
            .voice
            .fault(format!("asked for {ids:?}, answered {answers:?}"));
    }
    Ok(())
}
