//! Producers and workers as tasks of the test's own process, and the ledger of what they were told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use windlass_chaos::actor::Record;
use windlass_chaos::event::Event;
use windlass_chaos::invariants::{self, Found, Violation};
use windlass_chaos::ledger::Ledger;
use windlass_chaos::roles::calls::Calls;
use windlass_chaos::roles::stop::Stop;
use windlass_chaos::roles::voice::Voice;
use windlass_chaos::roles::{Scene, drainer, producer, worker};
use windlass_chaos::{listing, payload};
use windlass_core::dump::Dump;
use windlass_core::{
    DurabilityLevel, JobId, NewJob, OutcomeStatus, QueueName, Repair, Result, Stats, Store,
};
use windlass_testkit::{paging, soundness};

use crate::support::{open, shared, with_options};

/// How long the end of a run may take: leases end, what is left is drained.
const END_MAX: Duration = Duration::from_secs(60);

/// What a busy machine may need beside the time a call has: it may stand still for seconds. A call
/// that hangs, hangs for longer.
const SLACK: Duration = Duration::from_secs(15);

/// Who works on what, and what is asked of the store.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) url: String,
    pub(crate) queue: QueueName,
    pub(crate) producers: usize,
    /// Half of them wait inside their claims.
    pub(crate) workers: usize,
    pub(crate) level: DurabilityLevel,
    pub(crate) bound: Duration,
    pub(crate) may_roll_back: bool,
}

impl Plan {
    /// Two producers and four workers on one queue, whose calls may take so long.
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

    /// Asks for a durability, and no answer counts that names less.
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

/// The tasks under way.
pub(crate) struct Crew {
    pub(crate) record: Record,
    pub(crate) calls: Calls,
    plan: Plan,
    stop: Stop,
    tasks: JoinSet<(String, Result<()>)>,
}

impl Crew {
    /// Makes the queue and sets everybody to work; producers and workers have a store each.
    pub(crate) async fn start(plan: Plan) -> Self {
        let mut crew = Self {
            record: Record::default(),
            calls: Calls::within(plan.bound),
            stop: Stop::default(),
            tasks: JoinSet::new(),
            plan,
        };
        let (here, there) = (shared(&crew.plan.url).await, shared(&crew.plan.url).await);
        let kept = listing::keep_everything(here.as_ref(), &crew.plan.queue);
        kept.await.unwrap();
        for number in 0..crew.plan.producers {
            crew.produce(&here, number);
        }
        for number in 0..crew.plan.workers {
            crew.work(&there, number);
        }
        crew
    }

    fn produce(&mut self, store: &Arc<dyn Store>, number: usize) {
        let name = format!("producer-{number}");
        let scene = self.scene(store, &name);
        let stop = self.stop.clone();
        let arguments = producer::Arguments {
            name: name.clone(),
            seed: fastrand::u64(..),
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
            parks: number % 2 == 1,
        };
        self.tasks
            .spawn(async move { (name, worker::run(scene, arguments, &stop).await) });
    }

    fn scene(&self, store: &Arc<dyn Store>, name: &str) -> Scene {
        let voice = Voice::of_task(&self.record, name);
        Scene {
            calls: self.calls.clone(),
            level: self.plan.level,
            may_roll_back: self.plan.may_roll_back,
            ..Scene::new(Arc::clone(store), self.plan.queue.clone(), voice)
        }
    }

    /// Enqueues so many jobs before the others get at them.
    pub(crate) async fn preload(&self, count: usize) {
        let store = shared(&self.plan.url).await;
        let voice = Voice::of_task(&self.record, "preloader");
        let ids: Vec<JobId> = (0..count)
            .map(|n| JobId::new(format!("p{n}")).unwrap())
            .collect();
        for page in ids.chunks(500) {
            voice.say(Event::Asking(page.to_vec()));
            let job = |id: &JobId| NewJob::new(payload::of(id)).id(id.clone());
            let jobs = page.iter().map(job).collect();
            for told in store.enqueue(&self.plan.queue, jobs).await.unwrap() {
                voice.say(Event::Accepted(told.id().clone()));
            }
        }
    }

