//! Topics: the name of a message, and the worker that sent it.

use windlass_api::Error;
use windlass_core::{Error as CoreError, ErrorKind};

/// The operation of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    AddJob,
    DelJob,
    WorkerIdle,
    JobAccepted,
    WorkerBusy,
    JobFinished,
    Tick,
    ListJobs,
    ListDispatched,
    ListProgress,
    ListWorkers,
}

/// All message names, including the alternative names of older versions.
const NAMES: [(&str, Op); 20] = [
    ("add_job", Op::AddJob),
    ("del_job", Op::DelJob),
    ("worker_idle", Op::WorkerIdle),
    ("job_accepted", Op::JobAccepted),
    ("worker_busy", Op::WorkerBusy),
    ("worker_progress", Op::WorkerBusy),
    ("job_finished", Op::JobFinished),
    ("worker_finished", Op::JobFinished),
    ("tick", Op::Tick),
    ("list_queue_jobs", Op::ListJobs),
    ("list_queue_dispatched", Op::ListDispatched),
    ("list_queue_progress", Op::ListProgress),
    ("list_queue_workers", Op::ListWorkers),
    ("lease_job", Op::WorkerIdle),
    ("request_job", Op::WorkerIdle),
    ("complete_job", Op::JobFinished),
    ("list_job_queue", Op::ListJobs),
    ("list_leased_queue", Op::ListDispatched),
    ("list_progress_queue", Op::ListProgress),
    ("list_worker_queue", Op::ListWorkers),
];

/// A parsed topic.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Topic<'a> {
    /// A message for the processor.
    Message {
        op: Op,
        name: &'a str,
        /// The worker in the topic.
        worker: Option<&'a str>,
    },
    /// A message sent by a processor. It comes back on a shared bus, and replying would loop forever.
    Outgoing,
    Unknown,
}

impl<'a> Topic<'a> {
    /// Parses a topic. The namespace and `job_queue/` are optional.
    pub(super) fn parse(topic: &'a str, listener: &str) -> Self {
        let rest = topic.strip_prefix(listener);
        let rest = rest.and_then(|rest| rest.strip_prefix('/'));
        let rest = rest.unwrap_or(topic);
        let rest = rest.strip_prefix("job_queue/").unwrap_or(rest);
        if rest.ends_with("_reply") || rest.ends_with("job_assignment") {
            return Self::Outgoing;
        }
        let of_worker = rest.strip_prefix("workers/");
        let (worker, name) = match of_worker.and_then(|rest| rest.split_once('/')) {
            Some((worker, name)) => (Some(worker), name),
            None => (None, rest),
        };
        match NAMES.iter().find(|(known, _)| *known == name) {
            Some((_, op)) => Self::Message {
                op: *op,
                name,
                worker,
            },
            None => Self::Unknown,
        }
    }
}

/// Returns the error for an unknown topic.
pub(super) fn unknown(topic: &str) -> Error {
    let short: String = topic.chars().take(80).collect();
    let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
    let names = names.join(", ");
    let help = format!("expected <namespace>/job_queue/NAME, with NAME one of: {names}");
    CoreError::new(ErrorKind::Invalid, format!("unknown topic {short:?}"), help).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_parsed_with_and_without_their_optional_parts() {
        let parse = |topic| match Topic::parse(topic, "ns") {
            Topic::Message { op, worker, .. } => Some((op, worker)),
            Topic::Outgoing | Topic::Unknown => None,
        };
        for (topic, expected) in [
            ("ns/job_queue/add_job", Some((Op::AddJob, None))),
            ("job_queue/add_job", Some((Op::AddJob, None))),
            ("tick", Some((Op::Tick, None))),
            ("ns/tick", Some((Op::Tick, None))),
            (
                "ns/job_queue/workers/w-1/worker_idle",
                Some((Op::WorkerIdle, Some("w-1"))),
            ),
            ("ns/job_queue/worker_progress", Some((Op::WorkerBusy, None))),
            ("nsjob_queue/add_job", None),
            ("ns/job_queue/dance", None),
            ("", None),
        ] {
            assert_eq!(parse(topic), expected, "{topic}");
        }
    }

    #[test]
    fn messages_of_a_processor_get_no_reply() {
        for topic in [
            "ns/job_queue/add_job_reply",
            "other/job_queue/error_reply",
            "ns/job_queue/workers/w-1/job_assignment",
        ] {
            assert_eq!(Topic::parse(topic, "ns"), Topic::Outgoing);
        }
    }
}
