//! `cargo xtask help`: what chores there are.

use std::process::ExitCode;

const TEXT: &str = "\
cargo xtask COMMAND

  check           everything CI runs: fmt, clippy, tidy, redis, peers, tests, docs, deny
  check --quick   fmt, tidy, clippy and the fast tests, for use while writing
  tidy            the rules of the house alone: edges, sizes, names, links
  peers           the real clients of the older systems, which tests talk to, into target/peers
  chaos           the crash tests at length, in release: --kills N (200), --seed N (drawn);
                  workers killed, frozen and stopped --rounds N (10) times as long;
                  --store redis: on Redis, and its faults as long as well
  bench           `windlass bench` beside the bare engine, into docs/performance.md; a quarter of an
                  hour on a quiet machine; --page: the page alone, from what was measured last
  bench --peers   the same work on Windlass and on other queues, in turn, into docs/performance:
                  --only NAME,NAME (all of bench/peers), --rounds N (5), --jobs N (at most so many
                  in a measurement); installs those queues into target/bench-peers
  help            this list
";

/// Prints the list.
pub(crate) fn run() -> ExitCode {
    print!("{TEXT}");
    ExitCode::SUCCESS
}

/// Says that a command line was not understood; exit 2, as for any wrong usage.
pub(crate) fn refuse(words: &[&str]) -> ExitCode {
    println!(
        "xtask does not know `{}`; these are its commands:\n\n{TEXT}",
        words.join(" ")
    );
    ExitCode::from(2)
}
