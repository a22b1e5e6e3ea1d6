//! The bar of a bench.

use indicatif::ProgressBar;
use windlass_bench::Progress;

use crate::output::Output;

/// A bar on a terminal; elsewhere nothing.
#[derive(Debug)]
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        Self(Output::count_bar(0))
    }

    /// Makes room for results.
    pub(super) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, jobs: u64) {
        self.0.reset();
        self.0.set_length(jobs);
        self.0.set_message(what.to_owned());
    }

    fn reached(&self, jobs: u64) {
        self.0.set_position(jobs);
    }
}
