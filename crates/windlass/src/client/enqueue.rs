//! The builder of a job to enqueue.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use windlass_core::store::{GroupName, Headers, Kind, OnDuplicate, UniqueKey, UniqueUntil};
use windlass_core::{
    Bytes, Due, Error, ErrorKind, JobId, NewJob, Priority, QueueName, Result, RetryPolicy,
    Timestamp,
};

use super::{Client, JobHandle, Raw};
use crate::typed::TypedJob;

/// The content type of a typed job.
const JSON: &str = "application/json";

/// Builds a job and enqueues it when awaited. Invalid options are returned as an error by the await.
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
/// let invalid = client.enqueue_raw("mail", "dear Bob").priority(12).await;
/// assert_eq!(invalid.unwrap_err().kind(), ErrorKind::Invalid);
/// # Ok(())
/// # }
/// ```
#[must_use = "the job is not enqueued until this is awaited"]
pub struct EnqueueBuilder<J> {
    client: Client,
    draft: Result<Draft>,
    inherited: Headers,
    job: PhantomData<fn() -> J>,
}

/// A job and its queue.
pub(super) struct Draft {
    pub(super) queue: QueueName,
    pub(super) job: NewJob,
}

/// What all jobs of a type share.
pub(super) struct Template {
    pub(super) queue: QueueName,
    kind: Kind,
    headers: Headers,
}

impl Template {
    pub(super) fn new<J: TypedJob>() -> Result<Self> {
        let (queue, kind) = (QueueName::new(J::QUEUE)?, Kind::new(J::KIND)?);
        let mut headers = Headers::default();
        headers.set("content-type", JSON)?;
        Ok(Self {
            queue,
            kind,
            headers,
        })
    }

    /// Serializes a typed job and applies the options of its type.
    pub(super) fn job<J: TypedJob>(&self, job: &J) -> Result<NewJob> {
        let payload = serde_json::to_vec(job).map_err(|error| {
            let what = format!("cannot serialize a job of kind {:?} as JSON", self.kind);
            let help = "use fields that JSON supports: map keys must be strings";
            Error::new(ErrorKind::Invalid, what, help).caused_by(error)
        })?;
        let mut job = NewJob::new(payload).kind(self.kind.clone());
        job.headers = self.headers.clone();
        Ok(J::options(job))
    }
}

/// Serializes a typed job.
pub(crate) fn job_of<J: TypedJob>(job: &J) -> Result<NewJob> {
    Template::new::<J>()?.job(job)
}

impl Draft {
    pub(super) fn typed<J: TypedJob>(job: &J) -> Result<Self> {
        let template = Template::new::<J>()?;
        let job = template.job(job)?;
        let queue = template.queue;
        Ok(Self { queue, job })
    }

    pub(super) fn raw(queue: &str, payload: Bytes) -> Result<Self> {
        let queue = QueueName::new(queue)?;
        let job = NewJob::new(payload);
        Ok(Self { queue, job })
    }
}

impl EnqueueBuilder<Raw> {
    /// Sets the kind of the job, which selects its handler.
    pub fn kind(self, kind: &str) -> Self {
        self.with(|draft| {
            draft.job.kind = Some(Kind::new(kind)?);
            Ok(())
        })
    }
}

impl<J> EnqueueBuilder<J> {
    pub(super) fn new(client: Client, draft: Result<Draft>) -> Self {
        Self {
            client,
            draft,
            inherited: Headers::default(),
            job: PhantomData,
        }
    }

    /// Sets headers that header functions and the job itself may override.
    pub(crate) fn inherit(mut self, headers: Headers) -> Self {
        self.inherited = headers;
        self
    }

    /// Changes the draft; keeps the first error.
    fn with(mut self, change: impl FnOnce(&mut Draft) -> Result<()>) -> Self {
        if let Ok(draft) = &mut self.draft
            && let Err(error) = change(draft)
        {
            self.draft = Err(error);
        }
        self
    }

    fn set(self, change: impl FnOnce(&mut NewJob)) -> Self {
        self.with(|draft| {
            change(&mut draft.job);
            Ok(())
        })
    }

    /// Sets the queue (default: the queue of the job's type).
    pub fn queue(self, queue: &str) -> Self {
        self.with(|draft| {
            draft.queue = QueueName::new(queue)?;
            Ok(())
        })
    }

    /// Sets the id (default: generated). Enqueueing the same id again is a duplicate, so retries are
    /// safe.
    pub fn id(self, id: &str) -> Self {
        self.with(|draft| {
            draft.job.id = JobId::new(id)?;
            draft.job.is_named = true;
            Ok(())
        })
    }

    /// Sets the priority from 0 (first) to 9 (last) (default: 5).
    pub fn priority(self, priority: u8) -> Self {
        self.with(|draft| {
            draft.job.priority = Priority::new(priority)?;
            Ok(())
        })
    }

