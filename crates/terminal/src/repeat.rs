//! `--every D`: runs work once, or repeatedly until a signal.

use std::time::Duration;

use tokio::time::Instant;
use windlass_api::Error;

use crate::exit::{CliError, Exit, Result};
use crate::output::Output;
use crate::session::Session;
use crate::signals::Signals;

/// Returns the interval of a flag. Zero is an error.
pub fn check_interval(flag: &str, every: Option<Duration>) -> Result<Option<Duration>> {
    if every.is_some_and(|every| every.is_zero()) {
        return Err(CliError::usage(
            format!("{flag} must be greater than zero"),
            format!("use an interval, for example {flag} 30s"),
        ));
    }
    Ok(every)
}

/// The rounds of one command. A single round keeps the default signal handling.
#[derive(Debug)]
pub struct Repeat(Option<(Duration, Signals)>);

impl Repeat {
    /// Repeats until SIGTERM or SIGINT, then exits with 0.
    pub fn until_signal(every: Option<Duration>, session: &Session) -> Result<Self> {
        Self::new(every, || session.signals())
    }

    /// Repeats until SIGTERM, then exits with 0. SIGINT keeps its default handling.
    pub fn until_sigterm(every: Option<Duration>) -> Result<Self> {
        Self::new(every, Signals::listen_to_terminate)
    }

    fn new(every: Option<Duration>, listen: impl Fn() -> Result<Signals>) -> Result<Self> {
        Ok(Self(match every {
            Some(every) => Some((every, listen()?)),
            None => None,
        }))
    }

    /// Runs every round to completion and passes its result to `take`.
    pub async fn each<T, F: Future<Output = windlass::Result<T>>>(
        mut self,
        output: &mut Output,
        mut work: impl FnMut() -> F,
        mut take: impl FnMut(T),
    ) -> Result<()> {
        loop {
            if let Some(done) = self.round(work().await, output)? {
                take(done);
            }
            if !self.next().await {
                return Ok(());
            }
        }
    }

    /// Runs maintenance in every round, with an audit when one is due, and prints the results. A signal
    /// ends it even in the middle of a round.
    pub async fn maintain<T, F: Future<Output = windlass::Result<T>>>(
        mut self,
        mut audits: AuditSchedule,
        output: &mut Output,
        mut work: impl FnMut(bool) -> F,
        print: impl Fn(&mut Output, &T),
    ) -> Result<Exit> {
        loop {
            let is_audit = audits.is_due();
            let Some(done) = self.unless_signalled(work(is_audit)).await else {
                return Ok(Exit::Ok);
            };
            if let Some(reply) = self.round(done, output)? {
                if is_audit {
                    audits.last = Some(Instant::now());
                }
                print(output, &reply);
            }
            if !self.next().await {
                return Ok(Exit::Ok);
            }
        }
    }

    /// Runs one round. Returns nothing if a signal arrives first.
    async fn unless_signalled<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let Some((_, signals)) = &mut self.0 else {
            return Some(work.await);
        };
        tokio::select! {
            done = work => Some(done),
            () = signals.next() => None,
        }
    }

    /// Returns the result of a round. With `--every`, a transient error is printed and the process
    /// continues.
    fn round<T>(&self, done: windlass::Result<T>, output: &mut Output) -> Result<Option<T>> {
        match done {
            Ok(done) => Ok(Some(done)),
            Err(error) if self.0.is_some() && error.is_transient() => {
                output.error(&Error::from(&error));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for the next round. Returns false after the last one.
    async fn next(&mut self) -> bool {
        let Some((every, signals)) = &mut self.0 else {
            return false;
        };
        tokio::select! {
            () = tokio::time::sleep(*every) => true,
            () = signals.next() => false,
        }
    }
}

/// Decides which rounds include an audit: all of them, or one per interval.
#[derive(Debug)]
pub struct AuditSchedule {
    every: Option<Duration>,
    last: Option<Instant>,
}

impl AuditSchedule {
    /// Creates the schedule of `flag`; if it is missing, every round is an audit if `is_always`, else none.
    pub fn new(flag: &str, is_always: bool, interval: Option<Duration>) -> Result<Self> {
        let every = check_interval(flag, interval)?;
        Ok(Self {
            every: every.or(is_always.then_some(Duration::ZERO)),
            last: None,
        })
    }

    fn is_due(&self) -> bool {
        let is_over = |every| self.last.is_none_or(|last| last.elapsed() >= every);
        self.every.is_some_and(is_over)
    }
}
