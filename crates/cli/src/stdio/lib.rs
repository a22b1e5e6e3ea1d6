//! JSON lines over a pair of pipes: one request per line in, one reply per line out.
//!
//! Requests run one after the other, so that each sees the effects of the previous one. Consecutive
//! enqueues of one queue go to the store in one call. In unordered mode many requests run at once, and
//! replies are written as they complete.
//!
//! This is the library of the package, so that tests and fuzz targets can serve any reader and writer.
//!
//! ```
//! use windlass::{OpenMode, StoreUrl};
//! use windlass_cli::{CancellationToken, Options, serve};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> windlass::Result<()> {
//! let store = windlass::open(&StoreUrl::Memory, OpenMode::CreateIfMissing).await?;
//! let input = &br#"{"op":"enqueue","ref":1,"queue":"mail","id":"a","payload":"hello"}"#[..];
//! let mut output = Vec::new();
//! let options = Options::default();
//! serve(store.as_ref(), input, &mut output, options, CancellationToken::new()).await;
//! let reply = String::from_utf8(output).unwrap();
//! assert!(reply.starts_with(r#"{"ref":1,"ok":true,"id":"a","queue":"mail""#), "{reply}");
//! # Ok(())
//! # }
//! ```

mod batch;
mod request;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite};
use windlass::Store;
use windlass_api::lines::{
    Cause, LINE_BYTES_MAX_DEFAULT, LineWriter, SessionEnd, TextLines, release_all,
};

use batch::{BYTES_MAX, Batcher};
use request::{LineRequest, Response};

pub use tokio_util::sync::CancellationToken;

/// The most batches in flight in unordered mode.
const BATCHES_MAX: usize = 64;

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
        lines: TextLines::new(reader, options.line_bytes_max),
        writer: LineWriter::new(writer),
        in_flight: FuturesUnordered::new(),
        in_flight_max: if options.is_ordered { 1 } else { BATCHES_MAX },
        in_flight_bytes: 0,
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
    lines: TextLines<R>,
    writer: LineWriter<W>,
    /// The batches that are executed, with their sizes.
    in_flight: FuturesUnordered<BoxFuture<'a, (Vec<Response>, usize)>>,
    in_flight_max: usize,
    in_flight_bytes: usize,
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
            if !self.batcher.is_empty() && self.has_room() {
                self.start_batch();
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
                Some((responses, bytes)) = self.in_flight.next() => {
                    self.in_flight_bytes -= bytes;
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

    /// Returns whether another batch may start.
    fn has_room(&self) -> bool {
        let is_below_max =
            self.in_flight.len() < self.in_flight_max && self.in_flight_bytes < BYTES_MAX;
        self.in_flight.is_empty() || is_below_max
    }

    fn start_batch(&mut self) {
        let (batch, store) = (self.batcher.take(), self.store);
        let cancel_waits = self.cancel_waits.clone();
        let bytes = batch.bytes;
        self.in_flight_bytes += bytes;
        self.in_flight.push(Box::pin(async move {
            (batch.execute(store, cancel_waits).await, bytes)
        }));
    }

    /// Finishes the requests in flight, and releases the jobs whose reply cannot be delivered.
    async fn finish(mut self, cause: Cause) -> SessionEnd {
        self.cancel_waits.cancel();
        let mut undelivered = self.writer.into_undelivered();
        while let Some((responses, _)) = self.in_flight.next().await {
            let responses = responses.into_iter();
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
