//! The log lines of one attempt: the first ones as they come, the last ones at its end.

use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_worker::AttemptContext;

use crate::tail::Tail;
use crate::talk::Talk;

/// How many lines of one attempt are logged as they come.
const LINES_MAX: usize = 1_000;

/// The most bytes of a line.
pub(crate) const LINE_BYTES_MAX: usize = 4 * 1024;

/// Takes the lines of one attempt.
pub(crate) struct JobLog {
    context: AttemptContext,
    talk: Talk,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lines: usize,
    /// Of the lines beyond, what is kept for the end.
    last: Tail,
}

impl JobLog {
    pub(crate) fn new(context: AttemptContext, talk: Talk) -> Self {
        Self {
            context,
            talk,
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
        self.say(text);
    }

    /// Logs the last lines where some were left out.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        let State { lines, last } = std::mem::take(&mut *state);
        drop(state);
        let left_out = lines.saturating_sub(LINES_MAX + last.lines().len());
        if left_out > 0 {
            self.say(&format!("({left_out} lines are left out)"));
        }
        for text in last.lines() {
            self.say(text);
        }
    }

    fn say(&self, text: &str) {
        self.context.log(text);
        (self.talk)(&format!("{}: {text}", self.context.job().id));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{sample, tail};

    #[test]
    fn the_first_and_the_last_lines_are_logged() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        let talk: Talk = Arc::new(move |text| heard.lock().unwrap().push(text.to_owned()));
        let log = JobLog::new(sample::context(b""), talk);
        for number in 0..LINES_MAX + 100 {
            log.line(&number.to_string());
        }
        log.finish();

        let said = said.lock().unwrap();
        assert_eq!(said.len(), LINES_MAX + 1 + tail::LINES_MAX);
        assert_eq!(said[LINES_MAX], "job-1: (80 lines are left out)");
        assert_eq!(said[LINES_MAX + tail::LINES_MAX], "job-1: 1099");
    }
}
