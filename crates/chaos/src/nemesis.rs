//! The plan of who is killed when: drawn from a seed, so that a run can be repeated.
//!
//! The plan repeats exactly; what the processes have come to when it strikes is up to the machine.

use std::time::Duration;

/// When to strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// When all actors together have said this many lines more.
    AfterLines(usize),
    /// Right when the victim has said this many lines more: often in the middle of a call.
    AfterVictimSays(usize),
    /// After a while.
    AfterTime(Duration),
}

/// One blow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blow {
    /// When.
    pub moment: Moment,
    /// Whom: places in the crew, the first of them the victim that is watched.
    pub victims: Vec<usize>,
    /// Whether a restarted producer repeats the calls of which its last life got no answer.
    pub repeats: bool,
}

/// Draws blows until `kills` processes are killed.
pub fn plan(seed: u64, kills: usize, crew: usize) -> Vec<Blow> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut blows = Vec::new();
    let mut left = kills;
    while left > 0 {
        let first = rng.usize(..crew);
        // Now and then all die at once, as when the machine does.
        let is_massacre = left >= crew && rng.u8(..12) == 0;
        let mut victims = vec![first];
        if is_massacre {
            victims.extend((0..crew).filter(|place| *place != first));
        }
        left -= victims.len();
        blows.push(Blow {
            moment: moment(&mut rng),
            victims,
            repeats: rng.bool(),
        });
    }
    blows
}

fn moment(rng: &mut fastrand::Rng) -> Moment {
    match rng.u8(..4) {
        0 => Moment::AfterLines(rng.usize(1..600)),
        // Soon after a restart the victim has hardly opened the file.
        1 => Moment::AfterTime(Duration::from_millis(rng.u64(..250))),
        _ => Moment::AfterVictimSays(rng.usize(1..120)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_plan_and_as_many_kills_as_asked() {
        for kills in [1, 25, 200] {
            let blows = plan(7, kills, 5);
            assert_eq!(blows, plan(7, kills, 5));
            let killed: usize = blows.iter().map(|blow| blow.victims.len()).sum();
            assert_eq!(killed, kills);
        }
        assert_ne!(plan(7, 25, 5), plan(8, 25, 5));
    }
}
