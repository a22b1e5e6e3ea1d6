//! The waiting claims of a queue in this process. One of them leads: it asks the partitions for jobs
//! and waits for wake-ups. The others follow, and cost the servers nothing until it is their turn.
//!
//! They are registered as one waiter in each partition. While a registration lasts, a job that
//! becomes ready leaves a wake-up in the list `wake`, so the partition need not be asked again.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep};
use windlass_core::Error;
use windlass_core::wait::{Deadline, poll_interval};

use super::wake_lists;
use crate::claim::Waiter;
use crate::queue::Queue;

/// How much longer than until it asks again a waiter is registered: a wake-up may be in flight.
const GRACE: Duration = Duration::from_millis(200);

/// A waiter with less time left than this leads only if no other has more: each change of the leader
/// costs a call.
const LEAD_MIN: Duration = Duration::from_millis(450);

/// The waiting claims of a queue that can take the same jobs: all single claims, or those of one boot.
pub(crate) struct Waiters {
    /// The name of their registrations.
    name: String,
    queue: Weak<Queue>,
    state: Mutex<State>,
    /// Wakes the leader of a queue with several partitions.
    signal: Notify,
}

#[derive(Default)]
struct State {
    has_leader: bool,
    /// Whether the leader waits, because no partition has jobs.
    is_parked: bool,
    tickets: u64,
    /// By ticket, so the one that waited longest is first.
    followers: BTreeMap<u64, WaitingFollower>,
    registrations: Vec<Registration>,
    /// Why no wake-ups arrive.
    failure: Option<Error>,
}

struct WaitingFollower {
    deadline: Deadline,
    turn: oneshot::Sender<Turn>,
}

/// What is known about one partition.
#[derive(Default)]
struct Registration {
    /// When to ask the partition again; `None` is now.
    until: Option<Instant>,
    /// When its next scheduled job is due.
    job_due: Option<Instant>,
    /// Whether a wake-up arrived since the partition was last asked.
    is_woken: bool,
    /// Whether a task blocks on its wake-ups.
    is_watched: bool,
}

/// What a follower does next.
pub(crate) enum Turn {
    Lead(Lead),
    /// Claim from this partition: it has more jobs.
    Claim(usize),
    /// The leader got this error.
    Fail(Error),
}

/// How a claim waits.
pub(crate) enum Entered {
    Leader(Lead),
    Follower(Follower),
    /// The leader is asking for jobs: there may be some for this claim too.
    MustAsk,
}

impl Waiters {
    pub(crate) fn new(queue: Weak<Queue>) -> Self {
        Self {
            name: format!("{:016x}", fastrand::u64(..)),
            queue,
            state: Mutex::default(),
            signal: Notify::new(),
        }
    }

    /// Joins the waiters. A claim that joins again keeps its ticket, and so its position.
    pub(crate) fn enter(
        self: &Arc<Self>,
        ticket: &mut Option<u64>,
        deadline: Deadline,
        has_asked: bool,
    ) -> Entered {
        let mut state = self.lock();
        if !state.has_leader {
            state.has_leader = true;
            return Entered::Leader(Lead(Arc::clone(self)));
        }
        if !state.is_parked && !has_asked {
            return Entered::MustAsk;
        }
        let ticket = *ticket.get_or_insert_with(|| {
            state.tickets += 1;
            state.tickets
        });
        let (turn, receiver) = oneshot::channel();
        state
            .followers
            .insert(ticket, WaitingFollower { deadline, turn });
        Entered::Follower(Follower {
            waiters: Arc::clone(self),
            ticket,
            deadline,
            turn: receiver,
        })
    }

    /// Returns the partitions to ask now: woken ones first, then in turn from `first`.
    pub(crate) fn due(&self, first: usize, count: usize) -> Vec<usize> {
        let mut state = self.lock();
        let now = Instant::now();
        let mut due: Vec<usize> = (0..count)
            .map(|at| (first + at) % count)
            .filter(|number| state.registration(*number).time_left(now).is_zero())
            .collect();
        due.sort_by_key(|number| !state.registrations[*number].is_woken);
        due
    }

    /// Returns the time until a partition must be asked.
    pub(crate) fn time_left(&self, count: usize) -> Duration {
        let mut state = self.lock();
        let now = Instant::now();
        let all = (0..count).map(|number| state.registration(number).time_left(now));
        all.min().unwrap_or_default()
    }

    /// Returns the time until the registration must be renewed, and until the next job is due.
    pub(crate) fn registered_for(&self, number: usize) -> (Duration, Option<Duration>) {
        let mut state = self.lock();
        let (now, registration) = (Instant::now(), state.registration(number));
        let left = |at: Instant| at.saturating_duration_since(now);
        (
            registration.until.map(left).unwrap_or_default(),
            registration.job_due.map(left),
        )
    }

