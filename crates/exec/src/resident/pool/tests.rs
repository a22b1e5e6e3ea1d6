//! Capacity, exclusive jobs, and replies that are too late.

use super::*;
use crate::sample;

struct Fixture {
    pool: Pool,
    lines: Vec<mpsc::UnboundedReceiver<Outgoing>>,
}

impl Fixture {
    /// Processes with a capacity of two jobs each.
    fn new(processes: usize) -> Self {
        let pool = Pool::new(processes);
        let lines = (0..processes).map(|slot| {
            let (sender, lines) = mpsc::unbounded_channel();
            pool.begin(instance(slot));
            pool.open(instance(slot), &sender, 2);
            lines
        });
        let lines = lines.collect();
        Self { pool, lines }
    }

    fn take(&self, id: &str, is_exclusive: bool) -> Option<Assignment<'_>> {
        take(&mut self.pool.waiting(is_exclusive), id)
    }

    /// Marks all lines as written to the processes.
    fn read_all(&mut self) {
        for lines in &mut self.lines {
            while let Ok(line) = lines.try_recv() {
                line.may_be_seen.unwrap().store(true, Ordering::Release);
            }
        }
    }
}

fn instance(slot: usize) -> InstanceId {
    InstanceId { slot, number: 1 }
}

fn take<'a>(waiting: &mut WaitingJob<'a>, id: &str) -> Option<Assignment<'a>> {
    let mut job = sample::job(b"");
    job.id = windlass_core::JobId::new(id).unwrap();
    let context = sample::context_of(job);
    let log = Arc::new(JobLog::new(context, sample::log_sink()));
    waiting.take(&log, b"line\n")
}

fn attempt(id: &str) -> AttemptRef {
    AttemptRef {
        id: id.to_owned(),
        token: Some("7-0000beef".to_owned()),
    }
}

#[test]
fn a_process_never_has_more_jobs_than_its_capacity() {
    let fixture = Fixture::new(2);
    let assignment: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .filter_map(|id| fixture.take(id, false))
        .collect();
    assert_eq!(assignment.len(), 4);
    assert_eq!(
        (
            fixture.pool.job_count(instance(0)),
            fixture.pool.job_count(instance(1))
        ),
        (2, 2)
    );
    assert!(fixture.take("e", false).is_none());
    fixture
        .pool
        .reply(instance(0), &attempt("a"), Outcome::done())
        .unwrap();
    assert!(fixture.take("e", false).is_some());
}

#[test]
fn a_process_may_ask_for_fewer_jobs_never_for_more() {
    let fixture = Fixture::new(1);
    fixture.pool.lower_capacity(instance(0), 100);
    let first = fixture.take("a", false);
    fixture.pool.lower_capacity(instance(0), 1);
    assert!(first.is_some() && fixture.take("b", false).is_none());
}

#[test]
fn replies_are_matched_by_id_and_token_in_any_order() {
    let fixture = Fixture::new(1);
    let (mut a, mut b) = (
        fixture.take("a", false).unwrap(),
        fixture.take("b", false).unwrap(),
    );
    let foreign = AttemptRef {
        token: Some("8-0000beef".to_owned()),
        ..attempt("a")
    };
    assert!(
        fixture
            .pool
            .reply(instance(0), &foreign, Outcome::done())
            .is_err()
    );
    assert!(
        fixture
            .pool
            .reply(instance(0), &attempt("x"), Outcome::done())
            .is_err()
    );
    fixture
        .pool
        .reply(instance(0), &attempt("b"), Outcome::Release)
        .unwrap();
    let by_id = AttemptRef {
        token: None,
        ..attempt("a")
    };
    fixture
        .pool
        .reply(instance(0), &by_id, Outcome::done())
        .unwrap();
    assert!(
        fixture
            .pool
            .reply(instance(0), &by_id, Outcome::done())
            .is_err(),
        "the second reply"
    );
    assert!(matches!(
        a.end.try_recv(),
        Ok(AttemptEnd::Replied(Outcome::Done(None)))
    ));
    assert!(matches!(
        b.end.try_recv(),
        Ok(AttemptEnd::Replied(Outcome::Release))
    ));
}

