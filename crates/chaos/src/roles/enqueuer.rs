//! Enqueues jobs one after the other, or many at a time, for the test of syncs.

use std::sync::Arc;

use crate::event::Event;
use clap::Args;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use windlass_core::{Error, ErrorKind, JobId, NewJob, Result};

use crate::roles::Scene;

/// How an enqueuer is started.
#[derive(Debug, Args)]
pub struct Arguments {
    /// How many jobs, or how many at a time
    #[arg(long)]
    count: usize,

    /// How often as many
    #[arg(long, default_value_t = 1)]
    rounds: usize,
}

/// Enqueues `count` jobs, each after the answer to the one before.
pub async fn sequential(scene: Scene, arguments: Arguments) -> Result<()> {
    for n in 0..arguments.count * arguments.rounds {
        ask(&scene, JobId::new(n.to_string())?).await?;
    }
    Ok(())
}

/// `count` askers at once, each with `rounds` jobs one after the other.
pub async fn concurrent(scene: Scene, arguments: Arguments) -> Result<()> {
    let start = Arc::new(Barrier::new(arguments.count));
    let mut askers = JoinSet::new();
    for asker in 0..arguments.count {
        let (scene, start) = (scene.clone(), start.clone());
        askers.spawn(async move {
            start.wait().await;
            for round in 0..arguments.rounds {
                ask(&scene, JobId::new(format!("{asker}-{round}"))?).await?;
            }
            Ok(())
        });
    }
    let lost =
        |error| Error::new(ErrorKind::Internal, "an asker was lost", "report it").caused_by(error);
    while let Some(ended) = askers.join_next().await {
        ended.map_err(lost)??;
    }
    Ok(())
}

async fn ask(scene: &Scene, id: JobId) -> Result<()> {
    scene.voice.say(Event::Asking(vec![id.clone()]));
    let job = NewJob::new("a job").id(id.clone());
    scene.store.enqueue(&scene.queue, vec![job]).await?;
    scene.voice.say(Event::Accepted(id));
    Ok(())
}
