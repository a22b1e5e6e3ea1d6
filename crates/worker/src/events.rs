//! The events that a worker logs with `tracing`: target `windlass`, one function per event. Names and
//! fields are stable. What happens per job is logged at level debug, so that it costs nothing by default.

use std::time::Duration;

use windlass_core::store::{ClaimedJob, Failure, Retry};
use windlass_core::{
    BootId, Clock, Due, Error, ErrorKind, OutcomeStatus, QueueName, SystemClock, Timestamp,
};

use crate::queue_state::QueueState;
use crate::run::attempt::Attempt;
use crate::shared::Shared;
use crate::summary::Summary;

/// The most characters of an error; the rest is stored with the job.
const ERROR_CHARS_MAX: usize = 300;

pub(crate) fn worker_started(shared: &Shared) {
    let queues: Vec<_> = shared
        .queues
        .iter()
        .map(|queue| queue.name().as_str())
        .collect();
    tracing::info!(
        name: "worker_started",
        target: "windlass",
        version = env!("CARGO_PKG_VERSION"),
        store = shared.connections.outage().store(),
        queues = queues.join(","),
        concurrency = shared.options.concurrency,
        "worker started"
    );
}

/// A command of the store pauses the worker or lets it continue.
pub(crate) fn worker_paused(is_paused: bool) {
    let what = if is_paused { "paused" } else { "resumed" };
    tracing::info!(name: "worker_paused", target: "windlass", paused = is_paused, "worker {what} by a command");
}

pub(crate) fn worker_reregistered(boot: &BootId) {
    tracing::warn!(
        name: "worker_reregistered",
        target: "windlass",
        %boot,
        "the store considers this worker dead (missed heartbeats, or marked as failed) and has requeued its jobs; continuing under a new boot id"
    );
}

/// The worker claims no more jobs and finishes those that run.
pub(crate) fn worker_draining(shared: &Shared) {
    let running: usize = shared
        .queues
        .iter()
        .map(|queue| queue.unfinished().len())
        .sum();
    if running > 0 {
        let grace_ms = ms(shared.options.grace);
        tracing::info!(name: "worker_draining", target: "windlass", running, grace_ms, "worker draining");
    }
}

pub(crate) fn worker_stopped(summary: &Summary) {
    tracing::info!(
        name: "worker_stopped",
        target: "windlass",
        succeeded = summary.succeeded,
        failed = summary.failed,
        dead = summary.dead,
        released = summary.released,
        snoozed = summary.snoozed,
        cancelled = summary.cancelled,
        lost = summary.lost,
        "worker stopped"
    );
}

/// An error that retrying cannot fix; `run` returns it.
pub(crate) fn worker_failed(error: &Error) {
    tracing::error!(
        name: "worker_failed",
        target: "windlass",
        code = error.code(),
        help = error.help(),
        error = %error,
        "worker failed"
    );
}

pub(crate) fn store_lost(store: Option<&str>, error: &Error) {
    let (verb, help) = match error.kind() {
        ErrorKind::StoreUnreachable => ("reach", Some(error.help())),
        // The help says to repeat the call, as the worker does.
        ErrorKind::OutcomeUnknown => ("reach", None),
        _ => ("use", Some(error.help())),
    };
    tracing::warn!(
        name: "store_lost",
        target: "windlass",
        store,
        code = error.code(),
        help,
        error = %error,
        "cannot {verb} the store, retrying"
    );
}

pub(crate) fn store_back(store: Option<&str>, away: Duration) {
    let away_ms = ms(away);
    tracing::info!(name: "store_back", target: "windlass", store, away_ms, "the store is back");
}

pub(crate) fn job_started(queue: &QueueName, job: &ClaimedJob) {
    tracing::debug!(
        name: "job_started",
        target: "windlass",
        %queue,
        id = %job.id,
        kind = kind(job),
        attempt = job.attempt,
        "job started"
    );
}