    /// Sets the group (default: no group). The jobs of a group share its limits, and groups take turns.
    ///
    /// ```
    /// use windlass::Client;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Client::connect("memory:").await?;
    /// let job = client.enqueue_raw("imports", "orders.csv").group("acme").await?;
    /// let job = client.get("imports", job.id().as_str()).await?.ok_or("it waits")?;
    /// assert_eq!(job.group.ok_or("it has one")?.as_str(), "acme");
    /// # Ok(())
    /// # }
    /// ```
    pub fn group(self, group: &str) -> Self {
        self.with(|draft| {
            draft.job.group = Some(GroupName::new(group)?);
            Ok(())
        })
    }

    /// Runs the job no earlier than `delay` from now.
    pub fn delay(self, delay: Duration) -> Self {
        self.set(|job| job.due = Due::After(delay))
    }

    /// Runs the job no earlier than `at`.
    pub fn at(self, at: Timestamp) -> Self {
        self.set(|job| job.due = Due::At(at))
    }

    /// Sets a key that only one live job of the queue may have. If another job has it, this one is a
    /// duplicate.
    pub fn unique_key(self, key: &str) -> Self {
        self.with(|draft| {
            draft.job.unique_key = Some(UniqueKey::new(key)?);
            Ok(())
        })
    }

    /// Sets when the job frees its unique key (default: when it ends).
    pub fn unique_until(self, until: UniqueUntil) -> Self {
        self.set(|job| job.unique_until = until)
    }

    /// Holds the unique key for at least `time` from now, even if the job ends earlier.
    pub fn unique_for(self, time: Duration) -> Self {
        self.set(|job| job.unique_for = Some(time))
    }

    /// Sets what happens if a waiting job has the id or the unique key (default: it is kept, and this
    /// one is a duplicate).
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::{Client, OnDuplicate};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Client::connect("memory:").await?;
    /// let index = |text: &'static str| {
    ///     let job = client.enqueue_raw("index", text).unique_key("page-7");
    ///     let job = job.on_duplicate(OnDuplicate::ReplaceAndPostpone);
    ///     job.delay(Duration::from_secs(10))
    /// };
    /// let first = index("draft").await?;
    /// let second = index("final").await?;
    /// assert!(second.is_replaced() && second.id() == first.id());
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_duplicate(self, on_duplicate: OnDuplicate) -> Self {
        self.set(|job| job.on_duplicate = on_duplicate)
    }

    /// Limits how far a waiting job is postponed: to `max` after it was enqueued.
    pub fn postpone_max(self, max: Duration) -> Self {
        self.set(|job| job.postpone_max = Some(max))
    }

    /// Sets the retry policy.
    pub fn retry(self, retry: RetryPolicy) -> Self {
        self.set(|job| job.retry = retry)
    }

    /// Sets the timeout of one attempt.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.set(|job| job.timeout = Some(timeout))
    }

    /// Drops the job if it has not started by then.
    pub fn expires(self, expires: Due) -> Self {
        self.set(|job| job.expires = Some(expires))
    }

    /// Sets a header.
    pub fn header(self, name: &str, value: &str) -> Self {
        self.with(|draft| draft.job.headers.set(name, value))
    }

    /// Keeps the outcome for an hour even if there is no result, so that a client can
    /// [wait](Client::wait) for it.
    pub fn keep_outcome(self) -> Self {
        self.set(|job| job.keep_outcome = true)
    }

    async fn send(self) -> Result<JobHandle<J>> {
        let Draft { queue, mut job } = self.draft?;
        let headers = self.client.default_headers(self.inherited);
        job.headers = merge_headers(headers, &job.headers)?;
        let replies = self.client.store().enqueue(&queue, vec![job]).await?;
        let reply = replies.into_iter().next().ok_or_else(no_reply)?;
        Ok(JobHandle::new(queue, reply))
    }
}

/// Returns `below` with the headers of `above` set on it.
pub(super) fn merge_headers(mut below: Headers, above: &Headers) -> Result<Headers> {
    if below.is_empty() {
        return Ok(above.clone());
    }
    for (name, value) in above.iter() {
        below.set(name, value)?;
    }
    Ok(below)
}

pub(super) fn no_reply() -> Error {
    Error::new(
        ErrorKind::Internal,
        "expected one reply from the store for each job, got fewer",
        "this is a bug in Windlass; report it",
    )
}

impl<J: 'static> IntoFuture for EnqueueBuilder<J> {
    type Output = Result<JobHandle<J>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl<J> fmt::Debug for EnqueueBuilder<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let draft = self.draft.as_ref().map(|draft| (&draft.queue, &draft.job));
        f.debug_struct("EnqueueBuilder")
            .field("draft", &draft)
            .finish_non_exhaustive()
    }
}
