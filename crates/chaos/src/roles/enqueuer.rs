//! Enqueues jobs one by one or concurrently, for the sync test.

use std::sync::Arc;

use crate::event::Event;
use clap::Args;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use windlass_core::{Error, ErrorKind, JobId, NewJob, Result};

use crate::roles::ActorContext;

/// Arguments of an enqueuer.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Number of jobs, or of concurrent callers
    #[arg(long)]
    count: usize,

    /// Jobs per caller
    #[arg(long, default_value_t = 1)]
    rounds: usize,
}

/// Enqueues `count` jobs, each after the reply to the one before.
pub async fn sequential(context: ActorContext, arguments: Arguments) -> Result<()> {
    for n in 0..arguments.count * arguments.rounds {
        enqueue(&context, JobId::new(n.to_string())?).await?;
    }
    Ok(())
}

/// Runs `count` concurrent callers, each enqueuing `rounds` jobs one by one.
pub async fn concurrent(context: ActorContext, arguments: Arguments) -> Result<()> {
    let start = Arc::new(Barrier::new(arguments.count));
    let mut callers = JoinSet::new();
    for caller in 0..arguments.count {
        let (context, start) = (context.clone(), start.clone());
        callers.spawn(async move {
            start.wait().await;
            for round in 0..arguments.rounds {
                enqueue(&context, JobId::new(format!("{caller}-{round}"))?).await?;
            }
            Ok(())
        });
    }
    let lost =
        |error| Error::new(ErrorKind::Internal, "an caller was lost", "report it").caused_by(error);
    while let Some(ended) = callers.join_next().await {
        ended.map_err(lost)??;
    }
    Ok(())
}

async fn enqueue(context: &ActorContext, id: JobId) -> Result<()> {
    context.events.log(Event::Enqueuing(vec![id.clone()]));
    let job = NewJob::new("a job").id(id.clone());
    context.store.enqueue(&context.queue, vec![job]).await?;
    context.events.log(Event::Accepted(id));
    Ok(())
}
