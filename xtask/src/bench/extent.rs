//! The options of `cargo xtask bench --peers`.

use super::peer::{PEERS, Peer};

/// Default number of rounds: enough for a median that one bad moment does not move.
const ROUNDS: u32 = 5;

/// Which queues to run, how many rounds, and the job limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Empty: all.
    only: Vec<String>,
    pub(super) rounds: u32,
    /// Upper limit for the jobs of a measurement; each queue has its own number below it.
    pub(super) jobs: Option<u32>,
}

impl Extent {
    /// Parses `--only NAME,NAME`, `--rounds N` and `--jobs N`; `None` if they are invalid.
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

    /// The command that repeats this run.
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
    fn a_run_can_be_limited_and_shows_how_to_repeat_it() {
        let extent = Extent::read(&["--only", "rq,windlass", "--rounds", "2", "--jobs", "50"]);
        let extent = extent.expect("valid options");
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
    fn invalid_options_are_refused() {
        assert_eq!(Extent::read(&["--only", "no-such-queue"]), None);
        assert_eq!(Extent::read(&["--rounds", "0"]), None);
        assert_eq!(Extent::read(&["--jobs"]), None);
    }
}
