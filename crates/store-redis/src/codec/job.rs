//! Assembles a job from its stored values.

use windlass_core::attempt::StoredErrors;
use windlass_core::store::ClaimedJob;
use windlass_core::{Bytes, Error, Job, JobId, JobState, QueueName, Result, ScheduleName};

use super::claim::{boot_of, owner_of};
use super::end::EndRecord;
use super::lease::StoredLease;
use super::opts::{Opts, created_at, due_at};
use super::{damaged, inline, of_job, progress, score, text};

/// The stored values of one job. Values that its state does not need are ignored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RawJob {
    pub(crate) id: JobId,
    pub(crate) state: JobState,
    /// Its opts and payload. Missing in listings.
    pub(crate) value: Option<Bytes>,
    /// Missing if the opts are in the value.
    pub(crate) opts: Option<Bytes>,
    /// Of a running job.
    pub(crate) lease: Option<Bytes>,
    /// The owner of a running job's claim.
    pub(crate) owner: Option<Bytes>,
    /// Of a finished job: its value in `final`.
    pub(crate) end: Option<Bytes>,
    /// Of a scheduled job: its score.
    pub(crate) due: Option<f64>,
    pub(crate) error: Option<Bytes>,
    /// Missing in listings.
    pub(crate) result: Option<Bytes>,
    /// Of a running job.
    pub(crate) progress: Option<Bytes>,
    /// Whether a running job has a cancel request.
    pub(crate) is_stopping: bool,
}

impl RawJob {
    /// A job with no values yet.
    pub(crate) fn new(id: JobId, state: JobState) -> Self {
        Self {
            id,
            state,
            value: None,
            opts: None,
            lease: None,
            owner: None,
            end: None,
            due: None,
            error: None,
            result: None,
            progress: None,
            is_stopping: false,
        }
    }

    /// Decodes the job.
    pub(crate) fn read(self, queue: &QueueName) -> Result<Job> {
        let id = self.id.clone();
        self.decode(queue).map_err(|error| of_job(&id, &error))
    }

    fn decode(self, queue: &QueueName) -> Result<Job> {
        let (header, payload) = self.value.clone().map(inline::split).unzip();
        let opts = self.opts.as_ref().filter(|opts| !opts.is_empty());
        let opts = Opts::read(&opts.or(header.as_ref()).cloned().unwrap_or_default())?;
        let errors = self.error.as_deref();
        let errors = errors.map(|errors| text("error", errors)).transpose()?;
        let errors = StoredErrors::read(errors);
        let due_at = match (self.state, self.due) {
            (JobState::Scheduled, Some(due)) => score("due time", due)?,
            (JobState::Scheduled, None) => return Err(damaged("due time", "missing")),
            _ => due_at(&self.id, &opts)?,
        };
        let mut job = Job {
            queue: queue.clone(),
            state: self.state,
            is_named: opts.is_named,
            kind: opts.kind.clone(),
            priority: opts.priority,
            group: opts.group.clone(),
            payload,
            headers: opts.headers.clone(),
            retry: opts.retry,
            timeout: opts.timeout,
            unique_key: opts.unique_key.clone(),
            unique_until: opts.unique_until,
            unique_for: opts.unique_for,
            schedule: schedule_of(&self.id, &opts)?,
            keep_outcome: opts.keep_outcome,
            attempt: opts.attempt,
            expiries: opts.expiries,
            created_at: created_at(&self.id, &opts)?,
            due_at,
            expires_at: opts.expires_at,
            started_at: None,
            accepted_at: None,
            finished_at: None,
            progress: None,
            result: self.result.clone(),
            error: errors.error,
            attempts: errors.attempts,
            reason: None,
            worker: None,
            token: None,
            lease_until: None,
            is_cancel_requested: false,
            id: self.id.clone(),
        };
        match self.state {
            JobState::Pending | JobState::Scheduled | JobState::Ready => {}
            JobState::Running => self.set_lease(&mut job)?,
            JobState::Succeeded | JobState::Dead | JobState::Cancelled => {
                self.set_end(&mut job)?;
            }
        }
        Ok(job)
    }

