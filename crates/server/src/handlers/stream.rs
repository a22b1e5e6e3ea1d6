//! NDJSON streams: answers that are written line by line, as fast as they are read.

use axum::body::Body;
use axum::http::Response;
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use tokio::sync::mpsc;

/// How many parts wait for a reader before the other side is not read any further.
const PARTS_MAX: usize = 16;

/// Where parts of a body go.
pub(super) type Parts = mpsc::Sender<Bytes>;

/// A body that is written as its parts come.
pub(super) fn streamed() -> (Parts, Response<Body>) {
    let (parts, receiver) = mpsc::channel(PARTS_MAX);
    let body = stream::unfold(receiver, |mut receiver| async {
        let part = receiver.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(part), receiver))
    });
    let response = super::text("application/x-ndjson", Body::from_stream(body));
    (parts, response)
}

/// Puts a line of answer into a part.
pub(super) fn write_line(part: &mut Vec<u8>, value: &impl Serialize) {
    // Replies are structs of plain values.
    let _ = serde_json::to_writer(&mut *part, value);
    part.push(b'\n');
}
