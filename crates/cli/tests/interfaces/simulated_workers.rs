//! Simulated workers of a processor.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::sandbox::{Sandbox, text};

/// Workers send a message every tick, and expire after three silent ticks.
pub(crate) const TICK: Duration = Duration::from_secs(1);

/// Far longer than any run takes.
const TIMEOUT: Duration = Duration::from_secs(180);

/// When a worker dies, if at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behavior {
    Lives,
    /// Receives its first job and sends nothing afterwards.
    DiesBeforeAccepting,
    /// Accepts its first job and sends nothing afterwards.
    DiesAfterAccepting,
}

/// The result of an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AssignmentResult {
    /// No result yet.
    Pending,
    Finished,
    /// The processor replied that the job is not leased to this worker.
    Rejected,
    /// The worker died.
    Died,
}

struct Worker {
    behavior: Behavior,
    is_dead: bool,
    job: Option<String>,
}

/// A running processor and its workers.
pub(crate) struct SimulatedWorkers<'a> {
    sandbox: &'a Sandbox,
    process: Child,
    input: ChildStdin,
    output: Receiver<Value>,
    workers: BTreeMap<String, Worker>,
    /// Messages without a reply, in order: sender, topic, job.
    unanswered: VecDeque<(String, &'static str, String)>,
    pub(crate) assignments: Vec<(String, String, AssignmentResult)>,
}

fn start(sandbox: &Sandbox) -> (Child, ChildStdin, Receiver<Value>) {
    let tick = format!("{}ms", TICK.as_millis());
    let mut command = sandbox.command(&["processor", "--tick", &tick]);
    command.stdin(Stdio::piped()).stderr(Stdio::null());
    let mut process = command.spawn().unwrap();
    let stdout = BufReader::new(process.stdout.take().unwrap());
    let (send, output) = mpsc::channel();
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            // The last line of a killed processor may be incomplete.
            let Ok(line) = serde_json::from_str(&line) else {
                break;
            };
            if send.send(line).is_err() {
                break;
            }
        }
    });
    let input = process.stdin.take().unwrap();
    (process, input, output)
}

impl<'a> SimulatedWorkers<'a> {
    pub(crate) fn start(sandbox: &'a Sandbox, behaviors: &[Behavior]) -> Self {
        // On a very slow machine leases may expire repeatedly; that must not make a job poison.
        sandbox.run("queue set q poison_after=1000").ok();
        let (process, input, output) = start(sandbox);
        let worker = |(at, behavior): (usize, &Behavior)| {
            let worker = Worker {
                behavior: *behavior,
                is_dead: false,
                job: None,
            };
            (format!("worker-{at}"), worker)
        };
        Self {
            sandbox,
            process,
            input,
            output,
            workers: behaviors.iter().enumerate().map(worker).collect(),
            unanswered: VecDeque::new(),
            assignments: Vec::new(),
        }
    }

    fn send(&mut self, who: &str, topic: &'static str, job: &str, extra: &Value) {
        let mut payload = json!({"uuid": job, "queue_name": "q"});
        if let Some(extra) = extra.as_object() {
            payload.as_object_mut().unwrap().extend(extra.clone());
        }
        let topic_text = format!("default/job_queue/workers/{who}/{topic}");
        let message = json!({"topic": topic_text, "service_uuid": who, "payload": payload});
        writeln!(self.input, "{message}").unwrap();
        self.unanswered
            .push_back((who.to_owned(), topic, job.to_owned()));
    }

    pub(crate) fn add_jobs(&mut self, count: usize) {
        for job in 0..count {
            self.send("creator", "add_job", &format!("job-{job}"), &json!({}));
        }
    }

    /// Sends the regular message of every living worker.
    fn send_heartbeats(&mut self) {
        let living = self.workers.iter().filter(|(_, worker)| !worker.is_dead);
        let living: Vec<_> = living
            .map(|(who, worker)| (who.clone(), worker.job.clone()))
            .collect();
        for (who, job) in living {
            match job {
                None => self.send(&who, "worker_idle", "-", &json!({})),
                Some(job) => {
                    let status = json!({"status": {"progress": 0.5}});
                    self.send(&who, "worker_busy", &job, &status);
                }
            }
        }
    }

    /// Runs until this many jobs are finished.
    pub(crate) fn work_until(&mut self, finished: usize) {
        self.send_heartbeats();
        let deadline = Instant::now() + TIMEOUT;
        while self.count(AssignmentResult::Finished) < finished {
            assert!(
                Instant::now() < deadline,
                "still pending: {:?}",
                self.assignments
            );
            match self.output.recv_timeout(TICK / 2) {
                Ok(message) => self.receive(&message),
                Err(RecvTimeoutError::Timeout) => self.send_heartbeats(),
                Err(RecvTimeoutError::Disconnected) => panic!("the processor has exited"),
            }
        }
    }

