//! A run: its places, its plan, and whoever works for it.

use std::path::PathBuf;

use tokio::sync::Mutex;
use windlass::Result;

use crate::aof::Aof;
use crate::crew::Crew;
use crate::measure::{Figures, Round, over};
use crate::place::Place;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::report::Report;
use crate::scenario::{Scenario, backlog_rounds};
use crate::stage::Stage;
use crate::tasks::Tasks;

/// What a scenario is compared by between places, the first it has.
const MAIN_FIGURES: [&str; 4] = ["per_s", "wait_ms.p50", "pickup_ms.p50", "lateness_ms.p50"];

/// Load on one or more places. End it with [`Bench::end`], whatever happened.
#[derive(Debug)]
pub struct Bench {
    places: Vec<Place>,
    plan: Plan,
    program: PathBuf,
    tasks: Tasks,
    crew: Mutex<Crew>,
}

impl Bench {
    /// A run on these places. `program` is what is started as a worker process: called with
    /// [`worker::WORD`](crate::worker::WORD), a queue and a file it is to do
    /// [`worker::run`](crate::worker::run).
    pub fn new(places: Vec<Place>, plan: Plan, program: PathBuf) -> Self {
        Self {
            places,
            plan,
            program,
            tasks: Tasks::default(),
            crew: Mutex::default(),
        }
    }

    /// Runs a scenario; one report per place. Rounds on all places alternate.
    pub async fn run(&self, scenario: Scenario, progress: &dyn Progress) -> Result<Vec<Report>> {
        let mut rounds: Vec<Vec<Round>> = self.places.iter().map(|_| Vec::new()).collect();
        if scenario == Scenario::Backlog {
            for (place, rounds) in self.places.iter().zip(&mut rounds) {
                let stage = self.stage(place, progress);
                *rounds = backlog_rounds(&stage, self.plan.rounds).await?;
            }
        } else {
            for _ in 0..self.plan.rounds {
                for (place, rounds) in self.places.iter().zip(&mut rounds) {
                    let stage = self.stage(place, progress);
                    // Some futures of scenarios are large.
                    rounds.push(Box::pin(scenario.round(&stage)).await?);
                }
            }
        }
        self.compare(&mut rounds);
        let reports =
            self.places.iter().zip(&rounds).map(|(place, rounds)| {
                Report::new(scenario, place, rounds.len(), Figures::of(rounds))
            });
        Ok(reports.collect())
    }

    /// Writes down how each place stands to the one without an append-only file, round by round.
    fn compare(&self, rounds: &mut [Vec<Round>]) {
        let is_off = |place: &Place| place.aof() == Some(Aof::Off);
        let Some(off) = self.places.iter().position(is_off) else {
            return;
        };
        let main = |round: &Round| MAIN_FIGURES.iter().find_map(|name| round.get(name));
        let Some(base) = rounds.get(off) else {
            return;
        };
        let base: Vec<Option<f64>> = base.iter().map(main).collect();
        for (number, rounds) in rounds.iter_mut().enumerate() {
            if number == off {
                continue;
            }
            for (round, base) in rounds.iter_mut().zip(&base) {
                if let Some(figure) = main(round) {
                    round.note_some("over_off", over(figure, *base));
                }
            }
        }
    }

    /// Ends everybody who works, and removes all that was stored.
    pub async fn end(self) -> Result<()> {
        self.crew.lock().await.end().await;
        self.tasks.ended().await;
        let mut ended = Ok(());
        for place in self.places {
            ended = ended.and(place.remove().await);
        }
        ended
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The first place.
    pub(crate) fn first<'a>(&'a self, progress: &'a dyn Progress) -> Option<Stage<'a>> {
        let place = self.places.first()?;
        Some(self.stage(place, progress))
    }

    fn stage<'a>(&'a self, place: &'a Place, progress: &'a dyn Progress) -> Stage<'a> {
        Stage {
            place,
            plan: &self.plan,
            tasks: &self.tasks,
            progress,
            program: &self.program,
            crew: &self.crew,
        }
    }
}
