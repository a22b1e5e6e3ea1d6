//! The real worker runtime in real processes, on each store: killed, frozen, stopped, overloaded and
//! disconnected.
//!
//! `WINDLASS_ROUNDS` makes it longer (default: 1), `WINDLASS_SEED` repeats a plan of kills.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot continue fails on the spot, and prints a summary"
)]

/// Runs a case on SQLite and on Redis.
macro_rules! on_each_store {
    ($case:ident) => {
        mod $case {
            use crate::fixture::Fixture;

            #[tokio::test(flavor = "multi_thread")]
            async fn on_sqlite() {
                super::$case(Fixture::sqlite().await).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn on_redis() {
                super::$case(Fixture::redis().await).await;
            }
        }
    };
}

mod blocked;
mod cut_off;
mod durations;
mod ends;
mod faults;
mod fixture;
mod frozen;
mod killed;
mod poison;
mod rescues;
mod shares;
mod stopped;
mod workers;

/// The number of rounds.
fn rounds() -> usize {
    from_env("WINDLASS_ROUNDS").map_or(1, |rounds| usize::try_from(rounds).unwrap())
}

/// The random seed, printed so that a run can be repeated.
fn seed() -> u64 {
    let seed = from_env("WINDLASS_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("WINDLASS_SEED={seed}");
    seed
}

fn from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number")),
    )
}