    /// Returns what to register in one of `count` partitions. If others ask that partition soon, it is
    /// for so long that all partitions together are asked as often as a single one would be.
    pub(crate) fn waiter(&self, count: usize) -> Waiter<'_> {
        let short = poll_interval();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Waiter {
            name: &self.name,
            short: short + GRACE,
            long: short * count + GRACE,
        }
    }

    /// A claim is being sent to a partition. Until its reply arrives, nothing is known about it.
    pub(crate) fn asking(&self, number: usize) {
        let mut state = self.lock();
        let registration = state.registration(number);
        registration.until = None;
        registration.is_woken = false;
    }

    /// A claim found nothing and registered in a partition. It could not if there is no such queue.
    pub(crate) fn registered(
        &self,
        number: usize,
        registered_for: Option<Duration>,
        next_due: Option<Duration>,
    ) {
        let pause = registered_for.map_or_else(poll_interval, |time| time.saturating_sub(GRACE));
        let mut state = self.lock();
        let (now, registration) = (Instant::now(), state.registration(number));
        registration.until = Some(now + pause);
        registration.job_due = next_due.map(|due| now + due);
    }

    /// Lets the first follower claim from this partition.
    pub(crate) fn wake_follower(&self, number: usize) {
        let mut state = self.lock();
        if let Some((_, follower)) = state.followers.pop_first() {
            // If it has just left, the wake-up that the claim left in the list wakes another.
            let _ = follower.turn.send(Turn::Claim(number));
        }
    }

    /// Ends the wait of all followers.
    pub(crate) fn fail_followers(&self, error: &Error) {
        for (_, follower) in take(&mut self.lock().followers) {
            let _ = follower.turn.send(Turn::Fail(error.clone()));
        }
    }

    /// Sets whether the leader waits, because no partition has jobs.
    pub(crate) fn set_parked(&self, is_parked: bool) {
        self.lock().is_parked = is_parked;
    }

    /// Waits for a wake-up, at most for `limit`.
    pub(crate) async fn wait(&self, limit: Duration) {
        let _ = tokio::time::timeout(limit, self.signal.notified()).await;
    }

    /// Returns the error that ended a wait for wake-ups.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.lock().failure.take()
    }

    /// Returns the partitions whose wake-ups no task blocks on, and marks them.
    pub(super) fn start_watching(&self, count: usize) -> Vec<usize> {
        let mut state = self.lock();
        let is_new =
            |number: &usize| !std::mem::replace(&mut state.registration(*number).is_watched, true);
        (0..count).filter(is_new).collect()
    }

    /// Returns whether a task that blocks on these partitions should end, because nobody waits.
    pub(super) fn stop_watching(&self, numbers: &[usize]) -> bool {
        let mut state = self.lock();
        if !state.has_leader {
            state.forget_watch(numbers);
        }
        !state.has_leader
    }

    /// A wake-up arrived. Returns whether somebody waits for it.
    pub(super) fn woken(&self, number: usize) -> bool {
        let mut state = self.lock();
        if state.has_leader {
            let registration = state.registration(number);
            registration.until = None;
            registration.is_woken = true;
            self.signal.notify_one();
        }
        state.has_leader
    }

    /// Wake-ups of these partitions may be lost: they must be asked.
    pub(super) fn forget(&self, numbers: &[usize]) {
        let mut state = self.lock();
        for number in numbers {
            state.registration(*number).until = None;
        }
        self.signal.notify_one();
    }

    /// A task cannot block on the wake-ups of these partitions.
    pub(super) fn fail_watch(&self, numbers: &[usize], error: Error) {
        let mut state = self.lock();
        state.forget_watch(numbers);
        state.failure = state.has_leader.then_some(error);
        self.signal.notify_one();
    }

    /// Passes the lead to the next follower. If nobody is left, other processes get the wake-ups that
    /// nobody has used.
    fn pass_lead(self: &Arc<Self>) {
        let (next, unused) = {
            let mut state = self.lock();
            state.is_parked = false;
            let next = state.next_leader();
            state.has_leader = next.is_some();
            let unused = if state.has_leader {
                Vec::new()
            } else {
                state.unused_wake_ups()
            };
            (next, unused)
        };
        if let Some(next) = next {
            // If it has just left, dropping the lead passes it on again.
            let _ = next.turn.send(Turn::Lead(Lead(Arc::clone(self))));
        }
        if !unused.is_empty() {
            wake_lists::put_back(self.queue.clone(), unused);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn registration(&mut self, number: usize) -> &mut Registration {
        if self.registrations.len() <= number {
            self.registrations
                .resize_with(number + 1, Registration::default);
        }
        &mut self.registrations[number]
    }

    /// Takes the first follower that has enough time left, or else the one with the most.
    fn next_leader(&mut self) -> Option<WaitingFollower> {
        let left = |follower: &WaitingFollower| follower.deadline.clamp(Duration::MAX);
        let mut all = self.followers.iter();
        let enough = all.find(|(_, follower)| left(follower) >= LEAD_MIN);
        let most = || {
            let all = self.followers.iter();
            all.max_by_key(|(_, follower)| left(follower))
        };
        let ticket = *enough.or_else(most)?.0;
        self.followers.remove(&ticket)
    }

    fn unused_wake_ups(&mut self) -> Vec<usize> {
        self.failure = None;
        let all = self.registrations.iter_mut().enumerate();
        all.filter_map(|(number, registration)| take(&mut registration.is_woken).then_some(number))
            .collect()
    }

    fn forget_watch(&mut self, numbers: &[usize]) {
        for number in numbers {
            self.registration(*number).is_watched = false;
        }
    }
}

impl Registration {
    /// The time until the partition must be asked.
    fn time_left(&self, now: Instant) -> Duration {
        let until = self.until.map(|until| match self.job_due {
            Some(due) => until.min(due),
            None => until,
        });
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }
}

/// The lead. Dropping it passes it to the next follower.
pub(crate) struct Lead(Arc<Waiters>);

impl Drop for Lead {
    fn drop(&mut self) {
        self.0.pass_lead();
    }
}

/// A claim that waits for its turn.
pub(crate) struct Follower {
    waiters: Arc<Waiters>,
    ticket: u64,
    deadline: Deadline,
    turn: oneshot::Receiver<Turn>,
}

impl Follower {
    /// Waits for its turn; returns `None` if its time is over first.
    pub(crate) async fn turn(&mut self) -> Option<Turn> {
        let left = self.deadline.clamp(Duration::MAX);
        tokio::select! {
            biased;
            turn = &mut self.turn => turn.ok(),
            () = sleep(left) => None,
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.waiters.lock().followers.remove(&self.ticket);
    }
}
