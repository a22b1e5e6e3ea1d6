//! What the fuzz targets do with their input. No input may make Windlass panic, hang or answer wrongly.
//!
//! The targets in `fuzz/fuzz_targets` call these functions with the inputs of libFuzzer
//! (`cargo xtask fuzz`). The tests of this crate call the same functions with the seeds in
//! `fuzz/corpus` and with mutations of them, which needs no instrumentation.
//!
//! # Map
//!
//! One file per target, listed in [`TARGETS`]. [`fixture`] is the memory store that three of them use.

pub mod api_verbs;
pub mod error_message;
pub mod exported_jobs;
pub mod fixture;
pub mod processor_lines;
pub mod redis_codecs;
pub mod redis_dump;
pub mod sqlite_file;
pub mod stdio_lines;
pub mod token_file;
pub mod url_and_time;

/// The name of a target, and what it does with one input. It panics if the input shows a bug.
pub type FuzzTarget = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [FuzzTarget; 10] = [
    ("api_verbs", api_verbs::run),
    ("error_message", error_message::run),
    ("exported_jobs", exported_jobs::run),
    ("processor_lines", processor_lines::run),
    ("redis_codecs", redis_codecs::run),
    ("redis_dump", redis_dump::run),
    ("sqlite_file", sqlite_file::run),
    ("stdio_lines", stdio_lines::run),
    ("token_file", token_file::run),
    ("url_and_time", url_and_time::run),
];
