//! Decides whether a listener is alive and whether its tasks are lost. Changes nothing.
//!
//! Windlass listeners send heartbeats. Originals send none: on this machine their pid is checked, on
//! other machines they are lost only if the caller says so or after a long time without activity.

use super::clean::CleanOptions;
use super::host;
use super::snapshot::{HeldTask, ListenerSnapshot};

/// Whether a listener is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Liveness {
    Alive,
    Lost,
    /// It is no longer registered: an original removed it to claim one of its tasks, now or earlier,
    /// and left the others.
    Removed,
    /// An original on another machine.
    Unknown,
}

/// What to do with a held task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Leave,
    Lost,
    /// Lost if it stays unchanged for a while: an original may be claiming it.
    Recheck,
}

/// Decides on the basis of one snapshot.
pub(super) struct LivenessCheck<'a> {
    queue: &'a str,
    snapshot: &'a ListenerSnapshot,
    options: &'a CleanOptions,
    hosts: Vec<String>,
    is_running: fn(i64) -> bool,
}

impl<'a> LivenessCheck<'a> {
    pub(super) fn new(
        queue: &'a str,
        snapshot: &'a ListenerSnapshot,
        options: &'a CleanOptions,
    ) -> Self {
        let own = [host::name()].into_iter();
        Self {
            queue,
            snapshot,
            options,
            hosts: own.chain(options.hosts.iter().cloned()).collect(),
            is_running: host::is_running,
        }
    }

    pub(super) fn liveness(&self, listener: &str) -> Liveness {
        if self.is_known_lost(listener) {
            return Liveness::Lost;
        }
        if let Some(until) = self.snapshot.alive_until.get(listener) {
            return if *until > self.snapshot.now * 1000.0 {
                Liveness::Alive
            } else {
                Liveness::Lost
            };
        }
        let is_registered = self.snapshot.registered.contains(listener);
        match (self.pid_here(listener), is_registered) {
            (Some(pid), _) if (self.is_running)(pid) => Liveness::Alive,
            (Some(_), true) => Liveness::Lost,
            (None, true) => Liveness::Unknown,
            (_, false) => Liveness::Removed,
        }
    }

    pub(super) fn decide(&self, task: &HeldTask) -> Decision {
        if !task.queue.is_empty() && task.queue != self.queue {
            return Decision::Leave;
        }
        match task.status.as_str() {
            "started" => self.decide_started(task),
            "" | "complete" | "succeeded" | "failed" => by_liveness(self.liveness(&task.listener)),
            _ if !task.reclaimed.is_empty() && task.reclaimed != task.listener => {
                match self.liveness(&task.reclaimed) {
                    // The claimer died after it had claimed the task.
                    Liveness::Lost | Liveness::Removed => Decision::Recheck,
                    Liveness::Unknown if self.is_silent(task) => Decision::Lost,
                    Liveness::Alive | Liveness::Unknown => Decision::Leave,
                }
            }
            _ => match self.liveness(&task.listener) {
                Liveness::Unknown if self.is_silent(task) => Decision::Lost,
                liveness => by_liveness(liveness),
            },
        }
    }

    /// An original's task is judged by the process that runs it, which may outlive the listener or end
    /// before it.
    fn decide_started(&self, task: &HeldTask) -> Decision {
        let is_ours = self.snapshot.alive_until.contains_key(&task.listener);
        if is_ours || self.is_known_lost(&task.listener) {
            return by_liveness(self.liveness(&task.listener));
        }
        let is_here = self.pid_here(&task.listener).is_some();
        let is_lost = match task.pid {
            Some(pid) if is_here => !(self.is_running)(pid),
            _ => self.is_silent(task),
        };
        if is_lost {
            Decision::Lost
        } else {
            Decision::Leave
        }
    }

    fn is_known_lost(&self, listener: &str) -> bool {
        self.options.lost.iter().any(|lost| lost == listener)
    }

    /// Returns the pid of a listener, if it is on this machine and pids are checked.
    fn pid_here(&self, listener: &str) -> Option<i64> {
        let (host, pid) = host::parts(listener)?;
        let is_here = self.hosts.iter().any(|name| name == host);
        (is_here && !self.options.ignores_pids).then_some(pid)
    }

    fn is_silent(&self, task: &HeldTask) -> bool {
        let Some(silence) = self.options.silence else {
            return false;
        };
        let updated: Option<f64> = task.updated.parse().ok();
        updated.is_some_and(|updated| self.snapshot.now - updated > silence.as_secs_f64())
    }
}

fn by_liveness(liveness: Liveness) -> Decision {
    match liveness {
        Liveness::Lost => Decision::Lost,
        Liveness::Removed => Decision::Recheck,
        Liveness::Alive | Liveness::Unknown => Decision::Leave,
    }
}

#[cfg(test)]
mod tests;
