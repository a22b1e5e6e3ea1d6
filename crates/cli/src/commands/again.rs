//! What `--every D` means: a piece of work is done once, or again and again until a signal.

use std::time::Duration;

use tokio::time::Instant;
use windlass_api::Error;

use crate::exit::{Exit, Failure, Result};
use crate::output::Output;
use crate::session::Session;
use crate::signals::Signals;
use crate::typed;

/// The time between two rounds, as a flag says; zero is refused.
pub(crate) fn read(flag: &str, text: Option<&str>) -> Result<Option<Duration>> {
    let every = typed::duration(text)?;
    if every.is_some_and(|every| every.is_zero()) {
        return Err(Failure::usage(
            format!("{flag} is zero"),
            format!("leave some time in between, for example {flag} 30s"),
        ));
    }
    Ok(every)
}

/// The rounds of one command. One of a single round ends at a signal as any other command does.
#[derive(Debug)]
pub(crate) struct Again(Option<(Duration, Signals)>);

impl Again {
    /// Either signal ends many rounds well.
    pub(crate) fn begin(every: Option<Duration>, session: &Session) -> Result<Self> {
        Self::heed(every, || session.signals())
    }

    /// SIGTERM ends many rounds well; SIGINT ends them as it ends any other command.
    pub(crate) fn until_terminated(every: Option<Duration>) -> Result<Self> {
        Self::heed(every, Signals::listen_to_terminate)
    }

    fn heed(every: Option<Duration>, listen: impl Fn() -> Result<Signals>) -> Result<Self> {
        Ok(Self(match every {
            Some(every) => Some((every, listen()?)),
            None => None,
        }))
    }

    /// Does the work of every round, each to its end, and hands over what it gave.
    pub(crate) async fn each<T, F: Future<Output = windlass::Result<T>>>(
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

    /// Cleans in every round, deep where that is due, and prints what each did. A signal ends it in
    /// the middle of a round.
    pub(crate) async fn clean<T, F: Future<Output = windlass::Result<T>>>(
        mut self,
        mut deep: Deep,
        output: &mut Output,
        mut work: impl FnMut(bool) -> F,
        print: impl Fn(&mut Output, &T),
    ) -> Result<Exit> {
        loop {
            let is_deep = deep.is_due();
            let Some(done) = self.unless_told(work(is_deep)).await else {
                return Ok(Exit::Ok);
            };
            if let Some(reply) = self.round(done, output)? {
                if is_deep {
                    deep.last = Some(Instant::now());
                }
                print(output, &reply);
            }
            if !self.next().await {
                return Ok(Exit::Ok);
            }
        }
    }

    /// Does the work of one round; nothing where a signal comes first.
    async fn unless_told<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let Some((_, signals)) = &mut self.0 else {
            return Some(work.await);
        };
        tokio::select! {
            done = work => Some(done),
            () = signals.next() => None,
        }
    }

    /// What a round gave; nothing where it met trouble that a process which is to go on outlives.
    fn round<T>(&self, done: windlass::Result<T>, output: &mut Output) -> Result<Option<T>> {
        match done {
            Ok(done) => Ok(Some(done)),
            Err(error) if self.0.is_some() && error.is_transient() => {
                output.problem(&Error::from(&error));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for the next round; false when there is none.
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

/// Which of the rounds are deep: every one that `--deep` asks for, or one in a while by
/// `--deep-every D`.
#[derive(Debug)]
pub(crate) struct Deep {
    every: Option<Duration>,
    last: Option<Instant>,
}

impl Deep {
    pub(crate) fn read(is_asked: bool, deep_every: Option<&str>) -> Result<Self> {
        let every = read("--deep-every", deep_every)?;
        Ok(Self {
            every: every.or(is_asked.then_some(Duration::ZERO)),
            last: None,
        })
    }

    fn is_due(&self) -> bool {
        let is_over = |every| self.last.is_none_or(|last| last.elapsed() >= every);
        self.every.is_some_and(is_over)
    }
}