    pub(crate) fn count(&self, result: AssignmentResult) -> usize {
        let of = self.assignments.iter().filter(|(_, _, is)| *is == result);
        of.count()
    }

    fn receive(&mut self, message: &Value) {
        if let Some((who, job)) = self.record_assignment(message) {
            self.send(&who, "job_accepted", &job, &json!({}));
        } else if let Some((who, job)) = self.record_reply(message) {
            self.send(&who, "job_finished", &job, &json!({"out": 1}));
        }
    }

    /// Records an assignment. Returns the worker that accepts it, and the job.
    fn record_assignment(&mut self, message: &Value) -> Option<(String, String)> {
        let topic = text(&message["topic"]);
        if !topic.ends_with("/job_assignment") {
            return None;
        }
        let who = topic.split('/').nth(3).unwrap().to_owned();
        let job = text(&message["payload"]["uuid"]).to_owned();
        let worker = self.workers.get_mut(&who).unwrap();
        let (was_dead, behavior) = (worker.is_dead, worker.behavior);
        worker.is_dead = behavior != Behavior::Lives;
        let result = if worker.is_dead {
            AssignmentResult::Died
        } else {
            worker.job = Some(job.clone());
            AssignmentResult::Pending
        };
        self.assignments.push((who.clone(), job.clone(), result));
        let accepts = !was_dead && behavior != Behavior::DiesBeforeAccepting;
        accepts.then_some((who, job))
    }

    /// Records the reply to the oldest message. Returns the worker that may finish its job, and the job.
    fn record_reply(&mut self, message: &Value) -> Option<(String, String)> {
        let topic = text(&message["topic"]);
        if topic.ends_with("/job_assignment") {
            return None;
        }
        let (who, sent, job) = self.unanswered.pop_front().unwrap();
        assert!(
            topic.ends_with(&format!("/{sent}_reply")),
            "{sent}: {message}"
        );
        let code = message["payload"]["error"]["code"].as_str();
        match (sent, code) {
            // A duplicate was sent again, to another processor.
            ("worker_idle" | "worker_busy", None) | ("add_job", None | Some("duplicate")) => {}
            ("job_accepted", None) => {
                let lives = !self.workers[&who].is_dead;
                return lives.then_some((who, job));
            }
            // The job is already finished: the first reply was lost with a killed processor.
            ("job_finished", None) | (_, Some("wrong_state")) => {
                self.close(&who, &job, AssignmentResult::Finished);
            }
            (_, Some("lease_lost" | "not_found")) => {
                self.close(&who, &job, AssignmentResult::Rejected);
            }
            _ => panic!("{sent}: {message}"),
        }
        None
    }

    /// Sets the result of the pending assignment of a worker.
    fn close(&mut self, who: &str, job: &str, result: AssignmentResult) {
        let worker = self.workers.get_mut(who).unwrap();
        worker.job.take_if(|current| current == job);
        let is_pending = |(of, about, is): &&mut (String, String, AssignmentResult)| {
            of == who && about == job && *is == AssignmentResult::Pending
        };
        if let Some(assignment) = self.assignments.iter_mut().find(is_pending) {
            assignment.2 = result;
        }
    }

    /// Kills the processor and starts another. Jobs without a reply are added again, and workers
    /// continue with their current job.
    pub(crate) fn kill_and_restart(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        while let Ok(message) = self.output.recv() {
            if self.record_assignment(&message).is_none() {
                self.record_reply(&message);
            }
        }
        (self.process, self.input, self.output) = start(self.sandbox);
        for (who, sent, job) in std::mem::take(&mut self.unanswered) {
            if sent == "add_job" {
                self.send(&who, sent, &job, &json!({}));
            }
        }
        let busy = self.workers.iter().filter(|(_, worker)| !worker.is_dead);
        let busy = busy.filter_map(|(who, worker)| Some((who.clone(), worker.job.clone()?)));
        for (who, job) in busy.collect::<Vec<_>>() {
            self.send(&who, "job_accepted", &job, &json!({}));
        }
    }

    pub(crate) fn end(mut self) -> Vec<(String, String, AssignmentResult)> {
        drop(self.input);
        let status = self.process.wait().unwrap();
        assert_eq!(status.code(), Some(0));
        self.assignments
    }
}
