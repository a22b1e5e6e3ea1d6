//! Plans the kills of a run, from a seed so that it can be repeated.
//!
//! The plan repeats exactly; the state of the processes at each kill does not.

use std::time::Duration;

/// When to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillTime {
    /// After this many more lines of all actors together.
    AfterLines(usize),
    /// After this many more lines of the victim: often in the middle of a call.
    AfterVictimLines(usize),
    /// After a time.
    AfterTime(Duration),
}

/// One kill, of one or all processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kill {
    /// When.
    pub time: KillTime,
    /// The slots of the processes to kill; the first is the victim whose lines count.
    pub victims: Vec<usize>,
    /// Whether a restarted producer repeats the calls that got no reply.
    pub repeats: bool,
}

/// Draws kills until `count` processes are killed.
pub fn plan(seed: u64, count: usize, slots: usize) -> Vec<Kill> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut kills = Vec::new();
    let mut left = count;
    while left > 0 {
        let first = rng.usize(..slots);
        // Occasionally all die at once, as in a power loss.
        let kills_all = left >= slots && rng.u8(..12) == 0;
        let mut victims = vec![first];
        if kills_all {
            victims.extend((0..slots).filter(|slot| *slot != first));
        }
        left -= victims.len();
        kills.push(Kill {
            time: kill_time(&mut rng),
            victims,
            repeats: rng.bool(),
        });
    }
    kills
}

fn kill_time(rng: &mut fastrand::Rng) -> KillTime {
    match rng.u8(..4) {
        0 => KillTime::AfterLines(rng.usize(1..600)),
        // Shortly after a restart, the victim has barely opened the file.
        1 => KillTime::AfterTime(Duration::from_millis(rng.u64(..250))),
        _ => KillTime::AfterVictimLines(rng.usize(1..120)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_plan_and_as_many_kills_as_asked() {
        for count in [1, 25, 200] {
            let kills = plan(7, count, 5);
            assert_eq!(kills, plan(7, count, 5));
            let killed: usize = kills.iter().map(|kill| kill.victims.len()).sum();
            assert_eq!(killed, count);
        }
        assert_ne!(plan(7, 25, 5), plan(8, 25, 5));
    }
}
