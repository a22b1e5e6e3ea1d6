//! Simulated workers of a processor: what they hear, what they say, and when they die.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::sandbox::{Sandbox, text};

/// Three ticks make a worker silent, and a message is due at each.
pub(crate) const TICK: Duration = Duration::from_secs(1);

/// Far longer than any run takes.
const PATIENCE: Duration = Duration::from_secs(180);

/// When a worker dies, if it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Lives,
    /// Hears of its first job and never says a word again.
    DiesBeforeAccepting,
    /// Accepts its first job and never says a word again.
    DiesAfterAccepting,
}

/// What became of an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Account {
    /// Nothing is known of it.
    Open,
    Finished,
    /// The processor said that the job is not this worker's.
    Refused,
    /// Its worker died.
    Died,
}

struct Worker {
    fate: Fate,
    is_dead: bool,
    job: Option<String>,
}

/// The processor that runs, and the workers around it.
pub(crate) struct Crew<'a> {
    sandbox: &'a Sandbox,
    process: Child,
    input: ChildStdin,
    output: Receiver<Value>,
    workers: BTreeMap<String, Worker>,
    /// Messages said and not answered, in their order: who, what, which job.
    asked: VecDeque<(String, &'static str, String)>,
    pub(crate) accounts: Vec<(String, String, Account)>,
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
            // A line of a processor that was killed may end half-way.
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

impl<'a> Crew<'a> {
    pub(crate) fn start(sandbox: &'a Sandbox, fates: &[Fate]) -> Self {
        // On a machine that stands still a job may run out of leases time and again; that is no poison.
        sandbox.run("queue set q poison_after=1000").ok();
        let (process, input, output) = start(sandbox);
        let worker = |(at, fate): (usize, &Fate)| {
            let worker = Worker {
                fate: *fate,
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
            workers: fates.iter().enumerate().map(worker).collect(),
            asked: VecDeque::new(),
            accounts: Vec::new(),
        }
    }

    fn say(&mut self, who: &str, topic: &'static str, job: &str, extra: &Value) {
        let mut payload = json!({"uuid": job, "queue_name": "q"});
        if let Some(extra) = extra.as_object() {
            payload.as_object_mut().unwrap().extend(extra.clone());
        }
        let topic_text = format!("default/job_queue/workers/{who}/{topic}");
        let message = json!({"topic": topic_text, "service_uuid": who, "payload": payload});
        writeln!(self.input, "{message}").unwrap();
        self.asked
            .push_back((who.to_owned(), topic, job.to_owned()));
    }

    pub(crate) fn add_jobs(&mut self, count: usize) {
        for job in 0..count {
            self.say("creator", "add_job", &format!("job-{job}"), &json!({}));
        }
    }

    /// Every living worker says that it lives, as it should at every tick.
    fn beat(&mut self) {
        let living = self.workers.iter().filter(|(_, worker)| !worker.is_dead);
        let living: Vec<_> = living
            .map(|(who, worker)| (who.clone(), worker.job.clone()))
            .collect();
        for (who, job) in living {
            match job {
                None => self.say(&who, "worker_idle", "-", &json!({})),
                Some(job) => {
                    let status = json!({"status": {"progress": 0.5}});
                    self.say(&who, "worker_busy", &job, &status);
                }
            }
        }
    }

    /// Works until so many jobs are finished.
    pub(crate) fn work_until(&mut self, finished: usize) {
        self.beat();
        let patience = Instant::now() + PATIENCE;
        while self.count(Account::Finished) < finished {
            assert!(Instant::now() < patience, "still open: {:?}", self.accounts);
            match self.output.recv_timeout(TICK / 2) {
                Ok(message) => self.hear(&message),
                Err(RecvTimeoutError::Timeout) => self.beat(),
                Err(RecvTimeoutError::Disconnected) => panic!("the processor has ended"),
            }
        }
    }

    pub(crate) fn count(&self, account: Account) -> usize {
        let of = self.accounts.iter().filter(|(_, _, is)| *is == account);
        of.count()
    }

    fn hear(&mut self, message: &Value) {
        if let Some((who, job)) = self.note(message) {
            self.say(&who, "job_accepted", &job, &json!({}));
        } else if let Some((who, job)) = self.accepted(message) {
            self.say(&who, "job_finished", &job, &json!({"out": 1}));
        }
    }

    /// Notes an assignment; answers who accepts which job.
    fn note(&mut self, message: &Value) -> Option<(String, String)> {
        let topic = text(&message["topic"]);
        if !topic.ends_with("/job_assignment") {
            return None;
        }
        let who = topic.split('/').nth(3).unwrap().to_owned();
        let job = text(&message["payload"]["uuid"]).to_owned();
        let worker = self.workers.get_mut(&who).unwrap();
        let (was_dead, fate) = (worker.is_dead, worker.fate);
        worker.is_dead = fate != Fate::Lives;
        let account = if worker.is_dead {
            Account::Died
        } else {
            worker.job = Some(job.clone());
            Account::Open
        };
        self.accounts.push((who.clone(), job.clone(), account));
        let accepts = !was_dead && fate != Fate::DiesBeforeAccepting;
        accepts.then_some((who, job))
    }

    /// Notes the answer to what was said first; answers who may finish which job.
    fn accepted(&mut self, message: &Value) -> Option<(String, String)> {
        let topic = text(&message["topic"]);
        if topic.ends_with("/job_assignment") {
            return None;
        }
        let (who, said, job) = self.asked.pop_front().unwrap();
        assert!(
            topic.ends_with(&format!("/{said}_reply")),
            "{said}: {message}"
        );
        let code = message["payload"]["error"]["code"].as_str();
        match (said, code) {
            // A duplicate was said again, to another processor.
            ("worker_idle" | "worker_busy", None) | ("add_job", None | Some("duplicate")) => {}
            ("job_accepted", None) => {
                let lives = !self.workers[&who].is_dead;
                return lives.then_some((who, job));
            }
            // A job that has ended already: that answer went down with a processor.
            ("job_finished", None) | (_, Some("wrong_state")) => {
                self.settle(&who, &job, Account::Finished);
            }
            (_, Some("lease_lost" | "not_found")) => self.settle(&who, &job, Account::Refused),
            _ => panic!("{said}: {message}"),
        }
        None
    }

    /// Closes the open account of a worker on a job; the dead say no more.
    fn settle(&mut self, who: &str, job: &str, how: Account) {
        let worker = self.workers.get_mut(who).unwrap();
        worker.job.take_if(|held| held == job);
        let is_it = |(of, about, is): &&mut (String, String, Account)| {
            of == who && about == job && *is == Account::Open
        };
        if let Some(account) = self.accounts.iter_mut().find(is_it) {
            account.2 = how;
        }
    }

    /// Kills the processor and starts another. Jobs whose answer did not come are added again, and
    /// workers go on with what they have.
    pub(crate) fn kill_and_restart(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        while let Ok(message) = self.output.recv() {
            if self.note(&message).is_none() {
                self.accepted(&message);
            }
        }
        (self.process, self.input, self.output) = start(self.sandbox);
        for (who, said, job) in std::mem::take(&mut self.asked) {
            if said == "add_job" {
                self.say(&who, said, &job, &json!({}));
            }
        }
        let at_work = self.workers.iter().filter(|(_, worker)| !worker.is_dead);
        let at_work = at_work.filter_map(|(who, worker)| Some((who.clone(), worker.job.clone()?)));
        for (who, job) in at_work.collect::<Vec<_>>() {
            self.say(&who, "job_accepted", &job, &json!({}));
        }
    }

    pub(crate) fn end(mut self) -> Vec<(String, String, Account)> {
        drop(self.input);
        let status = self.process.wait().unwrap();
        assert_eq!(status.code(), Some(0));
        self.accounts
    }
}
