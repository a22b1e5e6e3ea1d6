//! A whole job, put together from what Redis holds of it.

use windlass_core::{Bytes, ClaimedJob, Error, Job, JobId, JobState, QueueName, Result};

use super::claim::{boot_of, owner_of};
use super::lease::StoredHold;
use super::opts::{Opts, created_at, due_at};
use super::outcome::Outcome;
use super::{damaged, of_job, progress, score, text};

/// What Redis holds of one job, as it stands there; only what its state calls for is looked at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RawJob {
    pub(crate) id: JobId,
    pub(crate) state: JobState,
    /// Absent in listings.
    pub(crate) payload: Option<Bytes>,
    /// Absent for a plain job.
    pub(crate) opts: Option<Bytes>,
    /// Of a running job.
    pub(crate) hold: Option<Bytes>,
    /// The owner of a running job's claim: `b:BOOT` or `t:TOKEN`.
    pub(crate) owner: Option<Bytes>,
    /// Of a finished job: its value in `final`.
    pub(crate) outcome: Option<Bytes>,
    /// Of a scheduled job: its score.
    pub(crate) due: Option<f64>,
    pub(crate) error: Option<Bytes>,
    /// Absent in listings.
    pub(crate) result: Option<Bytes>,
    /// Of a running job.
    pub(crate) progress: Option<Bytes>,
    /// A running job was asked to stop.
    pub(crate) is_stopping: bool,
}

impl RawJob {
    /// A job of which nothing but its state is known yet.
    pub(crate) fn new(id: JobId, state: JobState) -> Self {
        Self {
            id,
            state,
            payload: None,
            opts: None,
            hold: None,
            owner: None,
            outcome: None,
            due: None,
            error: None,
            result: None,
            progress: None,
            is_stopping: false,
        }
    }

    /// The job itself.
    pub(crate) fn read(self, queue: &QueueName) -> Result<Job> {
        let id = self.id.clone();
        self.decode(queue).map_err(|error| of_job(&id, &error))
    }

    fn decode(self, queue: &QueueName) -> Result<Job> {
        let opts = Opts::read(self.opts.as_deref().unwrap_or_default())?;
        let error = self
            .error
            .as_deref()
            .map(|error| text("error", error).map(str::to_owned))
            .transpose()?;
        let due_at = match (self.state, self.due) {
            (JobState::Scheduled, Some(due)) => score("due time", due)?,
            (JobState::Scheduled, None) => return Err(damaged("due time", "there is none")),
            _ => due_at(&self.id, &opts)?,
        };
        let mut job = Job {
            queue: queue.clone(),
            state: self.state,
            is_named: opts.is_named,
            kind: opts.kind.clone(),
            priority: opts.priority,
            payload: self.payload.clone(),
            headers: opts.headers.clone(),
            retry: opts.retry,
            timeout: opts.timeout,
            unique_key: opts.unique_key.clone(),
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
            error,
            reason: None,
            worker: None,
            token: None,
            is_cancel_requested: false,
            id: self.id.clone(),
        };
        match self.state {
            JobState::Scheduled | JobState::Ready => {}
            JobState::Running => self.show_hold(&mut job)?,
            JobState::Succeeded | JobState::Dead | JobState::Cancelled => {
                self.show_outcome(&mut job)?;
            }
        }
        Ok(job)
    }

    fn show_hold(&self, job: &mut Job) -> Result<()> {
        let missing = || damaged("hold", "there is none");
        let hold = StoredHold::read(self.hold.as_deref().ok_or_else(missing)?)?;
        let owner = match &self.owner {
            Some(owner) => Some(owner_of("claim", text("claim", owner)?)?),
            // Its claim is gone, and the hold stands alone until the audit takes the job back.
            None => None,
        };
        job.token = Some(hold.token);
        job.started_at = Some(hold.token.issued_at());
        job.accepted_at = hold.accepted_at();
        job.worker = owner.as_ref().and_then(boot_of).or(hold.worker);
        job.progress = self.progress.as_deref().map(progress::read).transpose()?;
        job.is_cancel_requested = self.is_stopping;
        Ok(())
    }

    fn show_outcome(&self, job: &mut Job) -> Result<()> {
        const PART: &str = "end of a job";
        let missing = || damaged(PART, "there is none");
        let outcome = Outcome::read(self.outcome.as_deref().ok_or_else(missing)?)?;
        if outcome.state != self.state {
            return Err(damaged(PART, "it says another state"));
        }
        job.finished_at = Some(outcome.finished_at);
        job.started_at = outcome.started_at;
        job.reason = outcome.reason;
        Ok(())
    }
}

/// The opts of a job, which is named where they are damaged.
pub(crate) fn opts_of(id: &JobId, text: &[u8]) -> Result<Opts> {
    Opts::read(text).map_err(|error| of_job(id, &error))
}

/// A job as a claim hands it out.
pub(crate) fn claimed(id: JobId, payload: Bytes, opts: Opts) -> Result<ClaimedJob> {
    let times = || Ok((created_at(&id, &opts)?, due_at(&id, &opts)?));
    let (created_at, due_at) = times().map_err(|error: Error| of_job(&id, &error))?;
    Ok(ClaimedJob {
        id,
        kind: opts.kind,
        payload,
        headers: opts.headers,
        priority: opts.priority,
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
    use windlass_core::{BootId, ErrorKind, Progress, Reason, Timestamp, Token};

    use super::*;

    /// Made at 1469922850259.
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
            payload: Some(Bytes::from("payload")),
            ..RawJob::new(JobId::new(ULID).unwrap(), state)
        }
    }

    fn running() -> RawJob {
        RawJob {
            hold: Some(Bytes::from("5000123-0000beef\t5-7")),
            owner: Some(Bytes::from("b:one")),
            ..raw(JobState::Running)
        }
    }

    fn read(raw: RawJob) -> Result<Job> {
        raw.read(&QueueName::new("mail").unwrap())
    }

    #[test]
    fn a_plain_ready_job_has_every_default() {
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
            fraction: 0.5,
            message: Some("half".to_owned()),
            at: at(5_100),
        };
        assert_eq!(job.progress, Some(progress));
    }

    #[test]
    fn a_single_claims_job_shows_the_name_that_was_given() {
        let worker = |hold: &'static str| {
            let owner = Some(Bytes::from("t:5000123-0000beef"));
            let hold = Some(Bytes::from(hold));
            let job = read(RawJob {
                hold,
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
            outcome: Some(Bytes::from("dead\t9\t8\tpoison")),
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
    fn a_damaged_job_is_named() {
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
                hold: None,
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
    fn a_claimed_job_is_the_job_in_short() {
        let text = Bytes::from("c5\nd7\np2\nkmail\na3\nt1000\nhtrace\t1\n");
        let job = read(RawJob {
            opts: Some(text.clone()),
            ..running()
        })
        .unwrap();

        let opts = opts_of(&job.id, &text).unwrap();
        let short = claimed(job.id.clone(), Bytes::from("payload"), opts).unwrap();

        assert_eq!(short, ClaimedJob::from(job));
        assert!(opts_of(&short.id, b"z").is_err());
    }
}
