//! What one job costs while many wait and as many are scheduled: it must not grow.
//!
//! All sizes are filled first, then their rounds alternate, so that whatever else the machine does
//! hits all of them. Each step puts back what it took, so the size stays.

mod cost;
mod subject;

use windlass::Result;

use crate::measure::{Round, over};
use crate::stage::Stage;
use cost::Meter;
use subject::Subject;

/// Batches of each verb in one round.
const STEPS: usize = 50;

/// One round alone: filled for it.
pub(super) async fn round(stage: &Stage<'_>) -> Result<Round> {
    let mut all = rounds(stage, 1).await?;
    Ok(all.pop().unwrap_or_default())
}

/// Fills a store of each size once, then takes all rounds.
pub(crate) async fn rounds(stage: &Stage<'_>, count: usize) -> Result<Vec<Round>> {
    stage.place.fresh().await?;
    let meter = Meter::open(stage).await?;
    let mut subjects = Vec::new();
    for size in &stage.plan.backlog {
        subjects.push(Subject::fill(stage, *size).await?);
    }
    let steps = (STEPS * subjects.len() * count) as u64;
    stage.progress.begin("backlog: measure", steps);
    let mut rounds = Vec::new();
    let mut done = 0;
    for _ in 0..count {
        for _ in 0..STEPS {
            for subject in &mut subjects {
                subject.step(&meter).await?;
                done += 1;
                stage.progress.reached(done);
            }
        }
        rounds.push(noted(&mut subjects));
    }
    Ok(rounds)
}

fn noted(subjects: &mut [Subject]) -> Round {
    let mut round = Round::default();
    let mut first: Option<Vec<(&str, f64)>> = None;
    for subject in subjects {
        let (size, costs) = (subject.size(), subject.take_costs());
        for (verb, cost) in &costs {
            round.note(format!("at.{size}.{verb}_us"), *cost);
        }
        match &first {
            None => first = Some(costs),
            Some(first) => {
                for ((verb, cost), (_, least)) in costs.iter().zip(first) {
                    round.note_some(format!("ratio.{size}.{verb}"), over(*cost, Some(*least)));
                }
            }
        }
    }
    round
}
