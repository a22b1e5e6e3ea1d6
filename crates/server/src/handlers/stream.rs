//! Streamed NDJSON responses with backpressure.

use axum::body::Body;
use axum::http::Response;
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use tokio::sync::mpsc;

/// How many chunks are buffered for a slow reader before the producer has to wait.
const CHUNKS_MAX: usize = 1;

/// Sends chunks of a response body.
pub(super) type ChunkSender = mpsc::Sender<Bytes>;

/// Creates a streamed response, and the sender of its chunks.
pub(super) fn streamed() -> (ChunkSender, Response<Body>) {
    let (chunks, receiver) = mpsc::channel(CHUNKS_MAX);
    let body = stream::unfold(receiver, |mut receiver| async {
        let chunk = receiver.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), receiver))
    });
    let response = super::text("application/x-ndjson", Body::from_stream(body));
    (chunks, response)
}

/// Appends a value to a chunk as one line of JSON.
pub(super) fn write_line(chunk: &mut Vec<u8>, value: &impl Serialize) {
    // Serializing a struct of plain values to memory cannot fail.
    let _ = serde_json::to_writer(&mut *chunk, value);
    chunk.push(b'\n');
}
