//! Plans the faults of a run, from a seed so that it can be repeated.
//!
//! The plan repeats exactly; the state of the processes at each fault does not.

use std::time::Duration;

use crate::LEASE;

/// When a fault happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultTime {
    /// After this many more lines of all actors together.
    AfterLines(usize),
    /// After this many more lines of the victim: often in the middle of a call.
    AfterVictimLines(usize),
    /// After a time.
    AfterTime(Duration),
}

/// One fault, of one or all processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// When.
    pub time: FaultTime,
    /// The slots of the processes; the first is the victim whose lines count.
    pub victims: Vec<usize>,
    /// What happens to them.
    pub kind: FaultKind,
}

/// What happens to the victims of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// They are killed with SIGKILL and restarted.
    Kill {
        /// Whether a restarted producer repeats the calls that got no reply.
        repeats: bool,
    },
    /// They are stopped with SIGSTOP, and continue after this time, which is longer than their leases.
    Stop(Duration),
}

impl Fault {
    /// The number of processes it kills.
    pub fn kills(&self) -> usize {
        match self.kind {
            FaultKind::Kill { .. } => self.victims.len(),
            FaultKind::Stop(_) => 0,
        }
    }
}

/// Draws kills until `count` processes are killed, and stops between them.
pub fn plan(seed: u64, count: usize, slots: usize, lease: Duration) -> Vec<Fault> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut faults = Vec::new();
    let mut left = count;
    while left > 0 {
        let first = rng.usize(..slots);
        if rng.u8(..4) == 0 {
            faults.push(Fault {
                time: fault_time(&mut rng),
                victims: vec![first],
                kind: FaultKind::Stop(lease + LEASE * rng.u32(2..20) / 10),
            });
            continue;
        }
        // Occasionally all die at once, as in a power loss.
        let kills_all = left >= slots && rng.u8(..12) == 0;
        let mut victims = vec![first];
        if kills_all {
            victims.extend((0..slots).filter(|slot| *slot != first));
        }
        left -= victims.len();
        faults.push(Fault {
            time: fault_time(&mut rng),
            victims,
            kind: FaultKind::Kill {
                repeats: rng.bool(),
            },
        });
    }
    faults
}

fn fault_time(rng: &mut fastrand::Rng) -> FaultTime {
    match rng.u8(..4) {
        0 => FaultTime::AfterLines(rng.usize(1..600)),
        // Shortly after a restart, the victim has barely opened the file.
        1 => FaultTime::AfterTime(Duration::from_millis(rng.u64(..250))),
        _ => FaultTime::AfterVictimLines(rng.usize(1..120)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_plan_and_as_many_kills_as_asked() {
        for count in [1, 25, 200] {
            let faults = plan(7, count, 5, LEASE);
            assert_eq!(faults, plan(7, count, 5, LEASE));
            let killed: usize = faults.iter().map(Fault::kills).sum();
            assert_eq!(killed, count);
        }
        assert_ne!(plan(7, 25, 5, LEASE), plan(8, 25, 5, LEASE));
    }

    #[test]
    fn a_stop_is_longer_than_a_lease() {
        let lease = LEASE * 7;
        let stops = plan(7, 200, 5, lease)
            .into_iter()
            .filter_map(|fault| match fault.kind {
                FaultKind::Stop(time) => Some(time),
                FaultKind::Kill { .. } => None,
            });
        let stops: Vec<_> = stops.collect();
        assert!(
            stops.len() > 20 && stops.iter().all(|time| *time > lease),
            "{stops:?}"
        );
    }
}