    fn set_lease(&self, job: &mut Job) -> Result<()> {
        let missing = || damaged("lease", "missing");
        let lease = StoredLease::read(self.lease.as_deref().ok_or_else(missing)?)?;
        let owner = match &self.owner {
            Some(owner) => Some(owner_of("claim", text("claim", owner)?)?),
            // Its claim is missing; an audit will requeue the job.
            None => None,
        };
        job.token = Some(lease.token);
        job.started_at = Some(lease.token.issued_at());
        job.accepted_at = lease.accepted_at();
        job.worker = owner.as_ref().and_then(boot_of).or(lease.worker);
        job.progress = self.progress.as_deref().map(progress::read).transpose()?;
        job.is_cancel_requested = self.is_stopping;
        Ok(())
    }

    fn set_end(&self, job: &mut Job) -> Result<()> {
        const KIND: &str = "end record";
        let missing = || damaged(KIND, "missing");
        let end = EndRecord::read(self.end.as_deref().ok_or_else(missing)?)?;
        if end.state != self.state {
            return Err(damaged(KIND, "it has another state"));
        }
        job.finished_at = Some(end.finished_at);
        job.started_at = end.started_at;
        job.reason = end.reason;
        Ok(())
    }
}

/// The schedule that enqueued a job: its id starts with the name.
fn schedule_of(id: &JobId, opts: &Opts) -> Result<Option<ScheduleName>> {
    let name = id.as_str().split('@').next().unwrap_or_default();
    let name = opts.is_scheduled.then(|| ScheduleName::new(name));
    name.transpose()
        .map_err(|_| damaged("opts", "no name of a schedule in the id"))
}

/// Decodes opts; an error names the job.
pub(crate) fn opts_of(id: &JobId, text: &[u8]) -> Result<Opts> {
    Opts::read(text).map_err(|error| of_job(id, &error))
}

/// The job as returned by a claim.
pub(crate) fn claimed(id: JobId, payload: Bytes, opts: Opts) -> Result<ClaimedJob> {
    let times = || Ok((created_at(&id, &opts)?, due_at(&id, &opts)?));
    let (created_at, due_at) = times().map_err(|error: Error| of_job(&id, &error))?;
    Ok(ClaimedJob {
        id,
        kind: opts.kind,
        payload,
        headers: opts.headers,
        priority: opts.priority,
        group: opts.group,
        attempt: opts.attempt,
        expiries: opts.expiries,
        retry: opts.retry,
        timeout: opts.timeout,
        created_at,
        due_at,
    })
}

#[cfg(test)]
mod tests {
    use windlass_core::store::{Fraction, Progress, Reason};
    use windlass_core::{BootId, ErrorKind, Timestamp, Token};

    use super::*;

    /// Generated at 1469922850259.
    const ULID: &str = "01arz3ndektsv4rrffq69g5fav";
    const TOKEN: Token = Token {
        number: 5_000_123,
        nonce: 0xbeef,
    };

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn raw(state: JobState) -> RawJob {
        RawJob {
            value: Some(Bytes::from("\npayload")),
            ..RawJob::new(JobId::new(ULID).unwrap(), state)
        }
    }

    fn running() -> RawJob {
        RawJob {
            lease: Some(Bytes::from("5000123-0000beef\t5-7")),
            owner: Some(Bytes::from("b:one")),
            ..raw(JobState::Running)
        }
    }

    fn read(raw: RawJob) -> Result<Job> {
        raw.read(&QueueName::new("mail").unwrap())
    }

    #[test]
    fn a_ready_job_without_opts_has_every_default() {
        let job = read(raw(JobState::Ready)).unwrap();

        assert_eq!(
            (job.created_at, job.due_at),
            (at(1_469_922_850_259), job.created_at)
        );
        assert_eq!((job.attempt, job.expiries, job.is_named), (1, 0, false));
        assert_eq!(job.payload, Some(Bytes::from("payload")));
        assert_eq!((job.started_at, job.token, job.worker), (None, None, None));
    }

