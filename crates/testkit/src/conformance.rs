//! The conformance suite: what every store promises.
//!
//! Each case is one promise: an async function named after it. [`conformance!`](macro@crate::conformance)
//! creates a test for every `pub async fn` of these files, which `build.rs` lists.

#![expect(missing_docs, reason = "a case is named after the promise it checks")]

pub mod actions;
pub mod audit;
pub mod bounds;
pub mod cancel;
pub mod claim;
pub mod clock;
pub mod dispatch;
pub mod duplicates;
pub mod enqueue;
pub mod errors;
pub mod expiry;
pub mod explain;
pub mod fencing;
pub mod groups;
pub mod held_keys;
pub mod history;
pub mod lanes;
pub mod lease;
pub mod limits;
pub mod missed;
pub mod operate;
pub mod order;
pub mod outcome;
pub mod overlap;
pub mod payload;
pub mod poison;
pub mod queues;
pub mod rests;
pub mod retention;
pub mod schedules;
pub mod search;
pub mod unique;
pub mod watch;
pub mod workers;

/// Creates one test per case for the store that `open` opens:
/// `async fn open(clock: Arc<ManualClock>) -> StoreUnderTest`.
#[macro_export]
macro_rules! conformance {
    ($open:ident) => {
        $crate::conformance_cases! { one_test_per_case $open }
    };
}

/// Creates one test per topic, which runs its cases in sequence, for a store that is expensive to open.
/// `open` returns an empty store for each case, and may reuse the servers behind it.
#[macro_export]
macro_rules! conformance_by_topic {
    ($open:ident) => {
        $crate::conformance_cases! { one_test_per_topic $open }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! one_test_per_case {
    ($open:ident $($topic:ident { $($case:ident,)+ })+) => {
        $(mod $topic {
            $(#[tokio::test]
            async fn $case() -> $crate::conformance::CaseResult {
                let fixture = $crate::Fixture::open(super::$open, stringify!($case)).await;
                if !fixture.promises(stringify!($case)) {
                    return Ok(());
                }
                $crate::conformance::$topic::$case(&fixture).await?;
                fixture.assert_sound().await
            })+
        })+
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! one_test_per_topic {
    ($open:ident $($topic:ident { $($case:ident,)+ })+) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $topic() -> $crate::conformance::CaseResult {
            $({
                println!(stringify!($case));
                let fixture = $crate::Fixture::open($open, stringify!($case)).await;
                $crate::conformance::$topic::$case(&fixture).await?;
                fixture.assert_sound().await?;
            })+
            Ok(())
        })+
    };
}

/// The result of a case: an error if a call to the store failed.
pub type CaseResult = windlass_core::Result<()>;

include!(concat!(env!("OUT_DIR"), "/cases.rs"));
