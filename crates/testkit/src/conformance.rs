//! The conformance suite: what every store promises, said once.
//!
//! One case is one promise, an async function named as it. [`conformance!`](macro@crate::conformance)
//! turns each into a test of its own; the one list below drives it.

#![expect(missing_docs, reason = "a case is named as the promise it checks")]

pub mod audit;
pub mod bounds;
pub mod cancel;
mod cases;
pub mod claim;
pub mod clock;
pub mod dispatch;
pub mod enqueue;
pub mod expiry;
pub mod fencing;
pub mod lease;
pub mod operate;
pub mod order;
pub mod outcome;
pub mod payload;
pub mod poison;
pub mod queues;
pub mod retention;
pub mod unique;
pub mod watch;
pub mod workers;

/// One test per case for a store that `open` opens:
/// `async fn open(clock: Arc<ManualClock>) -> StoreUnderTest`.
#[macro_export]
macro_rules! conformance {
    ($open:ident) => {
        $crate::conformance_cases! { one_test_per_case $open }
    };
}

/// One test per topic, its cases one after the other, for a store that is dear to open: `open` opens
/// it for each case, empty, and may keep the servers behind it.
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
            async fn $case() -> $crate::conformance::Outcome {
                let fixture = $crate::Fixture::open(super::$open, stringify!($case)).await;
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
        async fn $topic() -> $crate::conformance::Outcome {
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

/// A table of (topic, cases).
#[doc(hidden)]
#[macro_export]
macro_rules! case_names {
    ($($topic:ident { $($case:ident,)+ })+) => {
        &[$((stringify!($topic), &[$(stringify!($case)),+])),+]
    };
}

/// What a case answers: an error when the store could not answer at all.
pub type Outcome = windlass_core::Result<()>;

/// Every topic with the names of its cases.
pub const CASES: &[(&str, &[&str])] = crate::conformance_cases! { case_names };

#[cfg(test)]
mod tests {
    use super::CASES;

    #[test]
    fn every_case_is_in_the_list() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/conformance");
        for (topic, listed) in CASES {
            let source = std::fs::read_to_string(format!("{folder}/{topic}.rs")).unwrap();
            let written: Vec<_> = source
                .lines()
                .filter_map(|line| line.strip_prefix("pub async fn "))
                .filter_map(|rest| rest.split('(').next())
                .collect();
            assert_eq!(written, *listed, "{topic}");
        }
        // All files are topics but the list itself.
        let files = std::fs::read_dir(folder).unwrap().count();
        assert_eq!(files - 1, CASES.len());
    }
}
