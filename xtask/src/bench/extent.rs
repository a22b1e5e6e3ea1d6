//! What a run of the bench covers.

use super::peer::{PEERS, Peer};

/// Rounds unless said otherwise: enough for a median that one bad moment does not move.
const ROUNDS: u32 = 5;

/// Which queues, how often, and how much at most.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// All when nobody chose.
    only: Vec<String>,
    pub(super) rounds: u32,
    /// The most jobs of a measurement; each queue has a number of its own below it.
    pub(super) jobs: Option<u32>,
}

impl Extent {
    /// Reads `--only NAME,NAME`, `--rounds N` and `--jobs N`; nothing when they cannot be read.
    pub(crate) fn read(options: &[&str]) -> Option<Self> {
        let mut extent = Self {
            only: Vec::new(),
            rounds: ROUNDS,
            jobs: None,
        };
        let positive = |text: &str| text.parse().ok().filter(|number| *number > 0_u32);
        for option in options.chunks(2) {
            match option {
                ["--only", names] => extent.only = names.split(',').map(str::to_owned).collect(),
                ["--rounds", rounds] => extent.rounds = positive(rounds)?,
                ["--jobs", jobs] => extent.jobs = Some(positive(jobs)?),
                _ => return None,
            }
        }
        let is_known = |name: &String| PEERS.iter().any(|peer| peer.name == name);
        extent.only.iter().all(is_known).then_some(extent)
    }

    /// The queues of this run, in the order of the table.
    pub(super) fn peers(&self) -> Vec<&'static Peer> {
        let is_wanted =
            |peer: &&Peer| self.only.is_empty() || self.only.iter().any(|name| name == peer.name);
        PEERS.iter().filter(is_wanted).collect()
    }

    /// The command that repeats the run.
    pub(super) fn shown(&self) -> String {
        let mut words = format!("cargo xtask bench --peers --rounds {}", self.rounds);
        if !self.only.is_empty() {
            words = format!("{words} --only {}", self.only.join(","));
        }
        if let Some(jobs) = self.jobs {
            words = format!("{words} --jobs {jobs}");
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_can_be_cut_short_and_says_how_to_repeat_it() {
        let extent = Extent::read(&["--only", "rq,windlass", "--rounds", "2", "--jobs", "50"]);
        let extent = extent.expect("understood");
        let names: Vec<_> = extent.peers().iter().map(|peer| peer.name).collect();
        assert_eq!(names, ["windlass", "rq"]);
        assert_eq!(
            extent.shown(),
            "cargo xtask bench --peers --rounds 2 --only rq,windlass --jobs 50"
        );
        assert_eq!(
            Extent::read(&[]).map(|all| all.peers().len()),
            Some(PEERS.len())
        );
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        assert_eq!(Extent::read(&["--only", "no-such-queue"]), None);
        assert_eq!(Extent::read(&["--rounds", "0"]), None);
        assert_eq!(Extent::read(&["--jobs"]), None);
    }
}
