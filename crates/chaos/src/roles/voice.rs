//! Says what happens: one line, one write, nothing held back when the process is killed.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use windlass_core::Error;

use crate::actor::Record;
use crate::event::{Event, Line};

/// How an actor is heard.
#[derive(Debug, Clone)]
pub struct Voice {
    began: Instant,
    out: Out,
}

#[derive(Debug, Clone)]
enum Out {
    /// A process says it on its stdout.
    Pipe(Arc<File>),
    /// A task of the test's own process writes it down.
    Record(Record, usize),
}

impl Voice {
    /// The voice of this process.
    ///
    /// # Panics
    ///
    /// When stdout is closed.
    pub fn of_process() -> Self {
        // Past Rust's buffer: what is in it when the process is killed would be lost.
        let pipe = std::io::stdout().as_fd().try_clone_to_owned();
        let pipe = File::from(pipe.expect("stdout is open when a process starts"));
        Self::by(Out::Pipe(Arc::new(pipe)))
    }

    /// The voice of a task, whose life begins in `record`.
    pub fn of_task(record: &Record, name: &str) -> Self {
        let life = record.ledger().begin(name);
        Self::by(Out::Record(record.clone(), life))
    }

    fn by(out: Out) -> Self {
        Self {
            began: Instant::now(),
            out,
        }
    }

    /// Says it.
    pub fn say(&self, event: Event) {
        let at_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let line = Line { at_us, event };
        match &self.out {
            Out::Record(record, life) => record.note(*life, line),
            Out::Pipe(pipe) => {
                let text = format!("{line}\n");
                if pipe.as_ref().write_all(text.as_bytes()).is_err() {
                    // Nobody listens any more: the test has ended, and so does this process.
                    std::process::exit(1);
                }
            }
        }
    }

    /// The store could not answer; the call will be repeated.
    pub fn trouble(&self, error: &Error) {
        self.say(Event::Trouble(format!("{}: {error}", error.code())));
    }

    /// Something that must never happen has happened.
    pub fn fault(&self, what: impl Into<String>) {
        self.say(Event::Fault(what.into().replace('\n', " ")));
    }
}
