//! The real worker as real processes, on each store: killed, frozen, stopped, crowded and cut off.
//!
//! `WINDLASS_ROUNDS` makes it longer (1 unless said), `WINDLASS_SEED` repeats a plan of kills.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and says what it went through"
)]

/// Runs a case on SQLite and on Redis.
macro_rules! on_each_store {
    ($case:ident) => {
        mod $case {
            use crate::ground::Ground;

            #[tokio::test(flavor = "multi_thread")]
            async fn on_sqlite() {
                super::$case(Ground::sqlite().await).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn on_redis() {
                super::$case(Ground::redis().await).await;
            }
        }
    };
}

mod blocked;
mod cut_off;
mod ends;
mod faults;
mod figures;
mod frozen;
mod ground;
mod hands;
mod killed;
mod poison;
mod rescues;
mod shares;
mod stopped;

/// How many times as long as in every check.
fn rounds() -> usize {
    from_env("WINDLASS_ROUNDS").map_or(1, |rounds| usize::try_from(rounds).unwrap())
}

/// The seed of what is drawn, printed so that it can be repeated.
fn seed() -> u64 {
    let seed = from_env("WINDLASS_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("WINDLASS_SEED={seed}");
    seed
}

fn from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
    )
}
