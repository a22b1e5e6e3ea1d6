//! The log lines of an attempt or a process: the first ones as they arrive, the last ones at the end.

use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_worker::AttemptContext;

use crate::last_lines::LastLines;
use crate::log_sink::LogSink;

/// How many lines are logged as they arrive.
pub(crate) const LINES_MAX: usize = 1_000;

/// The most bytes of a line.
pub(crate) const LINE_BYTES_MAX: usize = 4 * 1024;

/// Logs the first lines as they arrive, and the last of those beyond that at the end.
#[derive(Default)]
pub(crate) struct LineLimit(Mutex<State>);

#[derive(Default)]
struct State {
    lines: usize,
    last: LastLines,
}

impl LineLimit {
    /// Passes the line to `write`, or keeps it for the end if there were too many.
    pub(crate) fn line(&self, text: &str, write: impl Fn(&str)) {
        let text = &text[..text.floor_char_boundary(LINE_BYTES_MAX)];
        let mut state = self.lock();
        state.lines += 1;
        if state.lines > LINES_MAX {
            state.last.push(text);
            return;
        }
        drop(state);
        write(text);
    }

    /// Writes the last lines if there were too many, and starts again.
    pub(crate) fn finish(&self, write: impl Fn(&str)) {
        let State { lines, last } = std::mem::take(&mut *self.lock());
        let omitted = lines.saturating_sub(LINES_MAX + last.lines().len());
        if omitted > 0 {
            write(&format!("({omitted} lines omitted)"));
        }
        last.lines().for_each(write);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Logs the lines of one attempt.
pub(crate) struct JobLog {
    context: AttemptContext,
    log_sink: LogSink,
    limit: LineLimit,
}

impl JobLog {
    pub(crate) fn new(context: AttemptContext, log_sink: LogSink) -> Self {
        Self {
            context,
            log_sink,
            limit: LineLimit::default(),
        }
    }

    pub(crate) fn line(&self, text: &str) {
        self.limit.line(text, |text| self.write(text));
    }

    /// Logs the last lines if there were too many.
    pub(crate) fn finish(&self) {
        self.limit.finish(|text| self.write(text));
    }

    fn write(&self, text: &str) {
        self.context.log(text);
        (self.log_sink)(&format!("{}: {text}", self.context.job().id));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{last_lines, sample};

    #[test]
    fn the_first_and_the_last_lines_are_logged() {
        let logged = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&logged);
        let log_sink: LogSink = Arc::new(move |text| lines.lock().unwrap().push(text.to_owned()));
        let log = JobLog::new(sample::context(b""), log_sink);
        for number in 0..LINES_MAX + 100 {
            log.line(&number.to_string());
        }
        log.finish();

        let logged = logged.lock().unwrap();
        assert_eq!(logged.len(), LINES_MAX + 1 + last_lines::LINES_MAX);
        assert_eq!(logged[LINES_MAX], "job-1: (80 lines omitted)");
        assert_eq!(logged[LINES_MAX + last_lines::LINES_MAX], "job-1: 1099");
    }
}
