//! The witness: a file beside the store that handlers write their effects to, one line each.
//!
//! It is what the outside world sees of a job. A line is one write at the end of the file, before
//! the outcome is returned, so it stays when its process is killed right after.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::{Clock, JobId, SystemClock, Token};

/// How long a look waits for the next.
const NAP: Duration = Duration::from_millis(5);

/// What was seen of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Its handler began.
    Start,
    /// Its handler did all it had to, and is about to say so.
    End,
    /// Its handler was asked to stop, and does.
    Stop,
    /// Its handler was dropped on the way.
    Drop,
}

impl Sight {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Start, "start"),
        (Self::End, "end"),
        (Self::Stop, "stop"),
        (Self::Drop, "drop"),
    ];
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// Microseconds of the machine's clock.
    pub at_us: u64,
    /// The name of the worker.
    pub who: String,
    /// The job.
    pub id: JobId,
    /// The token of the claim.
    pub token: Token,
    /// The number of the attempt.
    pub attempt: u32,
    /// What happened.
    pub sight: Sight,
}

impl fmt::Display for Sighting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Sight::ALL.iter().find(|(sight, _)| *sight == self.sight);
        write!(
            f,
            "{} {} {} {} {} {}",
            self.at_us,
            self.who,
            self.id,
            self.token,
            self.attempt,
            word.map_or("", |(_, word)| word)
        )
    }
}

impl Sighting {
    /// Reads a line back.
    pub fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let [at_us, who, id, token, attempt, sight] = words[..] else {
            return None;
        };
        Some(Self {
            at_us: at_us.parse().ok()?,
            who: who.to_owned(),
            id: JobId::new(id).ok()?,
            token: token.parse().ok()?,
            attempt: attempt.parse().ok()?,
            sight: Sight::ALL.iter().find(|(_, word)| *word == sight)?.0,
        })
    }
}

/// What a worker writes with.
#[derive(Debug)]
pub struct Pen {
    file: File,
    path: PathBuf,
    who: String,
}

impl Pen {
    /// Writes at the end of the file, as somebody.
    pub fn open(path: &Path, who: &str) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let (path, who) = (path.to_owned(), who.to_owned());
        Ok(Self { file, path, who })
    }

    /// How often a job was begun until now, whoever had it.
    pub fn starts_of(&self, id: &JobId) -> io::Result<usize> {
        let mut witness = Witness::of(&self.path);
        let seen = witness.look()?.iter();
        let starts = seen.filter(|seen| seen.id == *id && seen.sight == Sight::Start);
        Ok(starts.count())
    }

    /// Writes a line.
    pub fn write(&self, id: &JobId, token: Token, attempt: u32, sight: Sight) -> io::Result<()> {
        let sighting = Sighting {
            at_us: SystemClock.now_us(),
            who: self.who.clone(),
            id: id.clone(),
            token,
            attempt,
            sight,
        };
        (&self.file).write_all(format!("{sighting}\n").as_bytes())
    }
}

/// What the test reads.
#[derive(Debug)]
pub struct Witness {
    path: PathBuf,
    read_to: u64,
    seen: Vec<Sighting>,
}

impl Witness {
    /// Reads a file that may not be there yet.
    pub fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read_to: 0,
            seen: Vec::new(),
        }
    }

    /// Everything seen until now, in the order it was written.
    pub fn look(&mut self) -> io::Result<&[Sighting]> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(&self.seen),
            opened => opened?,
        };
        file.seek(SeekFrom::Start(self.read_to))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        // The last line may still be on its way.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        for line in text[..whole].lines() {
            let sighting = Sighting::read(line).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, format!("a torn line: {line:?}"))
            })?;
            self.seen.push(sighting);
        }
        self.read_to += whole as u64;
        Ok(&self.seen)
    }

    /// Waits until something was seen; false when it was not within `patience`.
    pub async fn until(
        &mut self,
        patience: Duration,
        mut is_seen: impl FnMut(&[Sighting]) -> bool,
    ) -> io::Result<bool> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            if is_seen(self.look()?) {
                return Ok(true);
            }
            if tokio::time::Instant::now() >= deadline {
                return Ok(false);
            }
            tokio::time::sleep(NAP).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_written() {
        let text = "17 hand-1.2 a-7 12-0000beef 1 drop";
        assert_eq!(Sighting::read(text).unwrap().to_string(), text);
        assert_eq!(Sighting::read("17 hand-1.2 a-7 12-0000beef 1"), None);
        assert_eq!(Sighting::read("17 hand-1.2 a-7 12-0000beef 1 jump"), None);
    }
}
