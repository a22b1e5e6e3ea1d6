//! Every store operation, called so that it touches as many keys as possible.

use std::pin::Pin;

use windlass_core::store::{
    Fingerprint, Fraction, Heartbeat, OnDuplicate, Retry, Run, ScheduleChange, UniqueKey,
    WorkerCommand,
};
use windlass_core::{
    BootId, Change, ClaimRequest, Due, Filter, JobLease, JobState, LeaseTime, Mode, NewJob,
    Priority, Renewal, Result, Store, Target, Timestamp,
};
use windlass_store_redis::RedisStore;
use windlass_testkit::fixture::{id, lease_of, leases_of, schedule_name};
use windlass_testkit::paging;

use crate::fixture::{Fixture, HOUR, LEASE, job, worker};
use crate::schedules::{changed, later, schedule};

/// One operation.
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    /// It runs several scripts, each of which is atomic.
    pub(crate) is_several: bool,
    call: Call,
}

type Calling<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;
type Call = for<'a> fn(&'a RedisStore, &'a Fixture) -> Calling<'a>;

impl Verb {
    pub(crate) async fn call(&self, store: &RedisStore, fixture: &Fixture) -> Result<()> {
        (self.call)(store, fixture).await
    }
}

fn renewal(fixture: &Fixture) -> Renewal {
    Renewal::Worker {
        boot: fixture.boot.clone(),
        tokens: Vec::new(),
        settled: 9,
    }
}

fn request(fixture: &Fixture, seq: u64) -> ClaimRequest {
    let mut request = ClaimRequest::worker(fixture.boot.clone(), seq, 100);
    request.nonce = 9;
    request
}

fn alone(max: usize, mode: Mode) -> ClaimRequest {
    let mut request = ClaimRequest::single(max).mode(mode);
    request.nonce = 9;
    request
}

fn of(state: JobState) -> Target {
    Target::Filter(Filter {
        state: Some(state),
        ..Filter::default()
    })
}

/// A batch with jobs of every kind.
fn batch() -> Vec<NewJob> {
    vec![
        job("new")
            .id(id("new-1"))
            .priority(Priority::new(3).unwrap()),
        job("new").id(id("new-2")).delay(HOUR),
        job("new").id(id("new-3")).expires(Due::After(HOUR)),
        job("new")
            .id(id("new-4"))
            .unique_key(UniqueKey::new("new").unwrap()),
        job("new")
            .id(id("new-5"))
            .unique_key(UniqueKey::new("key").unwrap()),
        job("new").id(id("held-1")).keep_outcome(),
        job("new").id(id("old")),
        job("new").id(id("stale")),
    ]
}

/// A batch that replaces, postpones and stores jobs.
fn amendments() -> Vec<NewJob> {
    let both = OnDuplicate::ReplaceAndPostpone;
    let amending = |name: &str| job("amended").id(id(name)).on_duplicate(both);
    vec![
        amending("new-1").priority(Priority::new(3).unwrap()),
        amending("new-2")
            .unique_key(UniqueKey::new("key").unwrap())
            .priority(Priority::new(7).unwrap())
            .expires(Due::After(HOUR)),
        amending("stale").delay(HOUR),
        amending("new-3").unique_key(UniqueKey::new("new").unwrap()),
        amending("old"),
    ]
}

macro_rules! verbs {
    ($($name:literal $($several:ident)?: |$store:ident, $w:ident| $call:expr;)+) => {
        /// All of them.
        pub(crate) fn all() -> Vec<Verb> {
            vec![$(Verb {
                name: $name,
                is_several: stringify!($($several)?) == "several",
                call: |$store, $w| Box::pin(async move { $call.await.map(drop) }),
            },)+]
        }
    };
}

