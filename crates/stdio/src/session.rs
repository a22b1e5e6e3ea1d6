//! The door of all verbs: one JSON request per line in, one reply per line out.
//!
//! Requests are carried out one after the other, so that each sees what the one before it did; jobs
//! of one queue that follow each other go to the store in one call. Unordered, many requests run at
//! once and are answered as they end.

mod batch;
mod in_flight;
mod request;
mod wait;

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use windlass_core::Store;

use crate::line_reader::{LINE_BYTES_MAX_DEFAULT, Lines};
use crate::undelivered::{Returned, give_back};
use crate::writer::Outlet;
use batch::Gathered;
use in_flight::UnderWay;
use request::Request;

/// How a session behaves.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The longest line that is read as a request.
    pub line_bytes_max: usize,
    /// Requests are carried out and answered in their order; else as they come and end.
    pub is_ordered: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            line_bytes_max: LINE_BYTES_MAX_DEFAULT,
            is_ordered: true,
        }
    }
}

/// Why a session ended.
#[derive(Debug)]
pub enum Cause {
    /// The input has no more lines.
    InputEnded,
    /// It was told to stop.
    Stopped,
    /// Nobody reads the output any more.
    OutputClosed,
    /// The output cannot be written.
    OutputFailed(io::Error),
    /// The input cannot be read.
    InputFailed(io::Error),
}

impl Cause {
    pub(crate) fn output(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::OutputFailed(error),
        }
    }
}

/// How a session ended.
#[derive(Debug)]
pub struct Ended {
    /// Why.
    pub cause: Cause,
    /// How many lines were answered.
    pub answered: u64,
    /// How many of them were refused.
    pub refused: u64,
    /// Jobs that were claimed and could not be told of.
    pub returned: Vec<Returned>,
}

/// Answers requests until the input ends, `stop` is cancelled or nobody reads the answers; what is
/// under way then is finished.
pub async fn serve<R, W>(
    store: &dyn Store,
    reader: R,
    writer: W,
    options: Options,
    stop: CancellationToken,
) -> Ended
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let cut = stop.child_token();
    let mut session = Session {
        store,
        lines: Lines::new(reader, options.line_bytes_max),
        outlet: Outlet::new(writer),
        under_way: UnderWay::new(options.is_ordered),
        gathered: Gathered::default(),
        end: None,
        cut,
        answered: 0,
        refused: 0,
    };
    let cause = session.run(&stop).await;
    session.finish(cause).await
}

struct Session<'a, R, W> {
    store: &'a dyn Store,
    lines: Lines<R>,
    outlet: Outlet<W>,
    under_way: UnderWay<'a>,
    gathered: Gathered,
    /// No more lines are read, and why.
    end: Option<Cause>,
    /// Whoever waits for work should not do so any longer.
    cut: CancellationToken,
    answered: u64,
    refused: u64,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Session<'_, R, W> {
    async fn run(&mut self, stop: &CancellationToken) -> Cause {
        loop {
            if !self.gathered.is_empty() && self.under_way.has_room() {
                let group = self.gathered.take();
                self.under_way.begin(self.store, group, &self.cut);
                continue;
            }
            let is_idle = self.gathered.is_empty() && self.under_way.is_empty();
            if self.end.is_some() && is_idle {
                return match self.outlet.flush().await {
                    Err(error) => Cause::output(error),
                    Ok(()) => self.end.take().unwrap_or(Cause::InputEnded),
                };
            }
            let may_read = self.end.is_none() && self.gathered.has_room();
            tokio::select! {
                biased;
                () = stop.cancelled(), if self.end.is_none() => self.end = Some(Cause::Stopped),
                done = self.under_way.next(), if !self.under_way.is_empty() => {
                    for done in done {
                        self.answered += 1;
                        self.refused += u64::from(!done.is_ok);
                        self.outlet.put(&done.line, done.claimed);
                    }
                }
                line = self.lines.next(), if may_read => match line {
                    Ok(Some(line)) => self.gathered.put(Request::read(line)),
                    Ok(None) => self.end = Some(Cause::InputEnded),
                    Err(error) => self.end = Some(Cause::InputFailed(error)),
                },
                // Only when all others wait: what is ready should not wait with them.
                flushed = self.outlet.flush(), if self.outlet.has_lines() => {
                    if let Err(error) = flushed {
                        return Cause::output(error);
                    }
                }
            }
            if self.outlet.is_full()
                && let Err(error) = self.outlet.flush().await
            {
                return Cause::output(error);
            }
        }
    }

    /// Lets what is under way end although nobody will hear of it, and gives back what it claimed.
    async fn finish(mut self, cause: Cause) -> Ended {
        self.cut.cancel();
        let mut unheard = self.outlet.into_unheard();
        while !self.under_way.is_empty() {
            let done = self.under_way.next().await.into_iter();
            unheard.extend(done.filter_map(|done| done.claimed));
        }
        Ended {
            cause,
            answered: self.answered,
            refused: self.refused,
            returned: give_back(self.store, unheard).await,
        }
    }
}
