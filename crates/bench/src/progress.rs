//! How far a run has come, for whoever watches.

/// Hears how far a run has come. It is called seldom enough to cost nothing.
pub trait Progress: Send + Sync {
    /// Something begins that consists of so many jobs.
    fn begin(&self, what: &str, jobs: u64);

    /// So many of them are done.
    fn reached(&self, jobs: u64);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str, _: u64) {}

    fn reached(&self, _: u64) {}
}
