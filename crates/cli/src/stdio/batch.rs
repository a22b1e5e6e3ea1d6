//! Batching: consecutive enqueues of one queue go to the store in one call.
//!
//! No timer: requests are batched only while earlier ones are in flight. Invalid requests join a
//! batch to keep their position in the order of replies.

use tokio_util::sync::CancellationToken;
use windlass::store::Enqueued;
use windlass::{ErrorKind, NewJob, QueueName, Result, Store};
use windlass_api::{EnqueueReply, Error, Reply, dispatch_until};

use super::request::{LineRequest, RequestKind, Response};

/// The most requests per batch.
const REQUESTS_MAX: usize = 64;

/// The most request bytes per batch. A single longer request is sent alone.
pub(super) const BYTES_MAX: usize = 8 * 1024 * 1024;

/// Requests that are sent to the store together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    requests: Vec<LineRequest>,
    pub(super) bytes: usize,
}

/// Collects requests while earlier ones are in flight.
#[derive(Debug, Default)]
pub(super) struct Batcher {
    batch: Batch,
    /// A request that does not fit the batch. No further request is read until it moves up.
    next: Option<LineRequest>,
}

impl Batcher {
    pub(super) fn is_empty(&self) -> bool {
        self.batch.requests.is_empty()
    }

    /// Returns whether another request may be added.
    pub(super) fn has_room(&self) -> bool {
        let is_small = self.batch.requests.len() < REQUESTS_MAX && self.batch.bytes < BYTES_MAX;
        self.next.is_none() && is_small
    }

    pub(super) fn put(&mut self, request: LineRequest) {
        if self.batch.accepts(&request) {
            self.batch.push(request);
        } else {
            self.next = Some(request);
        }
    }

    /// Takes the current batch.
    pub(super) fn take(&mut self) -> Batch {
        let batch = std::mem::take(&mut self.batch);
        if let Some(request) = self.next.take() {
            self.batch.push(request);
        }
        batch
    }
}

impl Batch {
    fn push(&mut self, request: LineRequest) {
        self.bytes += request.bytes;
        self.requests.push(request);
    }

    /// Returns whether a request can join this batch.
    fn accepts(&self, request: &LineRequest) -> bool {
        let mut kinds = self.requests.iter().rev().map(|request| &request.kind);
        let last = kinds.find(|kind| !matches!(kind, RequestKind::Invalid(_)));
        match (last, &request.kind) {
            (None, RequestKind::Other(..)) => self.requests.is_empty(),
            (None, _) | (Some(RequestKind::Enqueue(..)), RequestKind::Invalid(_)) => true,
            (Some(RequestKind::Enqueue(last, _)), RequestKind::Enqueue(queue, _)) => last == queue,
            _ => false,
        }
    }

    /// Returns the jobs of all requests with their queue, which is the same.
    fn jobs(&self) -> impl Iterator<Item = (&QueueName, &NewJob)> {
        self.requests
            .iter()
            .filter_map(|request| match &request.kind {
                RequestKind::Enqueue(queue, job) => Some((queue, &**job)),
                RequestKind::Other(..) | RequestKind::Invalid(_) => None,
            })
    }

    /// Executes all requests. Returns the responses in order.
    pub(super) async fn execute(
        self,
        store: &dyn Store,
        cancel_waits: CancellationToken,
    ) -> Vec<Response> {
        let mut enqueued = self.enqueue(store).await.into_iter();
        let mut responses = Vec::with_capacity(self.requests.len());
        for LineRequest { kind, reply_to, .. } in self.requests {
            responses.push(match kind {
                RequestKind::Enqueue(queue, _) => {
                    let reply = enqueued.next();
                    let reply = reply.unwrap_or_else(|| Err(Error::missing_reply()));
                    reply_to.reply(Some(&queue), reply)
                }
                RequestKind::Invalid(error) => reply_to.reply(None, Err(error)),
                RequestKind::Other(queue, request) => {
                    let queue = queue.as_ref();
                    let reply = dispatch_until(store, queue, *request, &cancel_waits).await;
                    reply_to.reply(queue, reply)
                }
            });
        }
        responses
    }

    /// Enqueues the jobs of all requests in one call.
    async fn enqueue(&self, store: &dyn Store) -> Vec<Result<Reply, Error>> {
        let Some((queue, _)) = self.jobs().next() else {
            return Vec::new();
        };
        let jobs: Vec<NewJob> = self.jobs().map(|(_, job)| job.clone()).collect();
        let count = jobs.len();
        match store.enqueue(queue, jobs).await {
            // One job is invalid and none was stored: enqueue them one by one.
            Err(error) if error.kind() == ErrorKind::Invalid && count > 1 => {
                let mut results = Vec::with_capacity(count);
                for (queue, job) in self.jobs() {
                    let enqueued = store.enqueue(queue, vec![job.clone()]).await;
                    results.extend(replies(queue, 1, enqueued));
                }
                results
            }
            enqueued => replies(queue, count, enqueued),
        }
    }
}

/// Returns one reply per job.
fn replies(
    queue: &QueueName,
    count: usize,
    enqueued: Result<Vec<Enqueued>>,
) -> Vec<Result<Reply, Error>> {
    match enqueued {
        Ok(enqueued) => enqueued
            .iter()
            .map(|job| Ok(Reply::Enqueue(EnqueueReply::new(queue, job))))
            .collect(),
        Err(error) => {
            let error = Error::from(error);
            (0..count).map(|_| Err(error.clone())).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass::{OpenMode, StoreUrl};
    use windlass_api::lines::TextLine;

    use super::*;

    fn batcher_of(lines: &[Value]) -> Batcher {
        let mut batcher = Batcher::default();
        for (line, number) in lines.iter().zip(1..) {
            batcher.put(LineRequest::parse(TextLine::new(number, &line.to_string())));
        }
        batcher
    }

    fn enqueue(queue: &str, id: &str) -> Value {
        json!({"op": "enqueue", "queue": queue, "id": id})
    }

    #[tokio::test]
    async fn jobs_in_one_batch_do_not_share_their_errors() {
        let mode = OpenMode::CreateIfMissing;
        let store = windlass::open(&StoreUrl::Memory, mode).await.unwrap();
        let mut large = enqueue("q", "large");
        large["payload"] = "x".repeat(1024 * 1024 + 1).into();
        let lines = [enqueue("q", "a"), large, json!(7), enqueue("q", "b")];

        let batch = batcher_of(&lines).take();
        let responses = batch
            .execute(store.as_ref(), CancellationToken::new())
            .await;

        let is_ok: Vec<_> = responses.iter().map(|response| response.is_ok).collect();
        assert_eq!(is_ok, [true, false, false, true]);
        let queue = QueueName::new("q").unwrap();
        let stats = store.stats(&queue).await.unwrap().unwrap();
        assert_eq!(stats.ready, 2);
    }

    #[test]
    fn only_enqueues_of_one_queue_are_batched() {
        let (a, b) = (enqueue("q", "a"), enqueue("q", "b"));
        let (other, list) = (enqueue("other", "c"), json!({"op": "queues"}));
        for (lines, batched) in [
            (vec![a.clone(), b.clone()], 2),
            (vec![a.clone(), json!([]), b.clone()], 3),
            (vec![json!([]), a.clone(), b], 3),
            (vec![a.clone(), other], 1),
            (vec![a.clone(), list.clone()], 1),
            (vec![list, a], 1),
        ] {
            let mut batcher = batcher_of(&lines);
            assert_eq!(batcher.take().requests.len(), batched, "{lines:?}");
            assert_eq!(batcher.take().requests.len(), lines.len() - batched);
        }
    }
}
