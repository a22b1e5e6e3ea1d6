//! The targets of the design, and the metric for each of them.

use super::Results;
use super::metric::Metric;
use crate::bench::number::Spread;
use crate::bench::record::Record;

/// Which direction is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    Higher,
    Lower,
}

/// One row of the design's table.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) what: &'static str,
    source: Source,
    pub(super) better: Better,
    pub(super) floor: f64,
    pub(super) goal: f64,
}

#[derive(Debug)]
enum Source {
    At(Metric),
    /// One metric divided by another.
    Over(Metric, Metric),
    /// Windlass divided by the fastest other queue that keeps its jobs.
    Peers,
}

impl Target {
    /// The value and the name of its run; `None` if it was not measured.
    pub(super) fn measured(
        &self,
        results: &Results,
        peers: Option<&Record>,
    ) -> Option<(Spread, String)> {
        match &self.source {
            Source::At(metric) => Some((metric.find(results)?, metric.run.to_owned())),
            Source::Over(one, other) => {
                let ratio = one.find(results)?.median / other.find(results)?.median;
                Some((Spread::of([ratio])?, one.run.to_owned()))
            }
            Source::Peers => {
                let keeper = peers?.fastest_keeper()?;
                let ratio = peers?.ours()?.process()?.median / keeper.process()?.median;
                Some((
                    Spread::of([ratio])?,
                    format!("other queues: {}", keeper.name),
                ))
            }
        }
    }

    /// Whether a value meets a bound.
    pub(super) fn meets(&self, value: f64, bound: f64) -> bool {
        match self.better {
            Better::Higher => value >= bound,
            Better::Lower => value <= bound,
        }
    }
}

const fn target(
    what: &'static str,
    source: Source,
    better: Better,
    floor: f64,
    goal: f64,
) -> Target {
    Target {
        what,
        source,
        better,
        floor,
        goal,
    }
}

const BACKLOG: &str = "backlog";

/// The rows of the design's table, and three more that the benchmark was asked to show.
pub(super) const TARGETS: &[Target] = &[
    target(
        "process, jobs/s ÷ bare queue, one caller, 100 jobs per call",
        Source::At(Metric::of("load", "process", "ratio")),
        Better::Higher,
        0.35,
        0.6,
    ),
    target(
        "process, jobs/s ÷ the fastest other queue whose jobs survive a crash",
        Source::Peers,
        Better::Higher,
        5.0,
        10.0,
    ),
    target(
        "bulk enqueue ÷ bare queue, one caller, 100 jobs per call",
        Source::At(Metric::of("load", "enqueue-bulk", "ratio")),
        Better::Higher,
        0.35,
        0.6,
    ),
    target(
        "single enqueues from 100 tasks ÷ bare queue, single pushes from 100 tasks",
        Source::At(Metric::of("load", "enqueue-one", "ratio")),
        Better::Higher,
        1.0,
        2.0,
    ),
    target(
        "Redis CPU per job, enqueue + claim + complete, µs",
        Source::At(Metric::of("overview", "", "redis_cpu_us_per_job")),
        Better::Lower,
        8.0,
        5.0,
    ),
    target(
        "Redis commands sent per job, 100 jobs per call",
        Source::At(Metric::of("overview", "", "commands_per_job")),
        Better::Lower,
        0.03,
        0.02,
    ),
    target(
        "bytes per waiting job",
        Source::At(Metric::of("load", "enqueue-bulk", "bytes_per_job")),
        Better::Lower,
        240.0,
        215.0,
    ),
    target(
        "idle pickup, p50 ÷ bare BLPOP",
        Source::At(Metric::of("pickup", "latency", "ratio")),
        Better::Lower,
        2.0,
        1.4,
    ),
    target(
        "lateness p99, 10 000 jobs due within 5 s, ms",
        Source::At(Metric::of("delayed", "delayed", "lateness_ms.p99")),
        Better::Lower,
        20.0,
        5.0,
    ),
    target(
        "enqueue at 10^7 waiting ÷ at 10^3",
        Source::At(Metric::of(BACKLOG, "backlog", "ratio.10000000.enqueue")),
        Better::Lower,
        2.0,
        1.2,
    ),
    target(
        "claim at 10^7 waiting ÷ at 10^3",
        Source::At(Metric::of(BACKLOG, "backlog", "ratio.10000000.claim")),
        Better::Lower,
        2.0,
        1.2,
    ),
    target(
        "complete at 10^7 waiting ÷ at 10^3",
        Source::At(Metric::of(BACKLOG, "backlog", "ratio.10000000.complete")),
        Better::Lower,
        2.0,
        1.2,
    ),
    target(
        "enqueue of a delayed job at 10^7 scheduled ÷ at 10^4",
        Source::Over(
            Metric::of(BACKLOG, "backlog", "at.10000000.delayed_us"),
            Metric::of(BACKLOG, "backlog", "at.10000.delayed_us"),
        ),
        Better::Lower,
        3.0,
        1.5,
    ),
    target(
        "SQLite, process ÷ bare SQLite at the same durability",
        Source::At(Metric::of("SQLite", "process", "ratio")),
        Better::Higher,
        0.4,
        0.7,
    ),
    target(
        "process with AOF everysec ÷ without AOF",
        Source::At(Metric::of("durability", "process", "over_off").with("everysec")),
        Better::Higher,
        0.7,
        0.85,
    ),
    target(
        "lateness p99, 1 000 000 jobs due within a minute, ms",
        Source::At(Metric::of(
            "delayed, 1 000 000 jobs",
            "delayed",
            "lateness_ms.p99",
        )),
        Better::Lower,
        1_000.0,
        1_000.0,
    ),
    target(
        "share of calls above 10 ms meanwhile",
        Source::At(Metric::of(
            "delayed, 1 000 000 jobs",
            "delayed",
            "slow_call_share",
        )),
        Better::Lower,
        0.0001,
        0.0001,
    ),
    target(
        "jobs lost while workers are killed, Redis",
        Source::At(Metric::of("crash", "crash", "lost")),
        Better::Lower,
        0.0,
        0.0,
    ),
    target(
        "jobs lost while workers are killed, SQLite",
        Source::At(Metric::of("crash, SQLite", "crash", "lost")),
        Better::Lower,
        0.0,
        0.0,
    ),
];
