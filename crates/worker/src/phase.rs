//! Where a worker is in its life: working, quiet, or on its way out.

use std::time::Duration;

use tokio::sync::watch;

/// What a worker is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Claims and runs jobs.
    Working,
    /// Claims no more, finishes what it holds, and may be told to go on.
    Quiet,
    /// Claims no more, finishes what it holds, and leaves.
    Stopping,
    /// Gives everything back now, and leaves.
    StoppingNow,
}

/// Stops a running worker from elsewhere: a worker that was started beside other code hands it
/// out. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Stopper(watch::Sender<Phase>);

impl Stopper {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Phase::Working))
    }

    /// Claims no more, lets jobs run for the grace, then gives them back; `run` then returns.
    pub fn stop(&self) {
        self.raise(Phase::Stopping);
    }

    /// Gives everything back now.
    pub fn stop_now(&self) {
        self.raise(Phase::StoppingNow);
    }

    /// Claims no more for as long as it is quiet; what is held is finished.
    pub fn quiet(&self, is_quiet: bool) {
        self.0.send_if_modified(|phase| match (*phase, is_quiet) {
            (Phase::Working, true) => {
                *phase = Phase::Quiet;
                true
            }
            (Phase::Quiet, false) => {
                *phase = Phase::Working;
                true
            }
            _ => false,
        });
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

    /// Waits until the phase is as asked.
    pub(crate) async fn until(&self, is_it: impl FnMut(&Phase) -> bool) -> Phase {
        let mut phases = self.0.subscribe();
        // The sender lives in `self`: the channel cannot close while this waits.
        phases
            .wait_for(is_it)
            .await
            .map_or(Phase::StoppingNow, |phase| *phase)
    }

    /// Waits out a pause, or the beginning of the end; true when the pause is over.
    pub(crate) async fn pause(&self, pause: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(pause) => true,
            _ = self.until(|phase| *phase >= Phase::Stopping) => false,
        }
    }
}
