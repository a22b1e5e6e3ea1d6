//! What `--every D` means: a piece of work is done once, or again and again until a signal.

use std::time::Duration;

use windlass::duration;

use crate::exit::{Failure, Result};
use crate::output::Output;
use crate::session::Session;
use crate::signals::Signals;

/// The time between two rounds; zero is refused, with `help` as the way out.
pub(crate) fn read(every: Option<&str>, help: &str) -> Result<Option<Duration>> {
    let every = every.map(duration::parse).transpose()?;
    if every.is_some_and(|every| every.is_zero()) {
        return Err(Failure::usage("--every is zero", help));
    }
    Ok(every)
}

/// The rounds of one command.
#[derive(Debug)]
pub(crate) struct Again {
    every: Option<Duration>,
    signals: Signals,
}

impl Again {
    /// Signals end a command of many rounds well; one of a single round they end as ever.
    pub(crate) fn begin(every: Option<Duration>, session: &Session) -> Result<Self> {
        let signals = Signals::listen()?;
        if every.is_some() {
            session.clearing.take_over();
        }
        Ok(Self { every, signals })
    }

    /// What a round gave; nothing where it met trouble that a process which is to go on outlives.
    pub(crate) fn round<T>(
        &self,
        done: windlass::Result<T>,
        output: &mut Output,
    ) -> Result<Option<T>> {
        match done {
            Ok(done) => Ok(Some(done)),
            Err(error) if self.every.is_some() && error.is_transient() => {
                output.talk(&error.to_string());
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for the next round; false when there is none.
    pub(crate) async fn next(&mut self) -> bool {
        let Some(every) = self.every else {
            return false;
        };
        tokio::select! {
            () = tokio::time::sleep(every) => true,
            () = self.signals.next() => false,
        }
    }
}
