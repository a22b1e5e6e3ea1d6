//! One queue's turn in a round: all scenarios on a private server.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cost::Cost;
use super::peer::Peer;
use super::server::Running;
use super::{call, fetch};

/// Payload size in bytes.
pub(super) const PAYLOAD: u32 = 100;

/// Jobs of the `pickup` scenario.
const PICKUPS: u32 = 300;

/// Slots at which every queue that has slots is measured too.
pub(super) const SLOTS: [u32; 2] = [10, 100];

/// Throughput, and the cost for the server.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Rate {
    pub(super) jobs: u32,
    pub(super) seconds: f64,
    pub(super) per_s: f64,
    pub(super) cost: Cost,
}

/// Time from enqueue to start in an idle worker, in milliseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Pickup {
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// The results of one turn. `None`: the queue lacks this call, or it is listed in `failures`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Turn {
    pub(super) enqueue_one: Option<Rate>,
    pub(super) enqueue_bulk: Option<Rate>,
    pub(super) process: Option<Rate>,
    /// The same at each of [`SLOTS`].
    #[serde(default)]
    pub(super) at_slots: [Option<Rate>; SLOTS.len()],
    pub(super) pickup: Option<Pickup>,
    pub(super) bytes_per_job: Option<f64>,
    pub(super) failures: Vec<String>,
}

impl Turn {
    /// One line for the terminal.
    pub(super) fn summary(&self) -> String {
        let rate = |rate: &Option<Rate>| match rate {
            Some(rate) => format!("{:.0}/s in {:.1} s", rate.per_s, rate.seconds),
            None => "–".to_owned(),
        };
        let pickup = match self.pickup {
            Some(pickup) => format!("{:.2} ms", pickup.p50_ms),
            None => "–".to_owned(),
        };
        format!(
            "one {}, bulk {}, process {}, pickup {pickup}",
            rate(&self.enqueue_one),
            rate(&self.enqueue_bulk),
            rate(&self.process)
        )
    }
}

/// Runs all scenarios; a failed one does not skip the others.
pub(super) fn take(root: &Path, peer: &Peer, jobs_max: Option<u32>) -> Turn {
    let mut turn = Turn::default();
    if let Err(failure) = scenarios(root, peer, jobs_max.unwrap_or(u32::MAX), &mut turn) {
        turn.failures.push(failure);
    }
    turn
}

/// Returns an error only if the server or a folder fails: then nothing more can be measured.
fn scenarios(root: &Path, peer: &Peer, jobs_max: u32, turn: &mut Turn) -> Result<(), String> {
    let folder = tempfile::tempdir()
        .map_err(|error| format!("cannot create a temporary folder: {error}"))?;
    let mut context = Context {
        root,
        peer,
        folder: folder.path(),
        concurrency: peer.concurrency,
        server: Running::start(peer.engine)?,
    };
    let processed = peer.processed.min(jobs_max);
    let kept = keep(turn, context.rate("enqueue-bulk", processed)?);
    let filled = if kept.is_some() {
        turn.enqueue_bulk = kept;
        kept
    } else {
        // No bulk call: fill the queue one by one, and measure that at the same time.
        context.server = context.server.emptied()?;
        turn.enqueue_one = keep(turn, context.rate("enqueue-one", processed)?);
        turn.enqueue_one
    };
    turn.bytes_per_job = filled.and_then(|rate| rate.cost.bytes);
    if filled.is_some() {
        turn.process = keep(turn, context.rate("process", processed)?);
    }
    if peer.has_slots && filled.is_some() {
        let fill = turn.enqueue_bulk.map_or("enqueue-one", |_| "enqueue-bulk");
        for (index, slots) in SLOTS.into_iter().enumerate() {
            context.server = context.server.emptied()?;
            context.concurrency = slots;
            let jobs = processed.div_ceil(4);
            if keep(turn, context.rate(fill, jobs)?).is_some() {
                turn.at_slots[index] = keep(turn, context.rate("process", jobs)?);
            }
        }
        context.concurrency = peer.concurrency;
    }
    if turn.enqueue_one.is_none() {
        context.server = context.server.emptied()?;
        turn.enqueue_one = keep(
            turn,
            context.rate("enqueue-one", peer.one_by_one.min(jobs_max))?,
        );
    }
    context.server = context.server.emptied()?;
    match context
        .call("pickup", PICKUPS.min(jobs_max))
        .map(serde_json::from_value)
    {
        Ok(Ok(pickup)) => turn.pickup = Some(pickup),
        Ok(Err(error)) => turn.failures.push(format!("pickup: {error}")),
        Err(failure) => turn.failures.push(failure),
    }
    Ok(())
}

/// Records a failure and returns `None` for it.
fn keep(turn: &mut Turn, outcome: Result<Option<Rate>, String>) -> Option<Rate> {
    outcome.unwrap_or_else(|failure| {
        turn.failures.push(failure);
        None
    })
}

struct Context<'a> {
    root: &'a Path,
    peer: &'a Peer,
    folder: &'a Path,
    concurrency: u32,
    server: Running,
}

impl Context<'_> {
    /// The inner result is the scenario's; `None` if the queue has no such call.
    fn rate(&self, scenario: &str, jobs: u32) -> Result<Result<Option<Rate>, String>, String> {
        #[derive(Deserialize)]
        struct Answer {
            seconds: f64,
            per_s: f64,
        }
        let before = self.server.snapshot()?;
        let answer = match self.call(scenario, jobs) {
            Ok(Value::Null) => return Ok(Ok(None)),
            Ok(answer) => serde_json::from_value::<Answer>(answer),
            Err(failure) => return Ok(Err(failure)),
        };
        let cost = self.server.snapshot()?.since(&before, jobs);
        Ok(match answer {
            Ok(Answer { seconds, per_s }) => Ok(Some(Rate {
                jobs,
                seconds,
                per_s,
                cost,
            })),
            Err(error) => Err(format!("{scenario}: {error}")),
        })
    }

    fn call(&self, scenario: &str, jobs: u32) -> Result<Value, String> {
        let mut command = fetch::program(self.root, self.peer);
        command.arg(scenario).args(["--url", &self.server.url()]);
        let numbers = [
            ("--jobs", jobs),
            ("--payload", PAYLOAD),
            ("--concurrency", self.concurrency),
        ];
        for (name, number) in numbers {
            command.args([name, &number.to_string()]);
        }
        call::run(self.folder, &mut command).map_err(|why| format!("{scenario}: {why}"))
    }
}
