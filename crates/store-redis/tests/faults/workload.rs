//! Producers and workers as tasks of the test process, and the ledger of the replies they got.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use windlass_chaos::actor::SharedLedger;
use windlass_chaos::event::Event;
use windlass_chaos::invariants::{self, ListedJob, Violation};
use windlass_chaos::ledger::Ledger;
use windlass_chaos::roles::calls::CallTimes;
use windlass_chaos::roles::event_log::EventLog;
use windlass_chaos::roles::stop::Stop;
use windlass_chaos::roles::{ActorContext, drainer, producer, worker};
use windlass_chaos::{listing, payload};
use windlass_core::dump::Dump;
use windlass_core::store::{DurabilityLevel, Repair, Stats};
use windlass_core::{JobId, NewJob, OutcomeStatus, QueueName, Result, Store};
use windlass_testkit::{paging, soundness};

use crate::support::{open, shared, with_options};

/// Timeout of each phase at the end of a run: leases expire, remaining jobs are drained.
const END_MAX: Duration = Duration::from_secs(60);

/// How much longer than its timeout a call may take on a busy machine, which can stall for seconds. A
/// call that hangs takes longer.
const SLACK: Duration = Duration::from_secs(15);

/// One job in this many has the largest payload.
const LARGE_EVERY: usize = 300;

/// The processes of a run and the durability they request.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) url: String,
    pub(crate) queue: QueueName,
    pub(crate) producers: usize,
    /// Half of them use blocking claims.
    pub(crate) workers: usize,
    pub(crate) level: DurabilityLevel,
    pub(crate) bound: Duration,
    pub(crate) may_roll_back: bool,
}

impl Plan {
    /// Two producers and four workers on one queue, with this call timeout.
    pub(crate) fn new(url: &str, queue: &str, timeout: Duration) -> Self {
        Self {
            url: with_options(url, &format!("timeout={}ms", timeout.as_millis())),
            queue: QueueName::new(queue).unwrap(),
            producers: 2,
            workers: 4,
            level: DurabilityLevel::Memory,
            bound: timeout + SLACK,
            may_roll_back: false,
        }
    }

    /// Requests a durability; replies with a lower level do not count as accepted.
    pub(crate) fn durable(mut self, durability: &str, level: DurabilityLevel) -> Self {
        self.url = format!("{}&durability={durability}", self.url);
        self.level = level;
        self
    }

    pub(crate) fn may_roll_back(mut self) -> Self {
        self.may_roll_back = true;
        self
    }
}

/// The running tasks.
pub(crate) struct Workload {
    pub(crate) record: SharedLedger,
    pub(crate) calls: CallTimes,
    plan: Plan,
    stop: Stop,
    tasks: JoinSet<(String, Result<()>)>,
}

impl Workload {
    /// Creates the queue and starts the tasks. Producers share one store, workers another.
    pub(crate) async fn start(plan: Plan) -> Self {
        let mut workload = Self {
            record: SharedLedger::default(),
            calls: CallTimes::within(plan.bound),
            stop: Stop::default(),
            tasks: JoinSet::new(),
            plan,
        };
        let (here, there) = (
            shared(&workload.plan.url).await,
            shared(&workload.plan.url).await,
        );
        let kept = listing::keep_everything(here.as_ref(), &workload.plan.queue);
        kept.await.unwrap();
        for number in 0..workload.plan.producers {
            workload.produce(&here, number);
        }
        for number in 0..workload.plan.workers {
            workload.work(&there, number);
        }
        workload
    }

    fn produce(&mut self, store: &Arc<dyn Store>, number: usize) {
        let name = format!("producer-{number}");
        let scene = self.scene(store, &name);
        let stop = self.stop.clone();
        let arguments = producer::Arguments {
            name: name.clone(),
            seed: fastrand::u64(..),
            large_every: LARGE_EVERY,
            again: Vec::new(),
        };
        self.tasks
            .spawn(async move { (name, producer::run(scene, arguments, &stop).await) });
    }

    fn work(&mut self, store: &Arc<dyn Store>, number: usize) {
        let name = format!("worker-{number}");
        let scene = self.scene(store, &name);
        let stop = self.stop.clone();
        let arguments = worker::Arguments {
            name: name.clone(),
            seed: fastrand::u64(..),
            blocking: number % 2 == 1,
        };
        self.tasks
            .spawn(async move { (name, worker::run(scene, arguments, &stop).await) });
    }

    fn scene(&self, store: &Arc<dyn Store>, name: &str) -> ActorContext {
        let log = EventLog::of_task(&self.record, name);
        ActorContext {
            calls: self.calls.clone(),
            level: self.plan.level,
            may_roll_back: self.plan.may_roll_back,
            ..ActorContext::new(Arc::clone(store), self.plan.queue.clone(), log)
        }
    }

