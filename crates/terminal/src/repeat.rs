//! `--every D`: runs work once, or repeatedly until a signal.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windlass::runtime::{Outage, StoreCaller};

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
pub struct Repeat(Option<Rounds>);

#[derive(Debug)]
struct Rounds {
    every: Duration,
    signals: Signals,
    /// Logs an outage of the store once, not with every round.
    caller: StoreCaller,
}

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
        let Some(every) = every else {
            return Ok(Self(None));
        };
        Ok(Self(Some(Rounds {
            every,
            signals: listen()?,
            caller: Arc::<Outage>::default().caller(),
        })))
    }

    /// Runs every round to completion and passes its result to `take`.
    pub async fn each<T, F: Future<Output = windlass::Result<T>>>(
        mut self,
        mut work: impl FnMut() -> F,
        mut take: impl FnMut(T),
    ) -> Result<()> {
        loop {
            if let Some(done) = self.round(work().await)? {
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
            if let Some(reply) = self.round(done)? {
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

    /// Runs work before or in a round. Returns nothing if a signal arrives first.
    pub async fn unless_signalled<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        match &mut self.0 {
            Some(rounds) => rounds.signals.unless_next(work).await,
            None => Some(work.await),
        }
    }

    /// Returns the result of a round. With `--every`, a transient error is logged and the process
    /// continues.
    fn round<T>(&mut self, done: windlass::Result<T>) -> Result<Option<T>> {
        match (&mut self.0, done) {
            (None, done) => Ok(Some(done?)),
            (Some(_), Err(error)) if !error.is_transient() => Err(error.into()),
            (Some(rounds), done) => {
                rounds.caller.record(&done);
                Ok(done.ok())
            }
        }
    }

    /// Waits for the next round. Returns false after the last one.
    async fn next(&mut self) -> bool {
        let Some(rounds) = &mut self.0 else {
            return false;
        };
        let pause = tokio::time::sleep(rounds.every);
        rounds.signals.unless_next(pause).await.is_some()
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
