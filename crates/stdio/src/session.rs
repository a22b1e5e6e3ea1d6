//! Serves all operations: one JSON request per line in, one reply per line out.
//!
//! Requests run one after the other, so that each sees the effects of the previous one. Consecutive
//! enqueues of one queue go to the store in one call. In unordered mode many requests run at once, and
//! replies are written as they complete.

mod batch;
mod in_flight;
mod request;

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use windlass_core::Store;

use crate::line_reader::{LINE_BYTES_MAX_DEFAULT, LineReader};
use crate::undelivered::{UndeliveredJob, release_all};
use crate::writer::LineWriter;
use batch::Batcher;
use in_flight::InFlight;
use request::LineRequest;

/// Options of a session.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The maximum length of a request line.
    pub line_bytes_max: usize,
    /// Run requests one after the other and reply in order. Otherwise requests run concurrently.
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
    /// End of input.
    InputEnded,
    /// The stop token was cancelled.
    Stopped,
    /// The reader closed the output.
    OutputClosed,
    /// Writing the output failed.
    OutputFailed(io::Error),
    /// Reading the input failed.
    InputFailed(io::Error),
}

impl Cause {
    /// Returns the cause for a failed write.
    pub fn output(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::OutputFailed(error),
        }
    }
}

/// How a session ended.
#[derive(Debug)]
pub struct SessionEnd {
    /// Why the session ended.
    pub cause: Cause,
    /// How many requests got a reply.
    pub replies: u64,
    /// How many of the replies were errors.
    pub errors: u64,
    /// Jobs that were claimed but whose reply could not be written.
    pub undelivered: Vec<UndeliveredJob>,
}

/// Serves requests until the input ends, `stop` is cancelled or the output is closed. Requests in
/// flight are finished.
pub async fn serve<R, W>(
    store: &dyn Store,
    reader: R,
    writer: W,
    options: Options,
    stop: CancellationToken,
) -> SessionEnd
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let cancel_waits = stop.child_token();
    let mut session = Session {
        store,
        lines: LineReader::new(reader, options.line_bytes_max),
        writer: LineWriter::new(writer),
        in_flight: InFlight::new(options.is_ordered),
        batcher: Batcher::default(),
        end: None,
        cancel_waits,
        replies: 0,
        errors: 0,
    };
    let cause = session.run(&stop).await;
    session.finish(cause).await
}

struct Session<'a, R, W> {
    store: &'a dyn Store,
    lines: LineReader<R>,
    writer: LineWriter<W>,
    in_flight: InFlight<'a>,
    batcher: Batcher,
    /// Set when no more lines are read.
    end: Option<Cause>,
    /// Cancelled to end waiting claims early.
    cancel_waits: CancellationToken,
    replies: u64,
    errors: u64,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Session<'_, R, W> {
    async fn run(&mut self, stop: &CancellationToken) -> Cause {
        loop {
            if !self.batcher.is_empty() && self.in_flight.has_room() {
                let batch = self.batcher.take();
                self.in_flight.start(self.store, batch, &self.cancel_waits);
                continue;
            }
            let is_idle = self.batcher.is_empty() && self.in_flight.is_empty();
            if self.end.is_some() && is_idle {
                return match self.writer.flush().await {
                    Err(error) => Cause::output(error),
                    Ok(()) => self.end.take().unwrap_or(Cause::InputEnded),
                };
            }
            let may_read = self.end.is_none() && self.batcher.has_room();
            tokio::select! {
                biased;
                () = stop.cancelled(), if self.end.is_none() => self.end = Some(Cause::Stopped),
                responses = self.in_flight.next(), if !self.in_flight.is_empty() => {
                    for response in responses {
                        self.replies += 1;
                        self.errors += u64::from(!response.is_ok);
                        self.writer.put(&response.line, response.claimed);
                    }
                }
                line = self.lines.next(), if may_read => match line {
                    Ok(Some(line)) => self.batcher.put(LineRequest::parse(line)),
                    Ok(None) => self.end = Some(Cause::InputEnded),
                    Err(error) => self.end = Some(Cause::InputFailed(error)),
                },
                // Flush only if nothing else is ready, so that replies are written in batches.
                flushed = self.writer.flush(), if self.writer.has_lines() => {
                    if let Err(error) = flushed {
                        return Cause::output(error);
                    }
                }
            }
            if self.writer.is_full()
                && let Err(error) = self.writer.flush().await
            {
                return Cause::output(error);
            }
        }
    }

    /// Finishes the requests in flight, and releases the jobs whose reply cannot be delivered.
    async fn finish(mut self, cause: Cause) -> SessionEnd {
        self.cancel_waits.cancel();
        let mut undelivered = self.writer.into_undelivered();
        while !self.in_flight.is_empty() {
            let responses = self.in_flight.next().await.into_iter();
            undelivered.extend(responses.filter_map(|response| response.claimed));
        }
        SessionEnd {
            cause,
            replies: self.replies,
            errors: self.errors,
            undelivered: release_all(self.store, undelivered).await,
        }
    }
}
