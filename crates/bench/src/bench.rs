//! A run: its targets, plan, tasks and processes.

use std::path::PathBuf;

use tokio::sync::Mutex;
use windlass::Result;

use crate::aof::Aof;
use crate::context::BenchContext;
use crate::measure::{Metrics, Round, over};
use crate::plan::{Arguments, LoadPlan};
use crate::processes::WorkerProcesses;
use crate::progress::ProgressReport;
use crate::report::{Measured, Report};
use crate::scenario::Scenario;
use crate::target::LoadTarget;
use crate::tasks::Tasks;

/// The metric by which targets are compared: the first that a scenario has.
const MAIN_METRICS: [&str; 4] = ["per_s", "wait_ms.p50", "pickup_ms.p50", "lateness_ms.p50"];

/// Runs load on one or more targets. Always finish with [`Bench::end`], also after an error.
#[derive(Debug)]
pub struct Bench {
    targets: Vec<LoadTarget>,
    plan: LoadPlan,
    program: PathBuf,
    tasks: Tasks,
    processes: Mutex<WorkerProcesses>,
}

impl Bench {
    /// A run on these targets. `program` is started as a worker process with
    /// [`worker::SUBCOMMAND`](crate::worker::SUBCOMMAND), a queue and a file, and must call
    /// [`worker::run`](crate::worker::run).
    pub fn new(targets: Vec<LoadTarget>, plan: LoadPlan, program: PathBuf) -> Self {
        Self {
            targets,
            plan,
            program,
            tasks: Tasks::default(),
            processes: Mutex::default(),
        }
    }

    /// Measures what the command line chose, and passes every result on as it comes. Returns whether no
    /// job was lost or started early.
    pub async fn measure(
        &self,
        arguments: &Arguments,
        progress: &dyn ProgressReport,
        mut show: impl FnMut(Measured),
    ) -> Result<bool> {
        let scenarios = arguments.scenarios();
        if scenarios.is_empty() {
            show(Measured::Quick(
                self.quick(arguments.limit, progress).await?,
            ));
        }
        let mut is_correct = true;
        for scenario in scenarios {
            for report in self.run(scenario, progress).await? {
                is_correct &= report.is_correct();
                show(Measured::Scenario(report));
            }
        }
        Ok(is_correct)
    }

    /// Runs a scenario, with alternating rounds on all targets. Returns one report per target.
    async fn run(&self, scenario: Scenario, progress: &dyn ProgressReport) -> Result<Vec<Report>> {
        let mut rounds: Vec<Vec<Round>> = self.targets.iter().map(|_| Vec::new()).collect();
        let count = self.plan.rounds;
        let at_once = if scenario.shares_a_store() { count } else { 1 };
        for _ in 0..count / at_once {
            for (target, rounds) in self.targets.iter().zip(&mut rounds) {
                let context = self.context(target, progress);
                // Boxed because some of these futures are large.
                rounds.extend(Box::pin(scenario.rounds(&context, at_once)).await?);
            }
        }
        self.compare(&mut rounds);
        let reports = self.targets.iter().zip(&rounds).map(|(target, rounds)| {
            Report::new(scenario, target, rounds.len(), Metrics::of(rounds))
        });
        Ok(reports.collect())
    }

    /// Records the ratio of each target to the one without an append-only file, round by round.
    fn compare(&self, rounds: &mut [Vec<Round>]) {
        let is_off = |target: &LoadTarget| target.aof() == Some(Aof::Off);
        let Some(off) = self.targets.iter().position(is_off) else {
            return;
        };
        let main = |round: &Round| MAIN_METRICS.iter().find_map(|name| round.get(name));
        let Some(base) = rounds.get(off) else {
            return;
        };
        let base: Vec<Option<f64>> = base.iter().map(main).collect();
        for (number, rounds) in rounds.iter_mut().enumerate() {
            if number == off {
                continue;
            }
            for (round, base) in rounds.iter_mut().zip(&base) {
                if let Some(metric) = main(round) {
                    round.record_some("over_off", over(metric, *base));
                }
            }
        }
    }

    /// Ends all processes and tasks, and removes all data.
    pub async fn end(self) -> Result<()> {
        self.processes.lock().await.kill_all().await;
        self.tasks.wait().await;
        let mut ended = Ok(());
        for target in self.targets {
            ended = ended.and(target.remove().await);
        }
        ended
    }

    pub(crate) fn plan(&self) -> &LoadPlan {
        &self.plan
    }

    /// The context of the first target.
    pub(crate) fn first<'a>(
        &'a self,
        progress: &'a dyn ProgressReport,
    ) -> Option<BenchContext<'a>> {
        let target = self.targets.first()?;
        Some(self.context(target, progress))
    }

    fn context<'a>(
        &'a self,
        target: &'a LoadTarget,
        progress: &'a dyn ProgressReport,
    ) -> BenchContext<'a> {
        BenchContext {
            target,
            plan: &self.plan,
            tasks: &self.tasks,
            progress,
            program: &self.program,
            processes: &self.processes,
        }
    }
}