    /// Enqueues `count` jobs.
    pub(crate) async fn preload(&self, count: usize) {
        let store = shared(&self.plan.url).await;
        let log = EventLog::of_task(&self.record, "preloader");
        let ids: Vec<JobId> = (0..count)
            .map(|n| JobId::new(format!("p{n}")).unwrap())
            .collect();
        for page in ids.chunks(500) {
            log.log(Event::Enqueuing(page.to_vec()));
            let job = |id: &JobId| NewJob::new(payload::of(id)).id(id.clone());
            let jobs = page.iter().map(job).collect();
            for reply in store.enqueue(&self.plan.queue, jobs).await.unwrap() {
                log.log(Event::Accepted(reply.id().clone()));
            }
        }
    }

    /// Waits until this many more jobs have been accepted and completed.
    pub(crate) async fn wait_for_jobs(&self, more: usize) {
        let before = progress(&self.record.lock());
        let began = Instant::now();
        loop {
            let now = progress(&self.record.lock());
            if now.0 >= before.0 + more && now.1 >= before.1 + more {
                return;
            }
            let last = || errors(&self.record.lock()).pop();
            assert!(
                began.elapsed() < END_MAX,
                "no progress: {before:?}, then {now:?}; last error {:?}",
                last()
            );
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Stops all tasks, then drains the queue.
    pub(crate) async fn finish(mut self) -> Report {
        self.stop.request();
        let all = async {
            while let Some(joined) = self.tasks.join_next().await {
                let (name, outcome) = joined.unwrap();
                outcome.unwrap_or_else(|error| panic!("{name}: {}: {error}", error.code()));
            }
        };
        timeout(END_MAX, all).await.expect("all tasks stop");
        let store = shared(&self.plan.url).await;
        let scene = self.scene(&store, "drainer");
        timeout(END_MAX, drainer::run(scene))
            .await
            .expect("remaining jobs are drained")
            .unwrap();
        Report::collect(self).await
    }
}

/// Returns the number of jobs accepted and completed.
fn progress(ledger: &Ledger) -> (usize, usize) {
    let count = |matches: fn(&Event) -> bool| {
        let events = ledger.events().filter(|(_, event)| matches(event));
        events.count()
    };
    (
        count(|event| matches!(event, Event::Accepted(_) | Event::Duplicate(_))),
        count(|event| matches!(event, Event::Outcome(OutcomeStatus::Completed, _))),
    )
}

fn errors(ledger: &Ledger) -> Vec<String> {
    let errors = ledger.events().filter_map(|(_, event)| match event {
        Event::StoreError(message) => Some(message.clone()),
        _ => None,
    });
    errors.collect()
}

/// The state at the end of a run.
pub(crate) struct Report {
    pub(crate) ledger: Ledger,
    pub(crate) listing: Vec<ListedJob>,
    pub(crate) stats: Stats,
    pub(crate) calls: CallTimes,
    unsound: Vec<String>,
    repairs: Vec<Repair>,
}

impl Report {
    async fn collect(workload: Workload) -> Self {
        let store = open(&workload.plan.url).await;
        let queue = &workload.plan.queue;
        let dump = store.dump(queue).await.unwrap().unwrap();
        let ledger = workload.record.lock().clone();
        Self {
            ledger,
            listing: listing::of(&store, queue).await.unwrap(),
            stats: store.stats(queue).await.unwrap().unwrap(),
            calls: workload.calls,
            unsound: soundness::problems(&dump),
            repairs: paging::audit(&store, queue).await.unwrap().1,
        }
    }

    /// Returns the violated guarantees that hold without a failover.
    pub(crate) fn violations(&self) -> Vec<Violation> {
        invariants::at_the_end(&self.ledger, &self.listing, &self.stats)
    }

    pub(crate) fn errors(&self) -> Vec<String> {
        errors(&self.ledger)
    }

    /// Asserts all guarantees that hold without a failover.
    #[track_caller]
    pub(crate) fn assert_sound(&self) {
        self.assert_without(&self.violations());
    }

    /// Asserts all guarantees that hold across failovers.
    #[track_caller]
    pub(crate) fn assert_sound_after_failovers(&self) {
        self.assert_without(&invariants::after_failovers(&self.ledger, &self.listing));
    }

    /// Asserts that no call failed.
    #[track_caller]
    pub(crate) fn assert_no_errors(&self) {
        assert_eq!(self.errors(), [""; 0]);
    }

    /// Asserts that calls only failed because the server was unavailable.
    #[track_caller]
    pub(crate) fn assert_only_unavailable(&self) {
        let unavailable = ["outcome_unknown", "store_unreachable", "store_busy"];
        for error in self.errors() {
            let code = error.split(':').next().unwrap();
            assert!(unavailable.contains(&code), "{error}");
        }
    }

    #[track_caller]
    fn assert_without(&self, violations: &[Violation]) {
        invariants::assert_none(violations, "at the end");
        assert_eq!(self.unsound, [""; 0]);
        assert_eq!(self.repairs, []);
        let (accepted, completed) = progress(&self.ledger);
        assert!(accepted > 0 && completed > 0, "no job was processed");
        println!(
            "accepted {accepted}, completed {completed}, errors {}, calls {}, longest {:?}",
            self.errors().len(),
            self.calls.count(),
            self.calls.longest(),
        );
    }
}
