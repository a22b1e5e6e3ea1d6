//! What the design asks for, and where the figure for it stands.

use super::Ours;
use super::figure::Place;
use crate::bench::number::Spread;
use crate::bench::record::Record;

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    Higher,
    Lower,
}

/// One line of the design's table.
#[derive(Debug)]
pub(super) struct Aim {
    pub(super) what: &'static str,
    place: From,
    pub(super) better: Better,
    pub(super) floor: f64,
    pub(super) goal: f64,
}

#[derive(Debug)]
enum From {
    At(Place),
    /// One figure divided by another.
    Over(Place, Place),
    /// Ours beside the fastest of the others that keeps its jobs.
    Peers,
}

impl Aim {
    /// The figure, and the name of the run it comes from; nothing where it was not measured.
    pub(super) fn measured(&self, ours: &Ours, peers: Option<&Record>) -> Option<(Spread, String)> {
        match &self.place {
            From::At(place) => Some((place.find(ours)?, place.run.to_owned())),
            From::Over(one, other) => {
                let ratio = one.find(ours)?.median / other.find(ours)?.median;
                Some((Spread::of([ratio])?, one.run.to_owned()))
            }
            From::Peers => {
                let keeper = peers?.fastest_keeper()?;
                let ratio = peers?.ours()?.process()?.median / keeper.process()?.median;
                Some((
                    Spread::of([ratio])?,
                    format!("other queues: {}", keeper.name),
                ))
            }
        }
    }

    /// Whether a figure keeps a bound.
    pub(super) fn keeps(&self, figure: f64, bound: f64) -> bool {
        match self.better {
            Better::Higher => figure >= bound,
            Better::Lower => figure <= bound,
        }
    }
}

const fn aim(what: &'static str, place: From, better: Better, floor: f64, goal: f64) -> Aim {
    Aim {
        what,
        place,
        better,
        floor,
        goal,
    }
}

const BACKLOG: &str = "backlog";

/// The lines of the design's table, and the three that the work on it was asked to show besides.
pub(super) const AIMS: &[Aim] = &[
    aim(
        "process, jobs/s ÷ bare queue, one caller that finishes and takes 100 a call",
        From::At(Place::of("load", "process", "ratio")),
        Better::Higher,
        0.35,
        0.6,
    ),
    aim(
        "process, jobs/s ÷ the fastest other queue that keeps jobs through a crash",
        From::Peers,
        Better::Higher,
        5.0,
        10.0,
    ),
    aim(
        "bulk enqueue ÷ bare queue, one caller with 100 a call",
        From::At(Place::of("load", "enqueue-bulk", "ratio")),
        Better::Higher,
        0.35,
        0.6,
    ),
    aim(
        "single enqueues by 100 tasks ÷ bare, one a call by 100 tasks",
        From::At(Place::of("load", "enqueue-one", "ratio")),
        Better::Higher,
        1.0,
        2.0,
    ),
    aim(
        "Redis CPU per job, enqueue + claim + complete, µs",
        From::At(Place::of("in and out", "", "redis_cpu_us_per_job")),
        Better::Lower,
        8.0,
        5.0,
    ),
    aim(
        "Redis commands sent per job at 100 a call",
        From::At(Place::of("in and out", "", "commands_per_job")),
        Better::Lower,
        0.03,
        0.02,
    ),
    aim(
        "bytes per waiting job",
        From::At(Place::of("load", "enqueue-bulk", "bytes_per_job")),
        Better::Lower,
        240.0,
        215.0,
    ),
    aim(
        "idle pickup, p50 ÷ bare BLPOP hand-over",
        From::At(Place::of("pickup", "latency", "ratio")),
        Better::Lower,
        2.0,
        1.4,
    ),
    aim(
        "lateness p99, 10 000 due within 5 s, ms",
        From::At(Place::of("due", "delayed", "lateness_ms.p99")),
        Better::Lower,
        20.0,
        5.0,
    ),
    aim(
        "enqueue at 10^7 waiting ÷ at 10^3",
        From::At(Place::of(BACKLOG, "backlog", "ratio.10000000.enqueue")),
        Better::Lower,
        2.0,
        1.2,
    ),
    aim(
        "claim at 10^7 waiting ÷ at 10^3",
        From::At(Place::of(BACKLOG, "backlog", "ratio.10000000.claim")),
        Better::Lower,
        2.0,
        1.2,
    ),
    aim(
        "complete at 10^7 waiting ÷ at 10^3",
        From::At(Place::of(BACKLOG, "backlog", "ratio.10000000.complete")),
        Better::Lower,
        2.0,
        1.2,
    ),
    aim(
        "insert of a delayed job with 10^7 scheduled ÷ with 10^4",
        From::Over(
            Place::of(BACKLOG, "backlog", "at.10000000.delayed_us"),
            Place::of(BACKLOG, "backlog", "at.10000.delayed_us"),
        ),
        Better::Lower,
        3.0,
        1.5,
    ),
    aim(
        "SQLite, process ÷ bare SQLite at the same durability",
        From::At(Place::of("one file", "process", "ratio")),
        Better::Higher,
        0.4,
        0.7,
    ),
    aim(
        "process with AOF everysec ÷ without AOF",
        From::At(Place::of("durable", "process", "over_off").with("everysec")),
        Better::Higher,
        0.7,
        0.85,
    ),
    aim(
        "lateness p99, 1 000 000 due within a minute, ms",
        From::At(Place::of("due at once", "delayed", "lateness_ms.p99")),
        Better::Lower,
        1_000.0,
        1_000.0,
    ),
    aim(
        "calls above 10 ms meanwhile, share",
        From::At(Place::of("due at once", "delayed", "slow_call_share")),
        Better::Lower,
        0.0001,
        0.0001,
    ),
    aim(
        "jobs lost while workers are killed, Redis",
        From::At(Place::of("killed", "crash", "lost")),
        Better::Lower,
        0.0,
        0.0,
    ),
    aim(
        "jobs lost while workers are killed, SQLite",
        From::At(Place::of("killed, one file", "crash", "lost")),
        Better::Lower,
        0.0,
        0.0,
    ),
];