    /// Waits until this many more jobs have been accepted, and as many completed.
    pub(crate) async fn go_on(&self, more: usize) {
        let before = progress(&self.record.ledger());
        let began = Instant::now();
        loop {
            let now = progress(&self.record.ledger());
            if now.0 >= before.0 + more && now.1 >= before.1 + more {
                return;
            }
            let last = || troubles(&self.record.ledger()).pop();
            assert!(
                began.elapsed() < END_MAX,
                "they do not go on: {before:?}, then {now:?}; last trouble {:?}",
                last()
            );
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Stops everybody, and one finishes all that is left.
    pub(crate) async fn finish(mut self) -> Ended {
        self.stop.ask();
        let all = async {
            while let Some(ended) = self.tasks.join_next().await {
                let (name, outcome) = ended.unwrap();
                outcome.unwrap_or_else(|error| panic!("{name}: {}: {error}", error.code()));
            }
        };
        timeout(END_MAX, all).await.expect("all of them stop");
        let store = shared(&self.plan.url).await;
        let scene = self.scene(&store, "drainer");
        timeout(END_MAX, drainer::run(scene))
            .await
            .expect("what is left is drained")
            .unwrap();
        Ended::look(self).await
    }
}

/// How many jobs were accepted, and how many completed.
fn progress(ledger: &Ledger) -> (usize, usize) {
    let count = |is_meant: fn(&Event) -> bool| {
        let events = ledger.events().filter(|(_, event)| is_meant(event));
        events.count()
    };
    (
        count(|event| matches!(event, Event::Accepted(_) | Event::Duplicate(_))),
        count(|event| matches!(event, Event::Told(OutcomeStatus::Completed, _))),
    )
}

fn troubles(ledger: &Ledger) -> Vec<String> {
    let troubles = ledger.events().filter_map(|(_, event)| match event {
        Event::Trouble(what) => Some(what.clone()),
        _ => None,
    });
    troubles.collect()
}

/// What there is when everything has ended.
pub(crate) struct Ended {
    pub(crate) ledger: Ledger,
    pub(crate) listing: Vec<Found>,
    pub(crate) stats: Stats,
    pub(crate) calls: Calls,
    unsound: Vec<String>,
    repairs: Vec<Repair>,
}

impl Ended {
    async fn look(crew: Crew) -> Self {
        let store = open(&crew.plan.url).await;
        let queue = &crew.plan.queue;
        let dump = store.dump(queue).await.unwrap().unwrap();
        let ledger = crew.record.ledger().clone();
        Self {
            ledger,
            listing: listing::of(&store, queue).await.unwrap(),
            stats: store.stats(queue).await.unwrap().unwrap(),
            calls: crew.calls,
            unsound: soundness::problems(&dump),
            repairs: paging::audit(&store, queue).await.unwrap().1,
        }
    }

    /// What is broken of what is promised within one history.
    pub(crate) fn violations(&self) -> Vec<Violation> {
        invariants::at_the_end(&self.ledger, &self.listing, &self.stats)
    }

    pub(crate) fn troubles(&self) -> Vec<String> {
        troubles(&self.ledger)
    }

    /// Everything held that is promised within one history.
    #[track_caller]
    pub(crate) fn assert_sound(&self) {
        self.assert_without(&self.violations());
    }

    /// Everything held that is promised across failovers.
    #[track_caller]
    pub(crate) fn assert_sound_after_failovers(&self) {
        self.assert_without(&invariants::after_failovers(&self.ledger, &self.listing));
    }

    /// Nobody was ever told that the store could not answer.
    #[track_caller]
    pub(crate) fn assert_untroubled(&self) {
        assert_eq!(self.troubles(), [""; 0]);
    }

    /// Nobody was told anything else than that an answer did not come, or that nobody was there.
    #[track_caller]
    pub(crate) fn assert_only_away(&self) {
        let away = ["outcome_unknown", "store_unreachable", "store_busy"];
        for trouble in self.troubles() {
            let code = trouble.split(':').next().unwrap();
            assert!(away.contains(&code), "{trouble}");
        }
    }

    #[track_caller]
    fn assert_without(&self, violations: &[Violation]) {
        invariants::assert_none(violations, "at the end");
        assert_eq!(self.unsound, [""; 0]);
        assert_eq!(self.repairs, []);
        let (accepted, completed) = progress(&self.ledger);
        assert!(accepted > 0 && completed > 0, "nothing was done");
        println!(
            "accepted {accepted}, completed {completed}, troubles {}, calls {}, longest {:?}",
            self.troubles().len(),
            self.calls.count(),
            self.calls.longest(),
        );
    }
}
