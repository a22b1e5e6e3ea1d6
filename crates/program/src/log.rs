//! The log lines of one attempt: the first ones as they come, the last ones at its end.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::AsyncRead;
use windlass_worker::Context;

use crate::lines::Lines;
use crate::talk::Talk;

/// How many lines of one attempt are logged as they come.
const LINES_MAX: usize = 1_000;

/// How many of the lines beyond are kept for the end, and how many bytes of each line.
const LAST_MAX: usize = 20;

/// The most bytes of a line.
pub(crate) const LINE_BYTES_MAX: usize = 4 * 1024;

/// Takes the lines of one attempt.
pub(crate) struct JobLog {
    context: Context,
    talk: Talk,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lines: usize,
    last: VecDeque<String>,
}

impl JobLog {
    pub(crate) fn new(context: Context, talk: Talk) -> Self {
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
            state.last.push_back(text.to_owned());
            if state.last.len() > LAST_MAX {
                state.last.pop_front();
            }
            return;
        }
        drop(state);
        self.say(text);
    }

    /// Logs the last lines where some were left out.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        let left_out = state.lines.saturating_sub(LINES_MAX + state.last.len());
        let last = std::mem::take(&mut state.last);
        state.lines = 0;
        drop(state);
        if left_out > 0 {
            self.say(&format!("({left_out} lines are left out)"));
        }
        for text in last {
            self.say(&text);
        }
    }

    /// Logs all lines of a pipe until it ends.
    pub(crate) async fn drain(&self, pipe: impl AsyncRead + Unpin) {
        let mut lines = Lines::new(pipe, LINE_BYTES_MAX);
        while let Ok(Some(line)) = lines.next().await {
            self.line(&line.text());
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
    use crate::sample;

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
        assert_eq!(said.len(), LINES_MAX + 1 + LAST_MAX);
        assert_eq!(said[LINES_MAX], "job-1: (80 lines are left out)");
        assert_eq!(said[LINES_MAX + LAST_MAX], "job-1: 1099");
    }
}
