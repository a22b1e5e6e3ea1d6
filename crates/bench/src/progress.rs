//! Progress of a run.

/// Receives the progress of a run. Called rarely enough to cost nothing.
pub trait ProgressReport: Send + Sync {
    /// A phase of `jobs` jobs begins.
    fn begin(&self, what: &str, jobs: u64);

    /// `jobs` of them are done.
    fn reached(&self, jobs: u64);
}
