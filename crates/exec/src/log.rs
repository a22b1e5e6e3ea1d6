//! The log lines of an attempt or a process: the first ones as they arrive, the last ones at the end.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use windlass_worker::{AttemptContext, lock};

/// Where log lines go: receives one per call, from any thread.
pub type LogSink = Arc<dyn Fn(&str) + Send + Sync>;

/// How many lines are logged as they arrive.
const LINES_MAX: usize = 1_000;

/// How many lines are kept for the end.
const LAST_LINES_MAX: usize = 20;

/// The most bytes of a line.
pub(crate) const LINE_BYTES_MAX: usize = 4 * 1024;

/// The last lines; when displayed, each starts with a newline.
#[derive(Debug, Default)]
pub(crate) struct LastLines(VecDeque<String>);

impl LastLines {
    pub(crate) fn push(&mut self, line: &str) {
        if self.0.len() == LAST_LINES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(line.to_owned());
    }

    pub(crate) fn lines(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for LastLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().try_for_each(|line| write!(f, "\n{line}"))
    }
}

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
        let mut state = lock(&self.0);
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
        let State { lines, last } = std::mem::take(&mut *lock(&self.0));
        let omitted = lines.saturating_sub(LINES_MAX + last.lines().len());
        if omitted > 0 {
            write(&format!("({omitted} lines omitted)"));
        }
        last.lines().for_each(write);
    }
}

/// Logs the lines of one attempt.
pub(crate) struct JobLog {
    pub(crate) context: AttemptContext,
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
    use super::*;
    use crate::sample;

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
        assert_eq!(logged.len(), LINES_MAX + 1 + LAST_LINES_MAX);
        assert_eq!(logged[LINES_MAX], "job-1: (80 lines omitted)");
        assert_eq!(logged[LINES_MAX + LAST_LINES_MAX], "job-1: 1099");
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let mut last_lines = LastLines::default();
        for number in 0..=LAST_LINES_MAX {
            last_lines.push(&number.to_string());
        }
        assert_eq!(last_lines.lines().len(), LAST_LINES_MAX);
        assert!(
            last_lines.to_string().starts_with("\n1\n2\n"),
            "{last_lines}"
        );
    }
}
