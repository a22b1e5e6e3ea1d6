//! The cost per job with many ready and as many scheduled jobs: it must not grow with their number.
//!
//! All sizes are filled first, then measured in alternating steps, so that other load on the machine
//! affects all of them. Each step restores the size of the backlog.

mod cost;
mod filled_queue;

use windlass::Result;

use crate::context::BenchContext;
use crate::measure::{Round, over};
use cost::Meter;
use filled_queue::FilledQueue;

/// Batches of each verb per round.
const STEPS: usize = 50;

/// Fills a queue of each size once, then runs all rounds.
pub(super) async fn rounds(context: &BenchContext<'_>, count: usize) -> Result<Vec<Round>> {
    context.target.fresh().await?;
    let meter = Meter::open(context).await?;
    let mut queues = Vec::new();
    for size in &context.plan.backlog {
        queues.push(FilledQueue::fill(context, *size).await?);
    }
    let steps = (STEPS * queues.len() * count) as u64;
    context.progress.begin("backlog: measure", steps);
    let mut rounds = Vec::new();
    let mut done = 0;
    for _ in 0..count {
        for _ in 0..STEPS {
            for queue in &mut queues {
                queue.step(&meter).await?;
                done += 1;
                context.progress.reached(done);
            }
        }
        rounds.push(summarize(&mut queues));
    }
    Ok(rounds)
}

fn summarize(queues: &mut [FilledQueue]) -> Round {
    let mut round = Round::default();
    let mut first: Option<Vec<(&str, f64)>> = None;
    for queue in queues {
        let (size, costs) = (queue.size(), queue.take_costs());
        for (verb, cost) in &costs {
            round.record(format!("at.{size}.{verb}_us"), *cost);
        }
        match &first {
            None => first = Some(costs),
            Some(first) => {
                for ((verb, cost), (_, baseline)) in costs.iter().zip(first) {
                    round.record_some(format!("ratio.{size}.{verb}"), over(*cost, Some(*baseline)));
                }
            }
        }
    }
    round
}