verbs! {
    "enqueue": |s, w| s.enqueue(&w.q, batch());
    "enqueue fast path": |s, w| s.enqueue(&w.q, vec![job("plain").id(id("plain"))]);
    "amend": |s, w| s.enqueue(&w.q, amendments());
    "enqueue nothing": |s, w| s.enqueue(&w.q, Vec::new());
    "claim": |s, w| s.claim(&w.q, request(w, 2));
    "claim again": |s, w| s.claim(&w.q, request(w, 1));
    "claim single": |s, w| s.claim(&w.q, alone(100, Mode::AtLeastOnce));
    "claim at most once": |s, w| s.claim(&w.q, alone(100, Mode::AtMostOnce));
    "claim dispatch": |s, w| s.claim(&w.q, alone(1, Mode::Dispatch));
    "accept": |s, w| s.accept(&w.q, lease_of(&w.offered, 0), LEASE);
    "renew": |s, w| s.renew(&w.q, renewal(w), LeaseTime::nearest(2 * HOUR));
    "renew single": |s, w| s.renew(&w.q, Renewal::Single { token: w.single.token }, LeaseTime::nearest(2 * HOUR));
    "progress": |s, w| s.progress(&w.q, lease_of(&w.held, 1), Fraction::new(0.7)?, None);
    "complete": |s, w| s.complete(&w.q, leases_of(&w.held).into_iter().map(|lease| lease.completion().result("r")).collect(), None);
    "complete fast path": |s, w| s.complete(&w.q, leases_of(&w.single).into_iter().map(JobLease::completion).collect(), None);
    "complete and claim": |s, w| s.complete(&w.q, leases_of(&w.held).into_iter().map(JobLease::completion).collect(), Some(request(w, 2)));
    "fail": |s, w| s.fail(&w.q, leases_of(&w.held).into_iter().map(|lease| lease.failure("no").retry(Retry::At(Due::Now))).collect());
    "fail for good": |s, w| s.fail(&w.q, leases_of(&w.held).into_iter().map(|lease| lease.failure("no").retry(Retry::Permanent)).collect());
    "errors": |s, w| s.error_groups(&w.q);
    "clear error": |s, w| s.clear_error_group(&w.q, Fingerprint::of(None, "no"));
    "release": |s, w| s.release(&w.q, leases_of(&w.held));
    "snooze": |s, w| s.snooze(&w.q, leases_of(&w.held).into_iter().map(|lease| lease.snooze(Due::After(HOUR))).collect());
    "cancel": |s, w| s.change(&w.q, Change::Cancel, &Target::Filter(Filter::default()), None);
    "cancel by key": |s, w| s.change(&w.q, Change::Cancel, &Target::UniqueKey(UniqueKey::new("key")?), None);
    "cancel by payload": |s, w| s.change(&w.q, Change::Cancel, &Target::Payload("ready".into()), None);
    "retry": |s, w| s.change(&w.q, Change::Retry, &of(JobState::Dead), None);
    "delete": |s, w| s.change(&w.q, Change::Delete, &Target::Ids(vec![id("result"), id("fails"), id("fades"), id("old")]), None);
    "promote": |s, w| s.change(&w.q, Change::Promote, &of(JobState::Scheduled), None);
    "purge": |s, w| s.purge(&w.q);
    "delete queue": |s, w| s.delete_queue(&w.q);
    "maintain": |s, w| s.maintain(&w.q, 500);
    "audit": |s, w| paging::audit(s, &w.q);
    "pause": |s, w| s.set_paused(&w.q, true);
    "resume": |s, w| s.set_paused(&w.q, false);
    "settings": |s, w| s.settings(&w.q);
    "set" several: |s, w| s.set(&w.q, vec!["requeue=back".parse()?]);
    "queues": |s, _w| s.queues();
    "stats": |s, w| s.stats(&w.q);
    "history": |s, w| s.history(&w.q, 60);
    "get": |s, w| s.get(&w.q, &w.held.jobs[0].id);
    "explain": |s, w| s.explain(&w.q, &w.held.jobs[0].id);
    "explain a waiting job" several: |s, w| s.explain(&w.q, &id("ready-0"));
    "list": |s, w| s.list(&w.q, &Filter::default(), None, 500);
    "put schedule": |s, w| s.put_schedule(&w.q, schedule("new"), Some(true));
    "put schedule again": |s, w| s.put_schedule(&w.q, changed(), Some(true));
    "refill schedules": |s, w| s.refill_schedules(&w.q, vec![later(&w.refill)]);
    "run schedule": |s, w| s.run_schedule(&w.q, &schedule_name("due"), Run::Now { nonce: "9".to_owned(), is_forced: false });
    "run instants": |s, w| s.run_schedule(&w.q, &schedule_name("due"), Run::Instants(vec![Timestamp::from_ms(1000), Timestamp::from_ms(2000)]));
    "pause schedule": |s, w| s.change_schedule(&w.q, &schedule_name("due"), ScheduleChange::Pause);
    "delete schedule": |s, w| s.change_schedule(&w.q, &schedule_name("due"), ScheduleChange::Delete);
    "schedule": |s, w| s.schedule(&w.q, &schedule_name("due"));
    "schedules": |s, w| s.schedules(&w.q, None, 100);
    "register" several: |s, w| s.register(worker(&BootId::new("newcomer")?, &w.q));
    "heartbeat": |s, w| s.heartbeat(Heartbeat { boot: w.boot.clone(), running: vec![(w.q.clone(), id("held-0"))] });
    "leave" several: |s, w| s.leave(&w.boot, None);
    "leave one queue" several: |s, w| s.leave(&w.boot, Some(&w.q));
    "fail worker" several: |s, w| s.fail_worker(&w.expired);
    "command": |s, w| s.command(&w.boot, WorkerCommand::Pause);
    "workers": |s, _w| s.workers();
    "watch": |s, w| s.watch(std::slice::from_ref(&w.q));
}
