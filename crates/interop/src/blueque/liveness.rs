//! Whether a listener is alive, and what becomes of a task that it holds. It only judges.
//!
//! Ours give signs of life. Originals give none: on this machine the number of their process tells,
//! on others only somebody who knows, or a long silence.

use super::clean::CleanOptions;
use super::host;
use super::survey::{Held, Survey};

/// Whether a listener is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Alive,
    Lost,
    /// Somebody removed it from the listeners: an original that claims one task of it, now or
    /// long ago, and leaves the others.
    Removed,
    /// An original on another machine.
    Unknown,
}

/// What becomes of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Leave,
    /// It is lost.
    Lost,
    /// It is lost if nothing happens to it for a moment: an original may be claiming it.
    Doubtful,
}

/// Judges by one look.
pub(super) struct Judge<'a> {
    queue: &'a str,
    survey: &'a Survey,
    options: &'a CleanOptions,
    hosts: Vec<String>,
    is_running: fn(i64) -> bool,
}

impl<'a> Judge<'a> {
    pub(super) fn new(queue: &'a str, survey: &'a Survey, options: &'a CleanOptions) -> Self {
        let own = [host::name()].into_iter();
        Self {
            queue,
            survey,
            options,
            hosts: own.chain(options.hosts.iter().cloned()).collect(),
            is_running: host::is_running,
        }
    }

    pub(super) fn life(&self, listener: &str) -> Life {
        if self.is_told(listener) {
            return Life::Lost;
        }
        if let Some(until) = self.survey.beats.get(listener) {
            return if *until > self.survey.now * 1000.0 {
                Life::Alive
            } else {
                Life::Lost
            };
        }
        let is_listed = self.survey.listed.contains(listener);
        match (self.pid_here(listener), is_listed) {
            (Some(pid), _) if (self.is_running)(pid) => Life::Alive,
            (Some(_), true) => Life::Lost,
            (None, true) => Life::Unknown,
            (_, false) => Life::Removed,
        }
    }

    pub(super) fn of(&self, held: &Held) -> Verdict {
        if !held.queue.is_empty() && held.queue != self.queue {
            return Verdict::Leave;
        }
        match held.status.as_str() {
            "started" => self.of_started(held),
            "" | "complete" | "succeeded" | "failed" => of_life(self.life(&held.listener)),
            _ if !held.reclaimed.is_empty() && held.reclaimed != held.listener => {
                match self.life(&held.reclaimed) {
                    // It ended after it had claimed.
                    Life::Lost | Life::Removed => Verdict::Doubtful,
                    Life::Unknown if self.is_silent(held) => Verdict::Lost,
                    Life::Alive | Life::Unknown => Verdict::Leave,
                }
            }
            _ => match self.life(&held.listener) {
                Life::Unknown if self.is_silent(held) => Verdict::Lost,
                life => of_life(life),
            },
        }
    }

    /// The process of a task may outlive its listener, and end before it.
    fn of_started(&self, held: &Held) -> Verdict {
        let is_ours = self.survey.beats.contains_key(&held.listener);
        if is_ours || self.is_told(&held.listener) {
            return of_life(self.life(&held.listener));
        }
        let is_here = self.pid_here(&held.listener).is_some();
        let is_lost = match held.pid {
            Some(pid) if is_here => !(self.is_running)(pid),
            _ => self.is_silent(held),
        };
        if is_lost {
            Verdict::Lost
        } else {
            Verdict::Leave
        }
    }

    fn is_told(&self, listener: &str) -> bool {
        self.options.lost.iter().any(|told| told == listener)
    }

    /// The number of its process, where that can be asked for.
    fn pid_here(&self, listener: &str) -> Option<i64> {
        let (host, pid) = host::parts(listener)?;
        let is_here = self.hosts.iter().any(|name| name == host);
        (is_here && !self.options.ignores_pids).then_some(pid)
    }

    fn is_silent(&self, held: &Held) -> bool {
        let Some(silence) = self.options.silence else {
            return false;
        };
        let updated: Option<f64> = held.updated.parse().ok();
        updated.is_some_and(|updated| self.survey.now - updated > silence.as_secs_f64())
    }
}

fn of_life(life: Life) -> Verdict {
    match life {
        Life::Lost => Verdict::Lost,
        Life::Removed => Verdict::Doubtful,
        Life::Alive | Life::Unknown => Verdict::Leave,
    }
}

#[cfg(test)]
mod tests;
