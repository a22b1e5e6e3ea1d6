//! Calls that leave a job in every state and form, with the same ids, times and tokens on every store.

use std::time::Duration;

use windlass_core::store::{
    Fraction, Headers, Kind, LeaseTime, Mode, Retry, RetryPolicy, Setting, UniqueKey,
};
use windlass_core::{
    BootId, Change, Claim, ClaimRequest, Clock, Due, JobId, JobLease, ManualClock, NewJob,
    Priority, QueueName, Store, Target, Timestamp,
};

/// The start of the clock.
pub(crate) const START: Timestamp = Timestamp::from_ms(28_333_334 * 60_000);

/// With the opts of a typed job, the longest payload whose value still has the opts.
const INLINE: usize = 8192 - "kletter\nj\n\n".len();

/// A store and its queue.
pub(crate) struct Caller<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) clock: &'a ManualClock,
    pub(crate) queue: QueueName,
    nonce: u32,
    ids: u64,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(store: &'a dyn Store, clock: &'a ManualClock) -> Self {
        Self {
            store,
            clock,
            queue: QueueName::new("q").unwrap(),
            nonce: 0,
            ids: 0,
        }
    }

    /// A job with an id as if it was generated now.
    fn job(&mut self, payload: impl Into<Vec<u8>>) -> NewJob {
        self.ids += 1;
        let mut job = NewJob::new(payload.into());
        job.id = ulid(self.clock.now_us() / 1000, self.ids);
        job
    }

    /// A job as a typed worker expects it.
    fn typed(&mut self, payload: impl Into<Vec<u8>>) -> NewJob {
        let mut headers = Headers::default();
        headers.set("content-type", "application/json").unwrap();
        let kind = Kind::new("letter").unwrap();
        self.job(payload).kind(kind).headers(headers)
    }

    pub(crate) async fn enqueue(&self, jobs: Vec<NewJob>) {
        self.store.enqueue(&self.queue, jobs).await.unwrap();
    }

    pub(crate) async fn claim(&mut self, mut request: ClaimRequest) -> Option<Claim> {
        self.nonce += 1;
        request.nonce = self.nonce;
        self.store.claim(&self.queue, request).await.unwrap()
    }

    /// A claim of the worker `boot`, which has jobs.
    async fn work(&mut self, boot: &str, max: usize) -> Claim {
        let boot = BootId::new(boot).unwrap();
        let claim = self.claim(ClaimRequest::worker(boot, 1, max)).await;
        claim.expect("jobs are ready")
    }

    async fn change(&self, change: Change, id: &JobId) {
        let target = Target::Ids(vec![id.clone()]);
        let changed = self.store.change(&self.queue, change, &target, None).await;
        changed.unwrap();
    }

    /// Running jobs with every flag, and with something to remove besides their value.
    async fn run_jobs(&mut self) -> Vec<JobLease> {
        let jobs = vec![
            self.job("runs"),
            self.job("runs, with progress"),
            self.job("runs, is asked to stop"),
            self.typed("runs, typed"),
            self.typed("runs, typed, with progress"),
            named("runs-named"),
            self.job("dispatched"),
            self.job("runs alone"),
        ];
        self.enqueue(jobs).await;
        let hour = LeaseTime::new(HOUR).unwrap();
        let boot = BootId::new("works").unwrap();
        let request = ClaimRequest::worker(boot, 1, 6).lease(hour);
        let claim = self.claim(request).await.unwrap();
        let lease = |at: usize| JobLease::new(claim.jobs[at].id.clone(), claim.token);
        for (at, message) in [(1, Some("half".to_owned())), (4, None)] {
            let half = Fraction::new(0.5).unwrap();
            let progress = self.store.progress(&self.queue, lease(at), half, message);
            progress.await.unwrap();
        }
        self.change(Change::Cancel, &claim.jobs[2].id).await;
        let mut leases: Vec<_> = (0..claim.jobs.len()).map(lease).collect();
        for mode in [Mode::Dispatch, Mode::AtLeastOnce] {
            let request = ClaimRequest::single(1).lease(hour).mode(mode);
            let claim = self.claim(request).await.unwrap();
            leases.push(JobLease::new(claim.jobs[0].id.clone(), claim.token));
        }
        leases
    }

    /// Jobs that ended or wait for a retry.
    async fn end_jobs(&mut self) {
        let jobs = vec![
            named("succeeded"),
            named("remembered"),
            self.typed("dead").retry(RetryPolicy::never()),
            self.typed("again"),
            self.job("plain, again"),
        ];
        self.enqueue(jobs).await;
        let claim = self.work("ends", 5).await;
        let lease = |at: usize| JobLease::new(claim.jobs[at].id.clone(), claim.token);
        let completions = vec![
            lease(0).completion().result("result"),
            lease(1).completion(),
        ];
        let completed = self.store.complete(&self.queue, completions, None);
        completed.await.unwrap();
        let later = Retry::At(Due::After(HOUR));
        let failures = vec![
            lease(2).failure("no stamp"),
            lease(3).failure("no ink").retry(later),
            lease(4).failure("no paper").retry(later),
        ];
        self.store.fail(&self.queue, failures).await.unwrap();
    }

    /// Lets two workers die with the same jobs: they are suspects then.
    async fn make_suspects(&mut self) {
        let jobs = vec![self.job("suspect"), self.typed("typed, suspect")];
        self.enqueue(jobs).await;
        for boot in ["dies", "dies-too"] {
            self.work(boot, 2).await;
            self.clock.advance(Duration::from_secs(30));
            self.store.maintain(&self.queue, 100).await.unwrap();
        }
    }

    /// Waiting jobs of every form.
    async fn fill(&mut self) {
        let mut many = Headers::default();
        many.set("a", "1").unwrap();
        many.set("content-type", "application/json").unwrap();
        let key = UniqueKey::new("only one").unwrap();
        let until = RetryPolicy::default().until(Due::After(HOUR));
        let mut jobs = vec![
            self.job("plain"),
            self.typed("typed"),
            self.typed("typed, first")
                .priority(Priority::new(2).unwrap()),
            self.job("plain, last").priority(Priority::new(9).unwrap()),
            named("named"),
            self.typed("typed and named")
                .id(JobId::new("typed-and-named").unwrap()),
            self.job("unique").unique_key(key),
            self.job("with a deadline").retry(until),
            self.job("expires").expires(Due::After(HOUR)),
            self.job("awaited").keep_outcome(),
            self.job("with a timeout")
                .timeout(HOUR)
                .retry(RetryPolicy::fixed(HOUR)),
            self.job("with headers").headers(many),
            self.job(""),
            self.typed(""),
            self.job("\nbegins with a line feed\n\n"),
            self.typed("\n\nbegins with two"),
            self.job("*begins with a star"),
            named("starred"),
            self.job("kletter\n\nlooks like opts"),
            self.job(vec![0, 255, 10, 10, 13]),
            self.typed(vec![b'x'; INLINE]),
            self.typed(vec![b'x'; INLINE + 1]),
            self.job(vec![b'y'; 1024 * 1024]),
            self.typed(vec![b'z'; 1024 * 1024]),
            self.job("later").delay(HOUR),
            self.typed("typed, later").delay(HOUR),
            // Due soon: it becomes ready.
            self.job("due").delay(Duration::from_millis(1)),
            self.typed("typed, due").delay(Duration::from_millis(1)),
        ];
        // So large that they take several pages.
        jobs.extend((b'a'..=b'j').map(|letter| self.job(vec![letter; 1024 * 1024])));
        self.enqueue(jobs).await;
        self.clock.advance(Duration::from_millis(2));
        self.store.maintain(&self.queue, 100).await.unwrap();
    }

    /// Stale entries, one of them of a job that is in the list again.
    async fn leave_stale_entries(&mut self) {
        let (again, cancelled) = (self.job("twice in the list"), named("cancelled"));
        let last = self.typed("typed, last");
        self.enqueue(vec![again.clone(), cancelled.clone(), last])
            .await;
        self.change(Change::Cancel, &cancelled.id).await;
        self.change(Change::Cancel, &again.id).await;
        self.change(Change::Delete, &again.id).await;
        self.enqueue(vec![again]).await;
    }

    /// Runs all of it. Returns the leases of the running jobs.
    pub(crate) async fn run(&mut self) -> Vec<JobLease> {
        let settings = vec![Setting::new("requeue", "back").unwrap()];
        self.store.set(&self.queue, settings).await.unwrap();
        let leases = self.run_jobs().await;
        self.end_jobs().await;
        self.make_suspects().await;
        self.fill().await;
        self.leave_stale_entries().await;
        leases
    }
}

const HOUR: Duration = Duration::from_secs(3600);

fn named(name: &str) -> NewJob {
    NewJob::new(name.to_owned()).id(JobId::new(name).unwrap())
}

/// A ULID of a time, with a number instead of the random part.
fn ulid(ms: u64, number: u64) -> JobId {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let digit = |value: u64, at: usize| {
        char::from(DIGITS[usize::try_from((value >> (5 * at)) % 32).unwrap()])
    };
    let time = (0..10).rev().map(|at| digit(ms, at));
    let rest = (0..16)
        .rev()
        .map(|at| if at < 12 { digit(number, at) } else { '0' });
    JobId::new(time.chain(rest).collect::<String>()).unwrap()
}
