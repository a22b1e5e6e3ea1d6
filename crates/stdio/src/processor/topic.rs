//! Topics: what a message is about, and which worker it comes from.

use windlass_api::Error;
use windlass_core::Error as CoreError;

/// What a message asks for.
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

/// Every word that is understood; older systems had other words for some.
const WORDS: [(&str, Op); 17] = [
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
    ("list_job_queue", Op::ListJobs),
    ("list_leased_queue", Op::ListDispatched),
    ("list_progress_queue", Op::ListProgress),
    ("list_worker_queue", Op::ListWorkers),
];

/// A topic that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Topic<'a> {
    /// One for us.
    Message {
        op: Op,
        word: &'a str,
        /// The worker in its path.
        worker: Option<&'a str>,
    },
    /// What a processor sends: on a shared bus it comes back, and answering it would never end.
    Ours,
    Unknown,
}

impl<'a> Topic<'a> {
    /// Reads a topic; the namespace and `job_queue/` may be left out.
    pub(super) fn read(topic: &'a str, listener: &str) -> Self {
        let rest = topic.strip_prefix(listener);
        let rest = rest.and_then(|rest| rest.strip_prefix('/'));
        let rest = rest.unwrap_or(topic);
        let rest = rest.strip_prefix("job_queue/").unwrap_or(rest);
        if rest.ends_with("_reply") || rest.ends_with("job_assignment") {
            return Self::Ours;
        }
        let of_worker = rest.strip_prefix("workers/");
        let (worker, word) = match of_worker.and_then(|rest| rest.split_once('/')) {
            Some((worker, word)) => (Some(worker), word),
            None => (None, rest),
        };
        match WORDS.iter().find(|(known, _)| *known == word) {
            Some((_, op)) => Self::Message {
                op: *op,
                word,
                worker,
            },
            None => Self::Unknown,
        }
    }
}

/// The refusal of a topic that nobody knows.
pub(super) fn unknown(topic: &str) -> Error {
    let short: String = topic.chars().take(80).collect();
    let words: Vec<_> = WORDS.iter().map(|(word, _)| *word).collect();
    let help = format!("use <namespace>/job_queue/ and one of {}", words.join(", "));
    CoreError::invalid("topic", format!("{short:?} is not known"), help).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_read_with_and_without_what_may_be_left_out() {
        let read = |topic| match Topic::read(topic, "ns") {
            Topic::Message { op, worker, .. } => Some((op, worker)),
            Topic::Ours | Topic::Unknown => None,
        };
        for (topic, read_as) in [
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
            assert_eq!(read(topic), read_as, "{topic}");
        }
    }

    #[test]
    fn what_a_processor_sends_is_not_answered() {
        for topic in [
            "ns/job_queue/add_job_reply",
            "other/job_queue/error_reply",
            "ns/job_queue/workers/w-1/job_assignment",
        ] {
            assert_eq!(Topic::read(topic, "ns"), Topic::Ours);
        }
    }
}
