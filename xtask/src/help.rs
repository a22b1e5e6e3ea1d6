//! `cargo xtask help`: lists the commands.

use std::process::ExitCode;

const TEXT: &str = "\
cargo xtask COMMAND

  check           run what CI runs: fmt, clippy, tidy, redis, peers, tests, docs, deny
  check --quick   run fmt, tidy, clippy and the fast tests
  tidy            check the style rules: crate edges, file sizes, names, words, links
  peers           install the clients of the older systems, used by tests, into target/peers
  chaos           run the long crash tests, in release mode
                    --kills N       processes to kill (default: 200)
                    --rounds N      length of the worker and fault tests, as a multiple of the
                                    length in `check` (default: 10)
                    --seed N        repeat a run (default: random)
                    --store NAME    sqlite or redis (default: sqlite)
  fuzz [TARGET]   run the fuzz targets with libFuzzer (default: all of them)
                    --seconds N     seconds per target (default: 60)
  bench           compare `windlass bench` with the bare engine and update docs/performance.md;
                  takes about 15 minutes on an idle machine
                    --page          only rewrite the page, from the last measurements
  bench --peers   run the same work on Windlass and on other queues, alternating, and update
                  docs/performance; installs the queues into target/bench-peers
                    --only A,B      peers to run (default: all in bench/peers)
                    --rounds N      rounds (default: 5)
                    --jobs N        maximum number of jobs per measurement
  help            print this list
";

/// Prints the list of commands.
pub(crate) fn run() -> ExitCode {
    print!("{TEXT}");
    ExitCode::SUCCESS
}

/// Reports an unknown command line. Exits with 2, the usual code for wrong usage.
pub(crate) fn unknown(arguments: &[&str]) -> ExitCode {
    println!(
        "unknown command `{}`; expected one of:\n\n{TEXT}",
        arguments.join(" ")
    );
    ExitCode::from(2)
}