/// The store has the outcome of an attempt. Failed ones are logged by [`attempt_failed`].
pub(crate) fn attempt_ended(queue: &QueueState, attempt: &Attempt, status: OutcomeStatus) {
    let what = match status {
        OutcomeStatus::Completed => "succeeded",
        OutcomeStatus::Released => "released",
        OutcomeStatus::Snoozed => "snoozed",
        OutcomeStatus::Cancelled => "cancelled",
        OutcomeStatus::Retrying | OutcomeStatus::Dead => return,
        OutcomeStatus::LeaseLost | OutcomeStatus::Gone => {
            return lease_lost(
                queue,
                attempt,
                "the outcome arrived too late and was ignored",
            );
        }
    };
    let job = &attempt.job;
    tracing::debug!(
        name: "job_ended",
        target: "windlass",
        queue = %queue.name(),
        id = %job.id,
        kind = kind(job),
        attempt = job.attempt,
        outcome = status.as_str(),
        took_ms = attempt.took().map(ms),
        "job {what}"
    );
}

pub(crate) fn lease_lost(queue: &QueueState, attempt: &Attempt, consequence: &str) {
    tracing::warn!(
        name: "lease_lost",
        target: "windlass",
        queue = %queue.name(),
        id = %attempt.job.id,
        attempt = attempt.job.attempt,
        token = %attempt.token,
        "lease lost: {consequence}"
    );
}

/// The store has the error of an attempt, and retries the job or not.
pub(crate) fn attempt_failed(
    queue: &QueueState,
    job: &ClaimedJob,
    failure: &Failure,
    status: OutcomeStatus,
) {
    match status {
        OutcomeStatus::Retrying => {
            tracing::warn!(
                name: "attempt_failed",
                target: "windlass",
                queue = %queue.name(),
                id = %job.id,
                kind = kind(job),
                attempt = job.attempt,
                max_attempts = job.retry.max_attempts,
                error = first_line(&failure.error),
                retry_in_ms = ms(delay(job, failure.retry)),
                "attempt failed"
            );
        }
        OutcomeStatus::Dead => job_dead(queue, job, &failure.error),
        _ => {}
    }
}

/// An attempt failed, and it was the last one.
pub(crate) fn job_dead(queue: &QueueState, job: &ClaimedJob, error: &str) {
    tracing::error!(
        name: "job_dead",
        target: "windlass",
        queue = %queue.name(),
        id = %job.id,
        kind = kind(job),
        attempt = job.attempt,
        max_attempts = job.retry.max_attempts,
        error = first_line(error),
        "job is dead"
    );
}

/// The store did not accept outcomes, and repeating them does not help: the jobs run again.
pub(crate) fn outcomes_rejected(queue: &QueueState, jobs: usize, error: &Error) {
    tracing::warn!(
        name: "outcomes_rejected",
        target: "windlass",
        queue = %queue.name(),
        jobs,
        code = error.code(),
        help = error.help(),
        error = %error,
        "cannot store outcomes"
    );
}

/// The worker could not deregister when it stopped.
pub(crate) fn worker_not_deregistered(error: &Error) {
    tracing::warn!(
        name: "worker_not_deregistered",
        target: "windlass",
        code = error.code(),
        help = error.help(),
        error = %error,
        "cannot deregister the worker; its jobs return to their queues when their leases expire"
    );
}

fn kind(job: &ClaimedJob) -> Option<&str> {
    job.kind.as_ref().map(|kind| kind.as_str())
}

/// How long until the next attempt, computed as the store does.
fn delay(job: &ClaimedJob, retry: Retry) -> Duration {
    match retry {
        Retry::ByPolicy(jitter) => job.retry.delay(job.attempt, jitter),
        Retry::At(Due::After(delay)) => delay,
        Retry::At(Due::At(time)) => time.since(Timestamp::from_ms(SystemClock.now_us() / 1000)),
        Retry::At(Due::Now) | Retry::Permanent => Duration::ZERO,
    }
}

fn first_line(error: &str) -> &str {
    let line = error
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    let end = line.char_indices().nth(ERROR_CHARS_MAX);
    end.map_or(line, |(end, _)| &line[..end])
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
