//! A job on its way into a queue: options first, then await it.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use windlass_core::{
    Bytes, Due, Error, ErrorKind, Headers, JobId, Kind, NewJob, Priority, QueueName, Result,
    RetryPolicy, Timestamp, UniqueKey,
};

use super::{Client, JobHandle, Raw};
use crate::typed::TypedJob;

/// The content type of a typed job.
const JSON: &str = "application/json";

/// A job on its way into a queue. Nothing happens until it is awaited; a value that is not valid is
/// the error of that await.
///
/// ```
/// use std::time::Duration;
/// use windlass::{Client, ErrorKind};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::connect("memory:").await?;
/// let letter = client.enqueue_raw("mail", "dear Ann").kind("letter").priority(2);
/// letter.delay(Duration::from_secs(60)).await?;
///
/// let refused = client.enqueue_raw("mail", "dear Bob").priority(12).await;
/// assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is enqueued until it is awaited"]
pub struct Enqueue<J> {
    client: Client,
    draft: Result<Draft>,
    inherited: Headers,
    job: PhantomData<fn() -> J>,
}

/// A job and where it goes.
pub(super) struct Draft {
    pub(super) queue: QueueName,
    pub(super) job: NewJob,
}

impl Draft {
    /// A typed job as bytes, with what its type says about it.
    pub(super) fn typed<J: TypedJob>(job: &J) -> Result<Self> {
        let queue = QueueName::new(J::QUEUE)?;
        let kind = Kind::new(J::KIND)?;
        let payload = serde_json::to_vec(job).map_err(|error| {
            let what = format!("a job of kind {kind:?} cannot be written as JSON");
            let help = "give it fields that JSON can hold: maps have text as their keys";
            Error::new(ErrorKind::Invalid, what, help).caused_by(error)
        })?;
        let mut job = NewJob::new(payload).kind(kind);
        job.headers.set("content-type", JSON)?;
        let job = J::options(job);
        Ok(Self { queue, job })
    }
}

impl<J: TypedJob> Enqueue<J> {
    pub(super) fn typed(client: Client, job: &J) -> Self {
        Self::new(client, Draft::typed(job))
    }
}

impl Enqueue<Raw> {
    pub(super) fn raw(client: Client, queue: &str, payload: Bytes) -> Self {
        let draft = QueueName::new(queue).map(|queue| Draft {
            queue,
            job: NewJob::new(payload),
        });
        Self::new(client, draft)
    }

    /// Says what sort of job it is, and so which handler runs it.
    pub fn kind(self, kind: &str) -> Self {
        let kind = Kind::new(kind);
        self.with(|draft| {
            draft.job.kind = Some(kind?);
            Ok(())
        })
    }
}

impl<J> Enqueue<J> {
    fn new(client: Client, draft: Result<Draft>) -> Self {
        Self {
            client,
            draft,
            inherited: Headers::default(),
            job: PhantomData,
        }
    }

    /// Headers that the job has unless a stamp or the job itself says otherwise.
    pub(crate) fn inherit(mut self, headers: Headers) -> Self {
        self.inherited = headers;
        self
    }

    /// Changes the draft; the first fault is kept.
    fn with(mut self, change: impl FnOnce(&mut Draft) -> Result<()>) -> Self {
        if let Ok(draft) = &mut self.draft
            && let Err(fault) = change(draft)
        {
            self.draft = Err(fault);
        }
        self
    }

    fn set(self, change: impl FnOnce(&mut NewJob)) -> Self {
        self.with(|draft| {
            change(&mut draft.job);
            Ok(())
        })
    }

    /// Another queue than the one of its type.
    pub fn queue(self, queue: &str) -> Self {
        let queue = QueueName::new(queue);
        self.with(|draft| {
            draft.queue = queue?;
            Ok(())
        })
    }

    /// Chooses the id: the same id is the same job, so that enqueueing it again is safe.
    pub fn id(self, id: &str) -> Self {
        let id = JobId::new(id);
        self.with(|draft| {
            draft.job.id = id?;
            draft.job.is_named = true;
            Ok(())
        })
    }

    /// From 0, first, to 9, last; 5 unless said.
    pub fn priority(self, priority: u8) -> Self {
        self.with(|draft| {
            draft.job.priority = Priority::new(priority)?;
            Ok(())
        })
    }

    /// Runs it no earlier than `delay` from now.
    pub fn delay(self, delay: Duration) -> Self {
        self.set(|job| job.due = Due::After(delay))
    }

    /// Runs it no earlier than `at`.
    pub fn at(self, at: Timestamp) -> Self {
        self.set(|job| job.due = Due::At(at))
    }

    /// Holds a key that no other live job of the queue may hold; while another does, this one is a
    /// duplicate of it.
    pub fn unique_key(self, key: &str) -> Self {
        let key = UniqueKey::new(key);
        self.with(|draft| {
            draft.job.unique_key = Some(key?);
            Ok(())
        })
    }

    /// What happens after a failed attempt.
    pub fn retry(self, retry: RetryPolicy) -> Self {
        self.set(|job| job.retry = retry)
    }

    /// Limits the time of one attempt.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.set(|job| job.timeout = Some(timeout))
    }

    /// Gives the job up when it has not started by then.
    pub fn expires(self, expires: Due) -> Self {
        self.set(|job| job.expires = Some(expires))
    }

    /// Sets a header.
    pub fn header(self, name: &str, value: &str) -> Self {
        self.with(|draft| draft.job.headers.set(name, value))
    }

    /// Keeps the outcome for an hour even where there is no result, for somebody who will
    /// [wait](Client::wait) for it.
    pub fn keep_outcome(self) -> Self {
        self.set(|job| job.keep_outcome = true)
    }

    async fn send(self) -> Result<JobHandle<J>> {
        let Draft { queue, mut job } = self.draft?;
        let headers = self.client.stamped(self.inherited);
        job.headers = laid_over(headers, &job.headers)?;
        let answers = self.client.store().enqueue(&queue, vec![job]).await?;
        let answer = answers.into_iter().next().ok_or_else(no_answer)?;
        Ok(JobHandle::new(queue, answer))
    }
}

/// The headers below, with those above them set.
pub(super) fn laid_over(mut below: Headers, above: &Headers) -> Result<Headers> {
    for (name, value) in above.iter() {
        below.set(name, value)?;
    }
    Ok(below)
}

pub(super) fn no_answer() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the store answered nothing about a job",
        "this is a fault of Windlass: report it",
    )
}

impl<J: 'static> IntoFuture for Enqueue<J> {
    type Output = Result<JobHandle<J>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl<J> fmt::Debug for Enqueue<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let draft = self.draft.as_ref().map(|draft| (&draft.queue, &draft.job));
        f.debug_struct("Enqueue")
            .field("draft", &draft)
            .finish_non_exhaustive()
    }
}
