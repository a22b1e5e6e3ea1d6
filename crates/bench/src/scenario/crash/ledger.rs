//! Records job starts outside the store: one file per worker process, eight bytes per start.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use windlass::{Error, ErrorKind, Result};

/// The files of one run.
#[derive(Debug)]
pub(super) struct Ledger {
    folder: TempDir,
    files: AtomicU64,
}

/// How often each job was started.
#[derive(Debug, Default)]
pub(super) struct Starts(BTreeMap<u64, u64>);

impl Ledger {
    pub(super) fn open() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("windlass-bench-").tempdir();
        Ok(Self {
            folder: folder.map_err(unusable)?,
            files: AtomicU64::new(0),
        })
    }

    /// The path of the file for another process.
    pub(super) fn next_file(&self) -> PathBuf {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        self.folder.path().join(number.to_string())
    }

    pub(super) fn count(&self) -> Starts {
        let mut starts = Starts::default();
        for number in 0..self.files.load(Ordering::Relaxed) {
            let path = self.folder.path().join(number.to_string());
            // A process killed before its first job has no file.
            let Ok(bytes) = std::fs::read(path) else {
                continue;
            };
            starts.add(&bytes);
        }
        starts
    }
}

impl Starts {
    fn add(&mut self, bytes: &[u8]) {
        let (numbers, _) = bytes.as_chunks::<8>();
        for number in numbers {
            *self.0.entry(u64::from_be_bytes(*number)).or_default() += 1;
        }
    }

    /// The number of starts beyond the first of each job.
    pub(super) fn repeats(&self) -> u64 {
        self.0.values().map(|starts| starts - 1).sum()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unusable(error: std::io::Error) -> Error {
    Error::new(
        ErrorKind::Invalid,
        format!("cannot create a temporary folder: {error}"),
        "set TMPDIR to a writable folder",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_started_twice_is_one_repeat_and_an_incomplete_entry_is_ignored() {
        let mut starts = Starts::default();
        let bytes: Vec<u8> = [1u64, 2, 1]
            .iter()
            .flat_map(|it| it.to_be_bytes())
            .collect();
        starts.add(&bytes);
        starts.add(&[0, 0, 0]);
        assert_eq!(starts.repeats(), 1);
    }
}
