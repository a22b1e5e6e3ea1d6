//! A queue on a store with a fixed clock, and jobs that are the same in every run.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::{GroupName, Kind, OnDuplicate, Overlap, Rule, UniqueKey};
use windlass_core::{
    BootId, Claim, ClaimRequest, JobId, JobLease, LeaseTime, ManualClock, NewJob, QueueName,
    Renewal, Schedule, ScheduleName, Store, Timestamp,
};

/// The time of the fixed clock.
const NOW: Timestamp = Timestamp::from_ms(1_700_000_000_000);

/// Delay of scheduled jobs.
pub(crate) const DELAY: Duration = Duration::from_secs(3600);

const LEASE: LeaseTime = LeaseTime::nearest(Duration::from_secs(30));

pub(crate) struct Fixture {
    pub(crate) store: Arc<dyn Store>,
    /// `None`: the clock of the server, and generated ids.
    clock: Option<Arc<ManualClock>>,
    pub(crate) queue: QueueName,
    boot: BootId,
    is_typed: bool,
    /// The number of groups that the jobs are in, in turn; 0 for none.
    groups: u64,
    created: u64,
    claims: u64,
}

/// Returns the clock for the store.
pub(crate) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(NOW))
}

impl Fixture {
    pub(crate) fn new(store: impl Store + 'static, clock: Arc<ManualClock>) -> Self {
        Self {
            clock: Some(clock),
            ..Self::on_server_time(store)
        }
    }

    /// A queue whose store uses the clock of its server.
    pub(crate) fn on_server_time(store: impl Store + 'static) -> Self {
        Self {
            store: Arc::new(store),
            clock: None,
            queue: QueueName::new("mail").unwrap(),
            boot: BootId::generate(),
            is_typed: false,
            groups: 0,
            created: 0,
            claims: 0,
        }
    }

    /// Makes jobs like those of a typed client: with a kind and a header.
    pub(crate) fn typed(mut self) -> Self {
        self.is_typed = true;
        self
    }

    /// Puts jobs into groups, in turn.
    pub(crate) fn in_groups(mut self, groups: u64) -> Self {
        self.groups = groups;
        self
    }

    pub(crate) async fn enqueue(&mut self, jobs: usize, delay: Option<Duration>) {
        let batch = (0..jobs).map(|_| self.job(delay)).collect();
        self.store.enqueue(&self.queue, batch).await.unwrap();
    }

    /// Enqueues delayed jobs with unique keys: with new ones, or with those of the call before, whose jobs they
    /// replace.
    pub(crate) async fn enqueue_keyed(&mut self, jobs: usize, are_keys_new: bool) {
        let first = if are_keys_new { self.created } else { 0 };
        let batch: Vec<_> = (first..)
            .take(jobs)
            .map(|n| {
                let key = UniqueKey::new(format!("key-{n:05}")).unwrap();
                let job = self.job(Some(DELAY)).unique_key(key);
                if are_keys_new {
                    job
                } else {
                    job.on_duplicate(OnDuplicate::Replace)
                }
            })
            .collect();
        self.store.enqueue(&self.queue, batch).await.unwrap();
    }

    /// Enqueues jobs in batches of 100.
    pub(crate) async fn fill(&mut self, jobs: usize, delay: Option<Duration>) {
        for left in (0..jobs).step_by(100) {
            self.enqueue(100.min(jobs - left), delay).await;
        }
    }

    /// Advances the clock until scheduled jobs are due.
    pub(crate) fn outlast_delay(&self) {
        let clock = self.clock.as_ref().expect("a clock to advance");
        clock.advance(DELAY);
    }

    /// Makes due jobs ready by maintenance; a claim does the same.
    pub(crate) async fn promote(&self, jobs: usize) {
        let done = self.store.maintain(&self.queue, jobs).await.unwrap();
        assert_eq!(done.promoted, jobs as u64);
    }

    /// Puts schedules that fire every hour. Their jobs are like the others.
    pub(crate) async fn put_schedules(&mut self, count: usize) {
        let rule = Rule::every(DELAY).unwrap();
        for n in 0..count {
            let name = ScheduleName::new(format!("schedule-{n:05}")).unwrap();
            let mut schedule = Schedule::new(name, rule.clone(), self.job(None));
            schedule.overlap = Overlap::Allow;
            let put = windlass_schedule::put(&*self.store, &self.queue, schedule, None);
            put.await.unwrap();
        }
    }

    /// Fires the due instants of schedules by maintenance; a claim does the same.
    pub(crate) async fn fire(&self, instants: usize) {
        let done = self.store.maintain(&self.queue, instants).await.unwrap();
        assert_eq!(done.instants, instants as u64);
    }

    pub(crate) async fn claim(&mut self, jobs: usize) -> Claim {
        let request = self.request(jobs);
        let claim = self.store.claim(&self.queue, request).await.unwrap();
        full(claim, jobs)
    }

    /// Completes the jobs of a claim and claims as many.
    pub(crate) async fn exchange(&mut self, held: &Claim) -> Claim {
        let jobs = held.jobs.len();
        let completion = |id: &JobId| JobLease::new(id.clone(), held.token).completion();
        let done = held.jobs.iter().map(|job| completion(&job.id)).collect();
        let next = Some(self.request(jobs));
        let reply = self.store.complete(&self.queue, done, next).await;
        full(reply.unwrap().next, jobs)
    }

    pub(crate) async fn renew(&self, held: &[Claim]) {
        let renewal = Renewal::Worker {
            boot: self.boot.clone(),
            tokens: held.iter().map(|claim| claim.token).collect(),
            settled: self.claims,
        };
        let renewed = self.store.renew(&self.queue, renewal, LEASE).await.unwrap();
        assert!(renewed.lost.is_empty() && renewed.until.is_some());
    }

    fn request(&mut self, jobs: usize) -> ClaimRequest {
        self.claims += 1;
        let mut request = ClaimRequest::worker(self.boot.clone(), self.claims, jobs).lease(LEASE);
        // A random nonce would make the size on disk vary by two bytes.
        request.nonce = u32::MAX;
        request
    }

    /// Returns a job whose id looks as if it had been generated now.
    fn job(&mut self, delay: Option<Duration>) -> NewJob {
        self.created += 1;
        let mut job = NewJob::new(vec![b'x'; 100]);
        if self.clock.is_some() {
            job.id = JobId::new(format!("{}{:016}", time_of_id(NOW), self.created)).unwrap();
        }
        if self.is_typed {
            job = job.kind(Kind::new("letter").unwrap());
            job.headers.set("content-type", "application/json").unwrap();
        }
        if let Some(group) = self.created.checked_rem(self.groups) {
            job = job.group(GroupName::new(format!("tenant-{group:07}")).unwrap());
        }
        match delay {
            Some(delay) => job.delay(delay),
            None => job,
        }
    }
}

fn full(claim: Option<Claim>, jobs: usize) -> Claim {
    let claim = claim.expect("jobs are ready");
    assert_eq!(claim.jobs.len(), jobs);
    claim
}

/// Returns the first ten characters of a generated id, which encode its time.
fn time_of_id(time: Timestamp) -> String {
    let letters = b"0123456789abcdefghjkmnpqrstvwxyz";
    let letter = |position: u32| {
        let at = (time.as_ms() >> (5 * position)) % 32;
        char::from(letters[usize::try_from(at).unwrap()])
    };
    (0..10).rev().map(letter).collect()
}
