//! The progress bar of a benchmark.

use indicatif::ProgressBar;
use windlass_bench::ProgressReport;

use crate::output::Output;

/// A progress bar, shown on a terminal only.
#[derive(Debug)]
pub(super) struct BenchBar(ProgressBar);

impl BenchBar {
    pub(super) fn new() -> Self {
        Self(Output::count_bar(0))
    }

    /// Clears the bar before results are printed.
    pub(super) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl ProgressReport for BenchBar {
    fn begin(&self, what: &str, jobs: u64) {
        self.0.reset();
        self.0.set_length(jobs);
        self.0.set_message(what.to_owned());
    }

    fn reached(&self, jobs: u64) {
        self.0.set_position(jobs);
    }
}
