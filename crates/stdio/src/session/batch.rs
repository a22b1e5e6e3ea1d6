//! Requests that go to the store together: jobs of one queue that follow each other.
//!
//! There is no timer. What is read while the requests before it are under way gathers; so does what
//! is refused without the store, whose answer has its place in the order.

use tokio_util::sync::CancellationToken;
use windlass_api::{EnqueueReply, Error};
use windlass_core::{Enqueued, ErrorKind, NewJob, QueueName, Result, Store};

use super::request::{Asked, Done, Request};
use super::wait;
use crate::reply::{Answer, fields};

/// How many requests go together.
const REQUESTS_MAX: usize = 64;

/// How many bytes of requests go together; a single longer one goes alone.
pub(super) const BYTES_MAX: usize = 8 * 1024 * 1024;

/// Requests that go together.
#[derive(Debug, Default)]
pub(super) struct Group {
    requests: Vec<Request>,
    pub(super) bytes: usize,
}

/// Requests that were read and wait for those before them.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    group: Group,
    /// One that does not go along: nothing is read behind it.
    spare: Option<Request>,
}

impl Gathered {
    pub(super) fn is_empty(&self) -> bool {
        self.group.requests.is_empty()
    }

    /// Whether one more may be read.
    pub(super) fn has_room(&self) -> bool {
        let is_small = self.group.requests.len() < REQUESTS_MAX && self.group.bytes < BYTES_MAX;
        self.spare.is_none() && is_small
    }

    pub(super) fn put(&mut self, request: Request) {
        if self.group.takes(&request) {
            self.group.push(request);
        } else {
            self.spare = Some(request);
        }
    }

    /// Those that are next.
    pub(super) fn take(&mut self) -> Group {
        let group = std::mem::take(&mut self.group);
        if let Some(request) = self.spare.take() {
            self.group.push(request);
        }
        group
    }
}

impl Group {
    fn push(&mut self, request: Request) {
        self.bytes += request.bytes;
        self.requests.push(request);
    }

    /// Whether a request goes along with those that are here.
    fn takes(&self, request: &Request) -> bool {
        let queue = match &request.asked {
            Asked::Enqueue(queue, _) => Some(queue),
            Asked::Refused(_) => None,
            Asked::Verb(..) => return self.requests.is_empty(),
        };
        self.requests.iter().all(|other| match &other.asked {
            Asked::Enqueue(other, _) => queue.is_none_or(|queue| queue == other),
            Asked::Refused(_) => true,
            Asked::Verb(..) => false,
        })
    }

    /// Carries all out and answers each, in their order.
    pub(super) async fn answer(self, store: &dyn Store, cut: CancellationToken) -> Vec<Done> {
        let mut stored = self.enqueue(store).await.into_iter();
        let mut done = Vec::with_capacity(self.requests.len());
        for Request { asked, asker, .. } in self.requests {
            done.push(match asked {
                Asked::Enqueue(..) => {
                    let answer = stored.next();
                    asker.told("", answer.unwrap_or_else(|| Err(Error::missing_reply())))
                }
                Asked::Refused(problem) => asker.told("", Err(problem)),
                Asked::Verb(op, fields) => {
                    let answer = wait::dispatch(store, &op, fields, &cut).await;
                    asker.told(&op, answer)
                }
            });
        }
        done
    }

    /// Stores the jobs of all in one call.
    async fn enqueue(&self, store: &dyn Store) -> Vec<Answer> {
        let asked = self
            .requests
            .iter()
            .filter_map(|request| match &request.asked {
                Asked::Enqueue(queue, job) => Some((queue, job.as_ref().clone())),
                Asked::Verb(..) | Asked::Refused(_) => None,
            });
        let (queues, jobs): (Vec<&QueueName>, Vec<NewJob>) = asked.unzip();
        let Some(queue) = queues.first() else {
            return Vec::new();
        };
        let answers = store.enqueue(queue, jobs.clone()).await;
        match answers {
            // One of them is at fault, and none was stored: each by itself.
            Err(error) if error.kind() == ErrorKind::Invalid && jobs.len() > 1 => {
                let mut answers = Vec::with_capacity(jobs.len());
                for job in jobs {
                    let answer = store.enqueue(queue, vec![job]).await;
                    answers.extend(replies(queue, 1, answer));
                }
                answers
            }
            answers => replies(queue, jobs.len(), answers),
        }
    }
}

/// One reply for each of the jobs.
fn replies(queue: &QueueName, count: usize, answers: Result<Vec<Enqueued>>) -> Vec<Answer> {
    match answers {
        Ok(answers) => answers
            .iter()
            .map(|answer| fields(&EnqueueReply::new(queue, answer)))
            .collect(),
        Err(error) => vec![Err(Error::from(error)); count],
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use windlass_core::SystemClock;
    use windlass_store_memory::MemoryStore;

    use super::*;
    use crate::line_reader::Line;

    fn gathered(lines: &[Value]) -> Gathered {
        let mut gathered = Gathered::default();
        for (line, number) in lines.iter().zip(1..) {
            gathered.put(Request::read(Line::of(number, &line.to_string())));
        }
        gathered
    }

    fn enqueue(queue: &str, id: &str) -> Value {
        json!({"op": "enqueue", "queue": queue, "id": id})
    }

    #[tokio::test]
    async fn jobs_that_go_together_do_not_share_their_faults() {
        let store = MemoryStore::new(Arc::new(SystemClock));
        let mut large = enqueue("q", "large");
        large["payload"] = "x".repeat(1024 * 1024 + 1).into();
        let lines = [enqueue("q", "a"), large, json!(7), enqueue("q", "b")];

        let group = gathered(&lines).take();
        let done = group.answer(&store, CancellationToken::new()).await;

        let is_ok: Vec<_> = done.iter().map(|done| done.is_ok).collect();
        assert_eq!(is_ok, [true, false, false, true]);
        let queue = QueueName::new("q").unwrap();
        let stats = store.stats(&queue).await.unwrap().unwrap();
        assert_eq!(stats.ready, 2);
    }

    #[test]
    fn only_jobs_of_one_queue_go_together() {
        let (a, b) = (enqueue("q", "a"), enqueue("q", "b"));
        let (other, verb) = (enqueue("other", "c"), json!({"op": "queues"}));
        for (lines, together) in [
            (vec![a.clone(), b.clone()], 2),
            (vec![a.clone(), json!([]), b.clone()], 3),
            (vec![json!([]), a.clone(), b], 3),
            (vec![a.clone(), other], 1),
            (vec![a.clone(), verb.clone()], 1),
            (vec![verb, a], 1),
        ] {
            let mut gathered = gathered(&lines);
            assert_eq!(gathered.take().requests.len(), together, "{lines:?}");
            assert_eq!(gathered.take().requests.len(), lines.len() - together);
        }
    }
}
