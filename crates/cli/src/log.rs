//! Prints the events of the library on stderr: lines for people, or one JSON object per line.

mod record;

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record as SpanRecord};
use tracing::subscriber::set_global_default;
use tracing::{Event, Level, Metadata, Subscriber};
use windlass_api::{Code, Error};

use crate::output::Output;
use crate::process_args::{LogFormat, ProcessArgs};
use record::Record;

/// Tracing target of the library. The output of jobs is logged elsewhere.
const TARGET: &str = "windlass";

/// The events that a process begins with.
const HINTED: [&str; 4] = [
    "maintenance_started",
    "server_started",
    "store_lost",
    "worker_started",
];

/// What is printed of which events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Log {
    /// Warnings, as notes of a command that soon ends or prints JSON.
    Notes,
    /// Lines with their time, up to this level.
    Lines(Level, LogFormat),
}

impl Log {
    /// Installs the subscriber of a command; `process` has the flags of one that runs until it is stopped.
    pub(crate) fn init(process: Option<ProcessArgs>, output: &Output) -> Self {
        let log = match process {
            Some(process) if !output.is_json() || process.log == LogFormat::Json => {
                let level = match process {
                    _ if process.verbose => Level::DEBUG,
                    _ if process.quiet => Level::ERROR,
                    _ => Level::INFO,
                };
                Self::Lines(level, process.log)
            }
            _ => Self::Notes,
        };
        // Fails only if a subscriber is already set; a process runs one command.
        let _ = set_global_default(StderrLog {
            log,
            output: output.clone(),
            is_hint_due: AtomicBool::new(true),
        });
        log
    }

    /// Prints the error that ends the command.
    pub(crate) fn error(self, error: &Error, output: &mut Output) {
        match self {
            Self::Lines(_, LogFormat::Json) => print(&Record::of_error(error).json()),
            _ => output.error(error),
        }
    }

    fn is_enabled(self, metadata: &Metadata<'_>) -> bool {
        // Also for `tracing::enabled!`, which asks for neither a span nor an event.
        let is_ours = !metadata.is_span() && metadata.target() == TARGET;
        is_ours
            && match (self, metadata.name()) {
                // The first ends the command and is printed then; the second is no note.
                (_, "worker_failed") | (Self::Notes, "attempt_failed") => false,
                (Self::Notes, _) => *metadata.level() == Level::WARN,
                (Self::Lines(level, _), _) => *metadata.level() <= level,
            }
    }
}

struct StderrLog {
    log: Log,
    output: Output,
    /// Whether to say how to stop the process, which the first of [`HINTED`] does.
    is_hint_due: AtomicBool,
}

impl Subscriber for StderrLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.log.is_enabled(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(match self.log {
            Log::Notes => Level::WARN,
            Log::Lines(level, _) => level,
        }))
    }

    fn event(&self, event: &Event<'_>) {
        let mut record = Record::new(event);
        match self.log {
            Log::Notes => {
                let mut output = self.output.clone();
                match record.text("code").and_then(Code::from_text) {
                    Some(code) => {
                        let help = record.text("help").unwrap_or_default();
                        output.error(&Error::new(code, record.sentence(), help));
                    }
                    None => output.note(&record.sentence()),
                }
            }
            Log::Lines(_, LogFormat::Json) => print(&record.json()),
            Log::Lines(_, LogFormat::Text) => {
                if HINTED.contains(&event.metadata().name())
                    && self.is_hint_due.swap(false, Ordering::Relaxed)
                {
                    record.message += " (Ctrl-C to stop)";
                }
                print(&record.line());
            }
        }
    }

    // Spans are disabled, so these are never called.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &SpanRecord<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Prints in one write, so that lines of several threads do not mix.
fn print(text: &str) {
    // A closed stderr is not an error.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
