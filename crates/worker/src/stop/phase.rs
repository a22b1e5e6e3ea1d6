//! The phase of a worker: working, paused or stopping.

use std::time::Duration;

use tokio::sync::watch;

/// The phase of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Claims and runs jobs.
    Working,
    /// Claims nothing new and finishes its jobs; may resume.
    Paused,
    /// Claims nothing new, finishes its jobs and exits.
    Stopping,
    /// Releases all jobs now and exits.
    StoppingNow,
}

/// Stops or pauses a running worker from other code. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Stopper(watch::Sender<Phase>);

impl Stopper {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Phase::Working))
    }

    /// Stops claiming, lets jobs finish within the grace period, then releases the rest; the worker's
    /// `run` then returns.
    pub fn stop(&self) {
        self.raise(Phase::Stopping);
    }

    /// Releases all jobs now and stops.
    pub fn stop_now(&self) {
        self.raise(Phase::StoppingNow);
    }

    /// Pauses or resumes claiming. Running jobs finish either way.
    pub fn set_paused(&self, is_paused: bool) {
        let (from, to) = if is_paused {
            (Phase::Working, Phase::Paused)
        } else {
            (Phase::Paused, Phase::Working)
        };
        self.0
            .send_if_modified(|phase| *phase == from && std::mem::replace(phase, to) == from);
    }

    fn raise(&self, to: Phase) {
        self.0.send_if_modified(|phase| {
            let is_further = *phase < to;
            *phase = to.max(*phase);
            is_further
        });
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.0.borrow()
    }

    /// Waits until the phase matches.
    pub(crate) async fn until(&self, matches: impl FnMut(&Phase) -> bool) -> Phase {
        let mut phases = self.0.subscribe();
        // The sender lives in `self`: the channel cannot close while this waits.
        phases
            .wait_for(matches)
            .await
            .map_or(Phase::StoppingNow, |phase| *phase)
    }

    /// Sleeps, unless the worker starts to stop; returns true if the sleep ran to its end.
    pub(crate) async fn sleep(&self, duration: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(duration) => true,
            _ = self.until(|phase| *phase >= Phase::Stopping) => false,
        }
    }
}