    #[test]
    fn a_scheduled_job_is_due_at_its_score() {
        let scheduled = RawJob {
            due: Some(77.0),
            opts: Some(Bytes::from("c5\na2\n")),
            error: Some(Bytes::from("no answer")),
            ..raw(JobState::Scheduled)
        };
        let job = read(scheduled.clone()).unwrap();
        assert_eq!((job.created_at, job.due_at), (at(5), at(77)));
        assert_eq!((job.attempt, job.error.as_deref()), (2, Some("no answer")));

        assert!(
            read(RawJob {
                due: None,
                ..scheduled
            })
            .is_err()
        );
    }

    #[test]
    fn a_running_job_shows_its_claim() {
        let job = read(RawJob {
            progress: Some(Bytes::from("0.5\t5100\thalf")),
            is_stopping: true,
            ..running()
        })
        .unwrap();

        assert_eq!(job.token, Some(TOKEN));
        assert_eq!(
            (job.started_at, job.accepted_at),
            (Some(at(5_000)), Some(at(5_000)))
        );
        assert_eq!(job.worker, BootId::new("one").ok());
        assert!(job.is_cancel_requested);
        let progress = Progress {
            fraction: Fraction::new(0.5).unwrap(),
            message: Some("half".to_owned()),
            at: at(5_100),
        };
        assert_eq!(job.progress, Some(progress));
    }

    #[test]
    fn a_job_of_a_single_claim_shows_the_given_worker_name() {
        let worker = |lease: &'static str| {
            let owner = Some(Bytes::from("t:5000123-0000beef"));
            let lease = Some(Bytes::from(lease));
            let job = read(RawJob {
                lease,
                owner,
                ..running()
            })
            .unwrap();
            (job.worker.map(|boot| boot.to_string()), job.accepted_at)
        };
        assert_eq!(worker("5000123-0000beef\t5-7\td"), (None, None));
        assert_eq!(
            worker("5000123-0000beef\t5-7\t6000\tann"),
            (Some("ann".to_owned()), Some(at(6_000)))
        );
    }

    #[test]
    fn a_finished_job_shows_its_end() {
        let dead = RawJob {
            end: Some(Bytes::from("dead\t9\t8\tpoison")),
            ..raw(JobState::Dead)
        };
        let job = read(dead.clone()).unwrap();
        assert_eq!(
            (job.finished_at, job.started_at, job.reason),
            (Some(at(9)), Some(at(8)), Some(Reason::Poison))
        );
        let state = JobState::Cancelled;
        assert!(read(RawJob { state, ..dead }).is_err());
        assert!(read(raw(JobState::Succeeded)).is_err());
    }

    #[test]
    fn an_error_of_a_damaged_job_contains_its_id() {
        let damaged = [
            RawJob {
                opts: Some(Bytes::from("z\n")),
                ..raw(JobState::Ready)
            },
            RawJob {
                opts: Some(Bytes::from("n\n")),
                ..raw(JobState::Ready)
            },
            RawJob {
                lease: None,
                ..running()
            },
            RawJob {
                owner: Some(Bytes::from("one")),
                ..running()
            },
            RawJob {
                progress: Some(Bytes::from("much")),
                ..running()
            },
            RawJob {
                error: Some(Bytes::from_static(b"\xff")),
                ..raw(JobState::Ready)
            },
        ];
        for raw in damaged {
            let error = read(raw).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StoreDamaged);
            assert!(error.to_string().contains(ULID), "{error}");
        }
    }

    #[test]
    fn a_claimed_job_matches_the_job() {
        let text = Bytes::from("c5\nd7\np2\nkmail\na3\nt1000\nhtrace\t1\n");
        let job = read(RawJob {
            opts: Some(text.clone()),
            ..running()
        })
        .unwrap();

        let opts = opts_of(&job.id, &text).unwrap();
        let claimed_job = claimed(job.id.clone(), Bytes::from("payload"), opts).unwrap();

        assert_eq!(claimed_job, ClaimedJob::from(job));
        assert!(opts_of(&claimed_job.id, b"z").is_err());
    }
}
