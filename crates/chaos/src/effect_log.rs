//! The effect log: a file next to the store where handlers record their effects, one per line.
//!
//! It stands for what the outside world sees of a job. A line is appended in one write before the
//! handler returns, so it survives if the process is killed right after.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::{Clock, JobId, SystemClock, Token};

/// How often the file is read while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// What happened in an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectKind {
    /// The handler started.
    Start,
    /// The handler finished its work and is about to return.
    End,
    /// The handler was asked to stop and stops.
    Stop,
    /// The handler was dropped before it finished.
    Drop,
}

impl EffectKind {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Start, "start"),
        (Self::End, "end"),
        (Self::Stop, "stop"),
        (Self::Drop, "drop"),
    ];
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectRecord {
    /// Microseconds on the system clock.
    pub at_us: u64,
    /// The name of the worker.
    pub worker: String,
    /// The job.
    pub id: JobId,
    /// The token of the claim.
    pub token: Token,
    /// The attempt.
    pub attempt: u32,
    /// What happened.
    pub kind: EffectKind,
}

impl fmt::Display for EffectRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = EffectKind::ALL.iter().find(|(kind, _)| *kind == self.kind);
        write!(
            f,
            "{} {} {} {} {} {}",
            self.at_us,
            self.worker,
            self.id,
            self.token,
            self.attempt,
            name.map_or("", |(_, name)| name)
        )
    }
}

impl EffectRecord {
    /// Parses a line.
    pub fn read(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split(' ').collect();
        let [at_us, worker, id, token, attempt, kind] = fields[..] else {
            return None;
        };
        Some(Self {
            at_us: at_us.parse().ok()?,
            worker: worker.to_owned(),
            id: JobId::new(id).ok()?,
            token: token.parse().ok()?,
            attempt: attempt.parse().ok()?,
            kind: EffectKind::ALL.iter().find(|(_, name)| *name == kind)?.0,
        })
    }
}

/// Appends to the log, in a worker.
#[derive(Debug)]
pub struct EffectWriter {
    file: File,
    path: PathBuf,
    worker: String,
}

impl EffectWriter {
    /// Opens the file for appending, under the name of a worker.
    pub fn open(path: &Path, worker: &str) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let (path, worker) = (path.to_owned(), worker.to_owned());
        Ok(Self { file, path, worker })
    }

    /// How often a job has been started so far, by any worker.
    pub fn starts_of(&self, id: &JobId) -> io::Result<usize> {
        let mut log = EffectReader::of(&self.path);
        let seen = log.read()?.iter();
        let starts = seen.filter(|seen| seen.id == *id && seen.kind == EffectKind::Start);
        Ok(starts.count())
    }

    /// Appends a line.
    pub fn write(
        &self,
        id: &JobId,
        token: Token,
        attempt: u32,
        kind: EffectKind,
    ) -> io::Result<()> {
        let record = EffectRecord {
            at_us: SystemClock.now_us(),
            worker: self.worker.clone(),
            id: id.clone(),
            token,
            attempt,
            kind,
        };
        (&self.file).write_all(format!("{record}\n").as_bytes())
    }
}

/// Reads the log, in a test.
#[derive(Debug)]
pub struct EffectReader {
    path: PathBuf,
    read_to: u64,
    seen: Vec<EffectRecord>,
}

impl EffectReader {
    /// A reader of a file that may not exist yet.
    pub fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read_to: 0,
            seen: Vec::new(),
        }
    }

    /// Reads new lines. Returns all records so far, in the order they were written.
    pub fn read(&mut self) -> io::Result<&[EffectRecord]> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(&self.seen),
            opened => opened?,
        };
        file.seek(SeekFrom::Start(self.read_to))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        // The last line may be incomplete.
        let complete = text.rfind('\n').map_or(0, |end| end + 1);
        for line in text[..complete].lines() {
            let record = EffectRecord::read(line).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("invalid line: {line:?}"),
                )
            })?;
            self.seen.push(record);
        }
        self.read_to += complete as u64;
        Ok(&self.seen)
    }

    /// Waits until `is_seen` holds. Returns false on timeout.
    pub async fn wait_until(
        &mut self,
        timeout: Duration,
        mut is_seen: impl FnMut(&[EffectRecord]) -> bool,
    ) -> io::Result<bool> {
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            if is_seen(self.read()?) {
                return Ok(true);
            }
            if tokio::time::Instant::now() >= deadline {
                return Ok(false);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_parsed_as_written() {
        let text = "17 worker-1.2 a-7 12-0000beef 1 drop";
        assert_eq!(EffectRecord::read(text).unwrap().to_string(), text);
        assert_eq!(EffectRecord::read("17 worker-1.2 a-7 12-0000beef 1"), None);
        assert_eq!(
            EffectRecord::read("17 worker-1.2 a-7 12-0000beef 1 jump"),
            None
        );
    }
}
