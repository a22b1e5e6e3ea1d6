//! Reads a store's write-ahead log to count commits and pages written.

use std::path::PathBuf;

use rusqlite::Connection;
use tempfile::TempDir;

use crate::verbs::Meter;

/// The columns of a cost.
pub(crate) const COLUMNS: [&str; 2] = ["commits", "pages written"];

/// Sizes and offsets in the log format.
const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const SALT_IN_HEADER: usize = 16;
const SALT_IN_FRAME: usize = 8;

/// SQLite restarts the log at about this many pages, after which counts would be too low.
const FRAMES_MAX: usize = 1000;

/// The log of a store with no other writers.
pub(crate) struct Log {
    path: PathBuf,
    folder: TempDir,
}

impl Meter<2> for Log {
    fn begin(&mut self) {
        let busy: i64 = self
            .connect()
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .unwrap();
        assert_eq!(busy, 0, "the store has no other users");
    }

    fn per_job(&mut self, jobs: usize) -> [f64; 2] {
        let frames = self.frames();
        assert!(
            frames.len() < FRAMES_MAX,
            "too many calls: the log restarts"
        );
        let commits = frames.iter().filter(|is_commit| **is_commit).count();
        [commits, frames.len()].map(|count| ratio(count, jobs))
    }
}

impl Log {
    pub(crate) fn new(folder: TempDir, path: PathBuf) -> Self {
        Self { path, folder }
    }

    /// Bytes of the pages in use.
    pub(crate) fn bytes_kept(&mut self, jobs: usize) -> f64 {
        self.begin();
        let db = self.connect();
        let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, usize>(0));
        let pages = number("page_count").unwrap() - number("freelist_count").unwrap();
        ratio(pages * number("page_size").unwrap(), jobs)
    }

    /// For each page in the log, whether a commit ends with it.
    fn frames(&self) -> Vec<bool> {
        let name = format!("{}-wal", self.path.display());
        let bytes = std::fs::read(name).unwrap();
        let (header, frames) = bytes.split_at(HEADER);
        let page = u32_at(header, 8) as usize;
        let salt = &header[SALT_IN_HEADER..][..8];
        let frames = frames.chunks_exact(FRAME_HEADER + page);
        frames
            .take_while(|frame| frame[SALT_IN_FRAME..][..8] == *salt)
            // The database size after a commit; 0 for frames within one.
            .map(|frame| u32_at(frame, 4) > 0)
            .collect()
    }

    fn connect(&self) -> Connection {
        assert!(self.folder.path().exists());
        Connection::open(&self.path).unwrap()
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn ratio(count: usize, jobs: usize) -> f64 {
    let [count, jobs] = [count, jobs].map(|number| u32::try_from(number).unwrap());
    f64::from(count) / f64::from(jobs)
}
