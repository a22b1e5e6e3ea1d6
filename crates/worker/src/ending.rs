//! How attempts end: by themselves, or because they should not go on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use windlass_core::limits::MESSAGE_BYTES_MAX;
use windlass_core::{Mode, OutcomeStatus};

use crate::deadlines::Step;
use crate::lane::Lane;
use crate::outbox::Ended;
use crate::outcome::{Again, Outcome};
use crate::run::Run;
use crate::shared::Shared;
use crate::slots::Slot;
use crate::stop::StopReason;

impl Shared {
    /// A handler is out of its attempt; what it says counts unless the attempt has ended before.
    pub(crate) fn returned(
        &self,
        lane: &Arc<Lane>,
        run: &Arc<Run>,
        outcome: Outcome,
        slot: Option<Slot>,
    ) {
        if !run.end() {
            return;
        }
        if self.options.mode == Mode::AtMostOnce {
            // The store counts it as done since it was handed out.
            let figure = match outcome {
                Outcome::Done(_) => &self.tally.succeeded,
                _ => &self.tally.failed,
            };
            figure.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let outcome = self.judged(run, outcome);
        lane.outbox.push(Ended {
            run: Arc::clone(run),
            outcome,
            slot,
        });
    }

    /// Asks an attempt to stop. One that listens gets its time; one that does not is ended.
    pub(crate) fn ask_to_stop(&self, lane: &Arc<Lane>, run: &Arc<Run>, why: StopReason) {
        if why == StopReason::LeaseLost {
            self.lose(lane, run);
            return;
        }
        if run.is_ended() || run.stop_reason().is_some() {
            return;
        }
        if run.ask_to_stop(why) {
            self.force_later(lane, run);
        } else {
            self.force(lane, run);
        }
    }

    /// Gives an attempt its time to stop; one too long for the clock never ends.
    fn force_later(&self, lane: &Arc<Lane>, run: &Arc<Run>) {
        if let Some(at) = Instant::now().checked_add(self.options.stop_wait) {
            self.deadlines.add(at, Step::Force, lane, run);
        }
    }

    /// Ends an attempt that had its time.
    pub(crate) fn force(&self, lane: &Arc<Lane>, run: &Arc<Run>) {
        if run.end() {
            let outcome = match run.stop_reason() {
                Some(StopReason::TimedOut) => failed(timed_out(run), run),
                // A cancelled job that is released is cancelled.
                _ => Outcome::Release,
            };
            if self.options.mode == Mode::AtMostOnce {
                self.tally.failed.fetch_add(1, Ordering::Relaxed);
            } else {
                lane.late.push(Ended {
                    run: Arc::clone(run),
                    outcome,
                    slot: None,
                });
            }
        }
        run.abort();
    }

    /// The job is somebody else's by now: nothing that this attempt says is written any more.
    fn lose(&self, lane: &Arc<Lane>, run: &Arc<Run>) {
        let is_first = run.end();
        let listens = run.ask_to_stop(StopReason::LeaseLost);
        lane.holdings().forget(std::slice::from_ref(run));
        if is_first {
            self.tally.lost.fetch_add(1, Ordering::Relaxed);
            lane.figures.settled(OutcomeStatus::LeaseLost, 1);
            tracing::warn!(target: "windlass", queue = %lane.queue(), id = %run.job.id,
                token = %run.token, "the lease is lost: the attempt is stopped, and somebody else may have the job");
            if listens {
                self.force_later(lane, run);
                return;
            }
        }
        run.abort();
    }

    /// What is written for what a handler said.
    fn judged(&self, run: &Run, outcome: Outcome) -> Outcome {
        match (outcome, run.stop_reason()) {
            (Outcome::Done(Some(result)), _) if result.len() > self.limits.payload_bytes_max => {
                let error = format!(
                    "the result is too large: it has {} bytes, the limit is {}; the job itself ran",
                    result.len(),
                    self.limits.payload_bytes_max
                );
                Outcome::permanent(error)
            }
            // It was cut short by the worker's end, which is not its fault.
            (Outcome::Failed { .. }, Some(StopReason::Leaving)) => Outcome::Release,
            (Outcome::Failed { error, again }, Some(StopReason::TimedOut)) => {
                with_tail(format!("{}: {error}", timed_out(run)), again, run)
            }
            (Outcome::Failed { error, again }, _) => with_tail(error, again, run),
            (outcome, _) => outcome,
        }
    }
}

fn timed_out(run: &Run) -> String {
    match run.timeout {
        Some(timeout) => format!("the attempt timed out after {timeout:?}"),
        None => "the attempt timed out".to_owned(),
    }
}

fn failed(error: String, run: &Run) -> Outcome {
    with_tail(error, Again::ByPolicy, run)
}

/// The error with the last lines that were logged.
fn with_tail(mut error: String, again: Again, run: &Run) -> Outcome {
    let tail = run.tail();
    if !tail.is_empty() {
        let room = MESSAGE_BYTES_MAX.saturating_sub(tail.len() + 32);
        error.truncate(error.floor_char_boundary(room));
        error = format!("{error}\nlast log lines:\n{tail}");
    }
    Outcome::Failed { error, again }
}