#[test]
fn a_late_reply_is_rejected_and_frees_its_capacity() {
    let fixture = Fixture::new(1);
    let (a, _b) = (
        fixture.take("a", false).unwrap(),
        fixture.take("b", false).unwrap(),
    );
    assert!(!a.abandon(), "it has another job");
    drop(a);
    assert!(
        fixture.take("c", false).is_none(),
        "the process still runs it"
    );
    assert!(
        fixture
            .pool
            .reply(instance(0), &attempt("a"), Outcome::done())
            .is_err()
    );
    assert!(fixture.take("c", false).is_some());
}

#[test]
fn a_process_that_runs_only_abandoned_jobs_is_ended() {
    let fixture = Fixture::new(1);
    let (a, b) = (
        fixture.take("a", false).unwrap(),
        fixture.take("b", false).unwrap(),
    );
    assert!(!a.abandon());
    assert!(b.abandon());
}

#[test]
fn a_process_that_is_about_to_be_ended_gets_no_job() {
    let fixture = Fixture::new(1);
    let a = fixture.take("a", false).unwrap();
    assert!(a.abandon(), "it has no other job");
    assert!(fixture.take("b", false).is_none(), "it has free capacity");
    assert!(fixture.take("exclusive", true).is_none());
    // Its late reply frees its capacity, but the process is ended all the same.
    let late = fixture
        .pool
        .reply(instance(0), &attempt("a"), Outcome::done());
    assert!(late.is_err());
    assert!(fixture.take("b", false).is_none());
    assert!(fixture.take("exclusive", true).is_none());
}

#[test]
fn an_exclusive_job_gets_an_idle_process_and_shares_it_with_no_other() {
    let fixture = Fixture::new(1);
    let _a = fixture.take("a", false).unwrap();
    let mut waiting = fixture.pool.waiting(true);
    assert!(take(&mut waiting, "exclusive").is_none());
    assert!(
        fixture.take("b", false).is_none(),
        "the process is reserved for the exclusive job"
    );
    fixture
        .pool
        .reply(instance(0), &attempt("a"), Outcome::done())
        .unwrap();
    let _exclusive = take(&mut waiting, "exclusive").unwrap();
    drop(waiting);
    assert!(fixture.take("b", false).is_none());
    fixture
        .pool
        .reply(instance(0), &attempt("exclusive"), Outcome::done())
        .unwrap();
    assert!(fixture.take("b", false).is_some());
}

#[test]
fn an_exclusive_job_that_stops_waiting_frees_its_reservation() {
    let fixture = Fixture::new(1);
    let _a = fixture.take("a", false).unwrap();
    let mut waiting = fixture.pool.waiting(true);
    assert!(take(&mut waiting, "exclusive").is_none());
    drop(waiting);
    assert!(fixture.take("b", false).is_some());
}

#[test]
fn a_crash_fails_only_jobs_that_the_process_may_have_seen() {
    let mut fixture = Fixture::new(1);
    let mut seen = take(&mut fixture.pool.waiting(false), "seen")
        .map(|assignment| end_without_abandoning(assignment))
        .unwrap();
    fixture.read_all();
    let mut unseen = take(&mut fixture.pool.waiting(false), "unseen")
        .map(|assignment| end_without_abandoning(assignment))
        .unwrap();
    let crashed = |job: &ClosedJob| {
        if !job.may_be_seen {
            return AttemptEnd::Released;
        }
        AttemptEnd::Crashed {
            why: "x".to_owned(),
            was_alone: job.was_alone,
        }
    };
    fixture.pool.close(instance(0), crashed);
    assert!(matches!(
        seen.try_recv(),
        Ok(AttemptEnd::Crashed {
            was_alone: false,
            ..
        })
    ));
    assert!(matches!(unseen.try_recv(), Ok(AttemptEnd::Released)));
    assert!(fixture.take("next", false).is_none(), "no process, no job");
    assert!(
        fixture
            .pool
            .reply(instance(0), &attempt("seen"), Outcome::done())
            .is_err()
    );
}

/// Returns the receiver of the end without abandoning the job.
fn end_without_abandoning(assignment: Assignment<'_>) -> oneshot::Receiver<AttemptEnd> {
    let (_, other) = oneshot::channel();
    let mut assignment = std::mem::ManuallyDrop::new(assignment);
    std::mem::replace(&mut assignment.end, other)
}
