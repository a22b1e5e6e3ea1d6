//! Enqueues batches with chosen ids, some of them twice.

use std::time::Duration;

use crate::event::Event;
use crate::payload;
use clap::Args;
use fastrand::Rng;
use windlass_core::{Enqueued, JobId, NewJob, Priority, Result};

use crate::roles::ActorContext;
use crate::roles::stop::Stop;

/// The longest pause between two batches: enough jobs for all workers, but not too many to check.
const PAUSE_MAX: Duration = Duration::from_millis(12);

/// Arguments of a producer.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Prefix of its ids
    #[arg(long)]
    pub name: String,

    /// Seed of its random choices
    #[arg(long)]
    pub seed: u64,

    /// Give one job in this many the largest payload; 0 for none
    #[arg(long, default_value_t = 0)]
    pub large_every: usize,

    /// Ids of an earlier process to enqueue first, comma-separated
    #[arg(long, value_delimiter = ',')]
    pub again: Vec<JobId>,
}

/// Enqueues until asked to stop.
pub async fn run(context: ActorContext, arguments: Arguments, stop: &Stop) -> Result<()> {
    let mut rng = Rng::with_seed(arguments.seed);
    let mut batch = arguments.again;
    let mut count = 0;
    while !stop.is_requested() {
        let is_repeat = !batch.is_empty() && (count == 0 || rng.u8(..12) == 0);
        if !is_repeat {
            batch.clear();
            for _ in 0..rng.usize(1..=10) {
                count += 1;
                let is_large = arguments.large_every > 0 && rng.usize(..arguments.large_every) == 0;
                let mark = if is_large { payload::LARGE } else { "-" };
                batch.push(JobId::new(format!("{}{mark}{count}", arguments.name))?);
            }
        }
        enqueue(&context, &mut rng, &batch).await?;
        count = count.max(1);
        let pause_us = u64::try_from(PAUSE_MAX.as_micros()).unwrap_or(u64::MAX);
        tokio::time::sleep(Duration::from_micros(rng.u64(..pause_us))).await;
    }
    Ok(())
}

async fn enqueue(context: &ActorContext, rng: &mut Rng, ids: &[JobId]) -> Result<()> {
    let mut jobs = Vec::new();
    for id in ids {
        let job = NewJob::new(payload::of(id)).id(id.clone());
        let job = job.priority(Priority::new(rng.u8(4..7))?);
        jobs.push(match rng.u64(..8) {
            0 => job.delay(Duration::from_millis(rng.u64(..100))),
            _ => job,
        });
    }
    context.events.log(Event::Enqueuing(ids.to_vec()));
    let replies = context
        .retry(|| context.store.enqueue(&context.queue, jobs.clone()))
        .await?;
    for (id, reply) in ids.iter().zip(&replies) {
        if reply.id() != id {
            context
                .events
                .violation(format!("enqueued {id}, got {reply:?}"));
        }
        context.events.log(match reply {
            _ if reply.level() < context.level => Event::BelowLevel(id.clone()),
            Enqueued::Duplicate { id, .. } => Event::Duplicate(id.clone()),
            _ => Event::Accepted(id.clone()),
        });
    }
    if replies.len() != ids.len() {
        context
            .events
            .violation(format!("enqueued {ids:?}, got {replies:?}"));
    }
    Ok(())
}
