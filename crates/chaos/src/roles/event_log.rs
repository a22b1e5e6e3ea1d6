//! Writes events: one line per write and unbuffered, so that nothing is lost when the process is killed.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use windlass_core::Error;

use crate::actor::SharedLedger;
use crate::event::{Event, Line};

/// The event log of an actor.
#[derive(Debug, Clone)]
pub struct EventLog {
    began: Instant,
    output: Output,
}

#[derive(Debug, Clone)]
enum Output {
    /// The stdout of an actor process.
    Pipe(Arc<File>),
    /// The ledger, for a task in the test process.
    Ledger(SharedLedger, usize),
}

impl EventLog {
    /// The log of this process.
    ///
    /// # Panics
    ///
    /// Panics if stdout is closed.
    pub fn of_process() -> Self {
        // Bypasses Rust's buffer, whose content would be lost when the process is killed.
        let pipe = std::io::stdout().as_fd().try_clone_to_owned();
        let pipe = File::from(pipe.expect("stdout is open"));
        Self::with_output(Output::Pipe(Arc::new(pipe)))
    }

    /// The log of a task, added to `ledger` under `name`.
    pub fn of_task(ledger: &SharedLedger, name: &str) -> Self {
        let process = ledger.lock().add_process(name);
        Self::with_output(Output::Ledger(ledger.clone(), process))
    }

    fn with_output(output: Output) -> Self {
        Self {
            began: Instant::now(),
            output,
        }
    }

    /// Logs an event.
    pub fn log(&self, event: Event) {
        let at_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let line = Line { at_us, event };
        match &self.output {
            Output::Ledger(ledger, process) => ledger.push(*process, line),
            Output::Pipe(pipe) => {
                let text = format!("{line}\n");
                if pipe.as_ref().write_all(text.as_bytes()).is_err() {
                    // The reader is gone: the test has ended, so exit.
                    std::process::exit(1);
                }
            }
        }
    }

    /// Logs a transient error; the call will be retried.
    pub fn store_error(&self, error: &Error) {
        self.log(Event::StoreError(format!("{}: {error}", error.code())));
    }

    /// Logs something that must never happen.
    pub fn violation(&self, what: impl Into<String>) {
        self.log(Event::Violation(what.into().replace('\n', " ")));
    }
}
