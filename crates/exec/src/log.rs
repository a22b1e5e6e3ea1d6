//! The log lines of one attempt: the first ones as they arrive, the last ones at its end.

use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_worker::AttemptContext;

use crate::last_lines::LastLines;
use crate::log_sink::LogSink;

/// How many lines of one attempt are logged as they arrive.
const LINES_MAX: usize = 1_000;

/// The most bytes of a line.
pub(crate) const LINE_BYTES_MAX: usize = 4 * 1024;

/// Logs the lines of one attempt.
pub(crate) struct JobLog {
    context: AttemptContext,
    log_sink: LogSink,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lines: usize,
    /// The last of the lines beyond that, logged at the end.
    last: LastLines,
}

impl JobLog {
    pub(crate) fn new(context: AttemptContext, log_sink: LogSink) -> Self {
        Self {
            context,
            log_sink,
            state: Mutex::default(),
        }
    }

    pub(crate) fn line(&self, text: &str) {
        let text = &text[..text.floor_char_boundary(LINE_BYTES_MAX)];
        let mut state = self.lock();
        state.lines += 1;
        if state.lines > LINES_MAX {
            state.last.push(text);
            return;
        }
        drop(state);
        self.write(text);
    }

    /// Logs the last lines if there were too many.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        let State { lines, last } = std::mem::take(&mut *state);
        drop(state);
        let omitted = lines.saturating_sub(LINES_MAX + last.lines().len());
        if omitted > 0 {
            self.write(&format!("({omitted} lines omitted)"));
        }
        for text in last.lines() {
            self.write(text);
        }
    }

    fn write(&self, text: &str) {
        self.context.log(text);
        (self.log_sink)(&format!("{}: {text}", self.context.job().id));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
