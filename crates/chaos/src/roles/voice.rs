//! Says what happens: one line, one write, nothing held back when the process is killed.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use windlass_chaos::event::{Event, Line};
use windlass_core::Error;

#[derive(Debug, Clone)]
pub(crate) struct Voice {
    began: Instant,
    pipe: Arc<File>,
}

impl Voice {
    pub(crate) fn new() -> Self {
        // Past Rust's buffer: what is in it when the process is killed would be lost.
        let pipe = std::io::stdout().as_fd().try_clone_to_owned();
        Self {
            began: Instant::now(),
            pipe: Arc::new(File::from(
                pipe.expect("stdout is open when a process starts"),
            )),
        }
    }

    pub(crate) fn say(&self, event: Event) {
        let at_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let line = format!("{}\n", Line { at_us, event });
        if self.pipe.as_ref().write_all(line.as_bytes()).is_err() {
            // Nobody listens any more: the test has ended, and so does this process.
            std::process::exit(1);
        }
    }

    /// The store could not answer; the call will be repeated.
    pub(crate) fn trouble(&self, error: &Error) {
        self.say(Event::Trouble(format!("{}: {error}", error.code())));
    }

    /// Something that must never happen has happened.
    pub(crate) fn fault(&self, what: impl Into<String>) {
        self.say(Event::Fault(what.into().replace('\n', " ")));
    }
}
