//! The rows of the table.

use windlass_api::request::{
    Accept, Audit, Cancel, Claim, CommandWorker, Complete, Delete, Enqueue, EnqueueAll, Fail,
    FailWorker, Get, Heartbeat, Leave, List, Maintain, Pause, Progress, Promote, Purge, Queues,
    Register, Release, Renew, Resume, Retry, Set, ShowSettings, Snooze, Stats, Wait, Workers,
};

use super::Method::{Delete as DELETE, Get as GET, Post as POST, Put as PUT};
use super::{EVENTS, Route, Way};
use crate::delayed::{DelayedReply, DelayedRequest};
use crate::events::TicketReply;
use crate::scope::Scope;

/// All routes.
#[rustfmt::skip]
pub(crate) const ROUTES: &[Route] = &[
    // Queues.
    Route::store::<Queues>(GET, "/v1/queues", Scope::Read, "The figures of all queues").by(Way::Queues),
    Route::queue::<Stats>(GET, "/v1/queues/{queue}", Scope::Read, "The figures of a queue"),
    Route::queue::<ShowSettings>(GET, "/v1/queues/{queue}/settings", Scope::Read, "The settings of a queue"),
    Route::queue::<Set>(PUT, "/v1/queues/{queue}/settings", Scope::Admin, "Change settings of a queue"),
    Route::queue::<Pause>(POST, "/v1/queues/{queue}/pause", Scope::Operate, "Stop answering claims"),
    Route::queue::<Resume>(POST, "/v1/queues/{queue}/resume", Scope::Operate, "Answer claims again"),
    Route::queue::<Purge>(POST, "/v1/queues/{queue}/purge", Scope::Admin, "Remove a page of ready and scheduled jobs"),
    Route::queue::<Maintain>(POST, "/v1/queues/{queue}/maintain", Scope::Operate, "Promote, reap and prune a page now"),
    Route::queue::<Audit>(POST, "/v1/queues/{queue}/audit", Scope::Admin, "Check and repair a page of the queue"),
    // Putting jobs in.
    Route::queue::<Enqueue>(POST, "/v1/queues/{queue}/jobs", Scope::Enqueue, "Enqueue a job").by(Way::Enqueue),
    Route::queue::<EnqueueAll>(POST, "/v1/queues/{queue}/jobs/batch", Scope::Enqueue, "Enqueue many jobs in one step").by(Way::Batch),
    Route::other(POST, "/v1/queues/{queue}/jobs/import", Scope::Enqueue, Way::Import, "import", "Enqueue a job per line of NDJSON; a line of answer for each"),
    // Looking at jobs.
    Route::queue::<List>(GET, "/v1/queues/{queue}/jobs", Scope::Read, "A page of jobs, without payloads and results"),
    Route::other(GET, "/v1/queues/{queue}/jobs/export", Scope::Read, Way::Export, "export", "All jobs with their payloads, one per line of NDJSON").asked::<ExportRequest>(),
    Route::queue::<Get>(GET, "/v1/queues/{queue}/jobs/{id}", Scope::Read, "Everything known of a job"),
    Route::other(GET, "/v1/queues/{queue}/jobs/{id}/payload", Scope::Read, Way::Payload, "payload", "The payload, byte for byte"),
    Route::other(GET, "/v1/queues/{queue}/jobs/{id}/result", Scope::Read, Way::Result, "result", "The result, byte for byte"),
    Route::queue::<Wait>(GET, "/v1/queues/{queue}/jobs/{id}/wait", Scope::Read, "Wait until a job has ended, up to a minute"),
    // Working.
    Route::queue::<Claim>(POST, "/v1/queues/{queue}/claim", Scope::Work, "Take jobs under a lease; waits for some, up to a minute").by(Way::Claim),
    Route::queue::<Renew>(POST, "/v1/queues/{queue}/renew", Scope::Work, "Hold on to what a token holds"),
    Route::queue::<Complete>(POST, "/v1/queues/{queue}/complete", Scope::Work, "End jobs well, and claim the next in the same step").by(Way::Claim),
    Route::queue::<Fail>(POST, "/v1/queues/{queue}/fail", Scope::Work, "End attempts badly: again later, or dead"),
    Route::queue::<Release>(POST, "/v1/queues/{queue}/release", Scope::Work, "Give jobs back, attempts not counted"),
    Route::queue::<Accept>(POST, "/v1/queues/{queue}/jobs/{id}/accept", Scope::Work, "Accept a dispatched job"),
    Route::queue::<Progress>(POST, "/v1/queues/{queue}/jobs/{id}/progress", Scope::Work, "Say how far a job has come; renews nothing"),
    Route::queue::<Complete>(POST, "/v1/queues/{queue}/jobs/{id}/complete", Scope::Work, "End a job well").by(Way::Claim),
    Route::queue::<Fail>(POST, "/v1/queues/{queue}/jobs/{id}/fail", Scope::Work, "End an attempt badly"),
    Route::queue::<Release>(POST, "/v1/queues/{queue}/jobs/{id}/release", Scope::Work, "Give a job back, attempt not counted"),
    Route::queue::<Snooze>(POST, "/v1/queues/{queue}/jobs/{id}/snooze", Scope::Work, "Put a job off, attempt not counted"),
    // Operating.
    Route::queue::<Cancel>(POST, "/v1/queues/{queue}/cancel", Scope::Operate, "Cancel jobs; running ones are asked to stop"),
    Route::queue::<Retry>(POST, "/v1/queues/{queue}/retry", Scope::Operate, "Make dead jobs ready again"),
    Route::queue::<Delete>(POST, "/v1/queues/{queue}/delete", Scope::Operate, "Forget finished jobs"),
    Route::queue::<Promote>(POST, "/v1/queues/{queue}/promote", Scope::Operate, "Make scheduled jobs ready now"),
    Route::queue::<Cancel>(POST, "/v1/queues/{queue}/jobs/{id}/cancel", Scope::Operate, "Cancel a job"),
    Route::queue::<Retry>(POST, "/v1/queues/{queue}/jobs/{id}/retry", Scope::Operate, "Make a dead job ready again"),
    Route::queue::<Promote>(POST, "/v1/queues/{queue}/jobs/{id}/promote", Scope::Operate, "Make a scheduled job ready now"),
    Route::queue::<Delete>(DELETE, "/v1/queues/{queue}/jobs/{id}", Scope::Operate, "Forget a finished job"),
    // Workers.
    Route::store::<Workers>(GET, "/v1/workers", Scope::Read, "Workers that were seen lately").by(Way::Workers),
    Route::store::<Register>(POST, "/v1/workers", Scope::Work, "Make a worker known").by(Way::Register),
    Route::store::<Heartbeat>(POST, "/v1/workers/{worker}/heartbeat", Scope::Work, "Show that a worker lives, renew what it holds, and learn how to go on").by(Way::Heartbeat),
    Route::store::<Leave>(POST, "/v1/workers/{worker}/leave", Scope::Work, "Take a worker off the record; what it holds goes back").by(Way::Worker),
    Route::store::<FailWorker>(POST, "/v1/workers/{worker}/fail", Scope::Operate, "Declare a worker dead; what it holds goes back now").by(Way::Worker),
    Route::store::<CommandWorker>(POST, "/v1/workers/{worker}/command", Scope::Operate, "Queue a command for the worker's next heartbeat").by(Way::Worker),
    // What is not a verb.
    Route::other(GET, EVENTS, Scope::Read, Way::Events, "events", "What happens to jobs, as server-sent events").asked::<EventsRequest>(),
    Route::other(POST, "/v1/events/ticket", Scope::Read, Way::Ticket, "ticket", "Draw a ticket that opens one stream of events, for browsers").answered::<TicketReply>(),
    Route::other(GET, "/metrics", Scope::Read, Way::Metrics, "metrics", "Figures of all queues and of this server, for Prometheus"),
    Route::other(GET, "/openapi.json", Scope::Any, Way::OpenApi, "openapi", "This document"),
    Route::other(GET, "/docs", Scope::Any, Way::Docs, "docs", "The routes on one page, for people"),
    Route::other(GET, "/healthz", Scope::Open, Way::Health, "health", "Whether the server runs"),
    Route::other(GET, "/readyz", Scope::Open, Way::Ready, "ready", "Whether the store answers"),
    Route::other(POST, "/", Scope::Enqueue, Way::Delayed, "delayed", "Put a job off until a time; for callers of the delayed queue").asked::<DelayedRequest>().answered::<DelayedReply>(),
];

/// Which jobs are exported.
#[derive(Debug, schemars::JsonSchema)]
#[expect(dead_code, reason = "read by name; this is for the document")]
struct ExportRequest {
    /// Only jobs in this state, or in one of several with commas between.
    state: Option<String>,
    /// Only jobs of this kind.
    kind: Option<String>,
}

/// Which events are sent.
#[derive(Debug, schemars::JsonSchema)]
#[expect(dead_code, reason = "read by name; this is for the document")]
struct EventsRequest {
    /// Only those of this queue.
    queue: Option<String>,
    /// Resume after this event, where no header `Last-Event-ID` can be sent.
    last_event_id: Option<String>,
    /// Instead of a token, where no header can be sent.
    ticket: Option<String>,
}
