//! The rows of the table of routes.

use windlass_api::request::{
    Accept, Audit, Cancel, Claim, CommandWorker, Complete, Delete, Enqueue, EnqueueAll, Fail,
    FailWorker, Get, Heartbeat, Leave, List, Maintain, Pause, Progress, Promote, Purge, Queues,
    Register, Release, Renew, Resume, Retry, Set, ShowSettings, Snooze, Stats, Wait, Workers,
};

use super::Method::{Delete as DELETE, Get as GET, Post as POST, Put as PUT};
use super::{EVENTS, Handler, Route};
use crate::delayed::{DelayedReply, DelayedRequest};
use crate::events::{EventsRequest, TicketReply};
use crate::handlers::ExportRequest;
use crate::scope::Scope;

/// All routes.
#[rustfmt::skip]
pub(crate) const ROUTES: &[Route] = &[
    // Queues.
    Route::store::<Queues>(GET, "/v1/queues", Scope::Read, "Lists all queues with their stats").handled_by(Handler::Queues),
    Route::queue::<Stats>(GET, "/v1/queues/{queue}", Scope::Read, "Returns the stats of a queue"),
    Route::queue::<ShowSettings>(GET, "/v1/queues/{queue}/settings", Scope::Read, "Returns the settings of a queue"),
    Route::queue::<Set>(PUT, "/v1/queues/{queue}/settings", Scope::Admin, "Updates the settings of a queue"),
    Route::queue::<Pause>(POST, "/v1/queues/{queue}/pause", Scope::Operate, "Pauses a queue: claims return no jobs"),
    Route::queue::<Resume>(POST, "/v1/queues/{queue}/resume", Scope::Operate, "Resumes a paused queue"),
    Route::queue::<Purge>(POST, "/v1/queues/{queue}/purge", Scope::Admin, "Deletes a page of ready and scheduled jobs"),
    Route::queue::<Maintain>(POST, "/v1/queues/{queue}/maintain", Scope::Operate, "Runs maintenance on a page: promotes due jobs, returns jobs with expired leases, prunes finished jobs"),
    Route::queue::<Audit>(POST, "/v1/queues/{queue}/audit", Scope::Admin, "Audits a page of the queue and repairs what is inconsistent"),
    // Enqueueing jobs.
    Route::queue::<Enqueue>(POST, "/v1/queues/{queue}/jobs", Scope::Enqueue, "Enqueues a job").handled_by(Handler::Enqueue),
    Route::queue::<EnqueueAll>(POST, "/v1/queues/{queue}/jobs/batch", Scope::Enqueue, "Enqueues a batch of jobs in one call").handled_by(Handler::Batch),
    Route::other(POST, "/v1/queues/{queue}/jobs/import", Scope::Enqueue, Handler::Import, "import", "Enqueues one job per line of NDJSON and streams one reply line for each"),
    // Reading jobs.
    Route::queue::<List>(GET, "/v1/queues/{queue}/jobs", Scope::Read, "Lists jobs, one page at a time, without payloads and results"),
    Route::other(GET, "/v1/queues/{queue}/jobs/export", Scope::Read, Handler::Export, "export", "Exports all jobs with their payloads, one per line of NDJSON").with_request::<ExportRequest>(),
    Route::queue::<Get>(GET, "/v1/queues/{queue}/jobs/{id}", Scope::Read, "Returns a job with its payload and result"),
    Route::other(GET, "/v1/queues/{queue}/jobs/{id}/payload", Scope::Read, Handler::Payload, "payload", "Returns the payload of a job as raw bytes"),
    Route::other(GET, "/v1/queues/{queue}/jobs/{id}/result", Scope::Read, Handler::Result, "result", "Returns the result of a job as raw bytes"),
    Route::queue::<Wait>(GET, "/v1/queues/{queue}/jobs/{id}/wait", Scope::Read, "Waits until a job has finished, for up to 60 seconds"),
    // Working on jobs.
    Route::queue::<Claim>(POST, "/v1/queues/{queue}/claim", Scope::Work, "Claims ready jobs and leases them to the caller; waits for jobs for up to 60 seconds").handled_by(Handler::Claim),
    Route::queue::<Renew>(POST, "/v1/queues/{queue}/renew", Scope::Work, "Renews the lease of a token"),
    Route::queue::<Complete>(POST, "/v1/queues/{queue}/complete", Scope::Work, "Completes jobs and optionally claims more in the same call").handled_by(Handler::Claim),
    Route::queue::<Fail>(POST, "/v1/queues/{queue}/fail", Scope::Work, "Fails jobs: each is retried later or becomes dead"),
    Route::queue::<Release>(POST, "/v1/queues/{queue}/release", Scope::Work, "Releases jobs to the queue without counting the attempts"),
    Route::queue::<Accept>(POST, "/v1/queues/{queue}/jobs/{id}/accept", Scope::Work, "Accepts a dispatched job"),
    Route::queue::<Progress>(POST, "/v1/queues/{queue}/jobs/{id}/progress", Scope::Work, "Reports the progress of a job; does not renew the lease"),
    Route::queue::<Complete>(POST, "/v1/queues/{queue}/jobs/{id}/complete", Scope::Work, "Completes a job").handled_by(Handler::Claim),
    Route::queue::<Fail>(POST, "/v1/queues/{queue}/jobs/{id}/fail", Scope::Work, "Fails a job: it is retried later or becomes dead"),
    Route::queue::<Release>(POST, "/v1/queues/{queue}/jobs/{id}/release", Scope::Work, "Releases a job to the queue without counting the attempt"),
    Route::queue::<Snooze>(POST, "/v1/queues/{queue}/jobs/{id}/snooze", Scope::Work, "Snoozes a job: runs it later without counting the attempt"),
    // Operating on jobs.
    Route::queue::<Cancel>(POST, "/v1/queues/{queue}/cancel", Scope::Operate, "Cancels jobs; running jobs are asked to stop"),
    Route::queue::<Retry>(POST, "/v1/queues/{queue}/retry", Scope::Operate, "Retries dead jobs"),
    Route::queue::<Delete>(POST, "/v1/queues/{queue}/delete", Scope::Operate, "Deletes finished jobs"),
    Route::queue::<Promote>(POST, "/v1/queues/{queue}/promote", Scope::Operate, "Makes scheduled jobs ready now"),
    Route::queue::<Cancel>(POST, "/v1/queues/{queue}/jobs/{id}/cancel", Scope::Operate, "Cancels a job; a running job is asked to stop"),
    Route::queue::<Retry>(POST, "/v1/queues/{queue}/jobs/{id}/retry", Scope::Operate, "Retries a dead job"),
    Route::queue::<Promote>(POST, "/v1/queues/{queue}/jobs/{id}/promote", Scope::Operate, "Makes a scheduled job ready now"),
    Route::queue::<Delete>(DELETE, "/v1/queues/{queue}/jobs/{id}", Scope::Operate, "Deletes a finished job"),
    // Workers.
    Route::store::<Workers>(GET, "/v1/workers", Scope::Read, "Lists the registered workers").handled_by(Handler::Workers),
    Route::store::<Register>(POST, "/v1/workers", Scope::Work, "Registers a worker").handled_by(Handler::Register),
    Route::store::<Heartbeat>(POST, "/v1/workers/{worker}/heartbeat", Scope::Work, "Records a heartbeat, renews the leases of the worker and returns its next command").handled_by(Handler::Heartbeat),
    Route::store::<Leave>(POST, "/v1/workers/{worker}/leave", Scope::Work, "Unregisters a worker and releases its jobs").handled_by(Handler::Worker),
    Route::store::<FailWorker>(POST, "/v1/workers/{worker}/fail", Scope::Operate, "Declares a worker dead and returns its jobs to their queues now").handled_by(Handler::Worker),
    Route::store::<CommandWorker>(POST, "/v1/workers/{worker}/command", Scope::Operate, "Queues a command for the worker's next heartbeat").handled_by(Handler::Worker),
    // Everything else.
    Route::other(GET, EVENTS, Scope::Read, Handler::Events, "events", "Streams job events as server-sent events").with_request::<EventsRequest>(),
    Route::other(POST, "/v1/events/ticket", Scope::Read, Handler::Ticket, "ticket", "Issues a one-time ticket for an event stream, for browsers").with_reply::<TicketReply>(),
    Route::other(GET, "/metrics", Scope::Read, Handler::Metrics, "metrics", "Returns metrics of all queues and of this server, for Prometheus"),
    Route::other(GET, "/openapi.json", Scope::Any, Handler::OpenApi, "openapi", "Returns this document"),
    Route::other(GET, "/docs", Scope::Any, Handler::Docs, "docs", "Returns a page that lists all routes"),
    Route::other(GET, "/healthz", Scope::Open, Handler::Health, "health", "Returns 200 if the server is running"),
    Route::other(GET, "/readyz", Scope::Open, Handler::Ready, "ready", "Returns 200 if the store is available"),
    Route::other(POST, "/", Scope::Enqueue, Handler::Delayed, "delayed", "Schedules a job for a due time; compatible with the Delayed Queue App").with_request::<DelayedRequest>().with_reply::<DelayedReply>(),
];
