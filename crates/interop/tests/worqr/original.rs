//! A client that sends the same commands as the original, in the same order and transactions,
//! including its defects.

use windlass_testkit::redis::{Connection, Reply, Server};

use super::fixture::texts;

pub(crate) struct Original {
    connection: Connection,
    prefix: String,
    pub(crate) id: String,
    started: u64,
}

impl Original {
    pub(crate) fn new(server: &Server, prefix: &str, id: &str) -> Self {
        Self {
            connection: server.connect().unwrap(),
            prefix: prefix.to_owned(),
            id: id.to_owned(),
            started: 0,
        }
    }

    fn key(&self, kind: &str, name: &str) -> String {
        format!("{}:{kind}:{name}", self.prefix)
    }

    fn process_keys(&self, processes: &[String]) -> Vec<String> {
        let keys = processes.iter().map(|id| self.key("processes", id));
        keys.collect()
    }

    fn channel(&self, queue: &str, kind: &str) -> String {
        format!("{}_{queue}_{kind}", self.prefix)
    }

    fn call(&mut self, command: &[&str]) -> Reply {
        self.connection.command(command).unwrap().ok()
    }

    /// MULTI, the commands, EXEC.
    pub(crate) fn multi(&mut self, commands: &[Vec<&str>]) -> Vec<Reply> {
        self.call(&["MULTI"]);
        for command in commands {
            self.call(command);
        }
        self.call(&["EXEC"]).array().to_vec()
    }

    pub(crate) fn enqueue(&mut self, queue: &str, tasks: &[&str]) {
        let list = self.key("queues", queue);
        let mut push = vec!["LPUSH", list.as_str()];
        push.extend(tasks);
        let channel = self.channel(queue, "work");
        let count = tasks.len().to_string();
        self.multi(&[push, vec!["PUBLISH", &channel, &count]]);
    }

    /// `md5` is the MD5 of the task, which names the lock.
    pub(crate) fn enqueue_unique(&mut self, queue: &str, task: &str, md5: &str) -> bool {
        let lock = self.key("uniqueTasks", md5);
        self.call(&["WATCH", &lock]);
        if self.call(&["GET", &lock]) != Reply::Nil {
            return false;
        }
        let list = self.key("queues", queue);
        let channel = self.channel(queue, "work");
        self.multi(&[
            vec!["SET", &lock, " "],
            vec!["LPUSH", &list, task],
            vec!["PUBLISH", &channel, "1"],
        ]);
        true
    }

    pub(crate) fn cancel(&mut self, queue: &str, task: &str) {
        let list = self.key("queues", queue);
        let channel = self.channel(queue, "cancel");
        self.multi(&[
            vec!["LREM", &list, "0", task],
            vec!["PUBLISH", &channel, task],
        ]);
    }

    pub(crate) fn start_worker(&mut self) {
        let [workers, expiring] =
            ["workers", "expiringWorkers"].map(|set| format!("{}:{set}", self.prefix));
        let (timer, id) = (self.key("workerTimers", &self.id), self.id.clone());
        self.multi(&[
            vec!["SADD", &workers, &id],
            vec!["SADD", &expiring, &id],
            // Longer than the test; the original uses 3.
            vec!["SET", &timer, "RUN", "EX", "3600"],
        ]);
    }

    pub(crate) fn start_work(&mut self, queue: &str) {
        let workers = format!("{}:workers", self.prefix);
        let id = self.id.clone();
        assert_eq!(self.call(&["SISMEMBER", &workers, &id]).integer(), 1);
        let served = self.key("workingQueues", &id);
        self.call(&["SADD", &served, queue]);
        let list = self.key("queues", queue);
        let waiting = self.call(&["LLEN", &list]).integer();
        if waiting > 0 {
            let channel = self.channel(queue, "work");
            self.call(&["PUBLISH", &channel, &waiting.to_string()]);
        }
    }

    /// Returns the process and its task, if one is waiting.
    pub(crate) fn dequeue(&mut self, queue: &str) -> Option<(String, String)> {
        let served = self.key("workingQueues", &self.id);
        assert_eq!(self.call(&["SISMEMBER", &served, queue]).integer(), 1);
        self.started += 1;
        let process = format!("{queue}_{}-{}", self.id, self.started);
        let list = self.key("queues", queue);
        let key = self.key("processes", &process);
        let in_progress = self.key("workingProcesses", queue);
        let replies = self.multi(&[
            vec!["RPOPLPUSH", &list, &key],
            vec!["SADD", &in_progress, &process],
        ]);
        if replies[0] == Reply::Nil {
            self.multi(&[vec!["SREM", &in_progress, &process]]);
            return None;
        }
        Some((process, replies[0].text()))
    }

    /// Returns the task that it published as done, or `None` if the process had been taken back.
    pub(crate) fn finish(&mut self, queue: &str, process: &str, md5: &str) -> Option<String> {
        let key = self.key("processes", process);
        let tasks = texts(&self.call(&["LRANGE", &key, "0", "-1"]));
        let lock = self.key("uniqueTasks", md5);
        let in_progress = self.key("workingProcesses", queue);
        self.multi(&[
            vec!["DEL", &lock],
            vec!["DEL", &key],
            vec!["SREM", &in_progress, process],
        ]);
        let channel = self.channel(queue, "done");
        let task = tasks.first().cloned();
        let message = match &task {
            Some(task) => format!("{{\"workerId\":\"{}\",\"task\":\"{task}\"}}", self.id),
            None => format!("{{\"workerId\":\"{}\"}}", self.id),
        };
        self.call(&["PUBLISH", &channel, &message]);
        task
    }

    /// The first half of its stopWork: the reads before its transaction.
    pub(crate) fn stop_work_reads(&mut self, queue: &str) -> Vec<String> {
        let in_progress = self.key("workingProcesses", queue);
        texts(&self.call(&["SMEMBERS", &in_progress]))
    }

    /// The second half.
    pub(crate) fn stop_work_writes(&mut self, queue: &str, processes: &[String]) {
        let served = self.key("workingQueues", &self.id);
        let in_progress = self.key("workingProcesses", queue);
        let list = self.key("queues", queue);
        let keys = self.process_keys(processes);
        let mut commands = vec![vec!["SREM", &served, queue], vec!["DEL", &in_progress]];
        commands.extend(give_back(&keys, &list));
        self.multi(&commands);
    }

    /// Its failWorker of a worker that serves one queue.
    pub(crate) fn fail_worker(&mut self, worker: &str, queue: &str) {
        let served = self.key("workingQueues", worker);
        self.call(&["SMEMBERS", &served]);
        let processes = self.stop_work_reads(queue);
        let [workers, expiring, permanent] = ["workers", "expiringWorkers", "permanentWorkers"]
            .map(|set| format!("{}:{set}", self.prefix));
        let timer = self.key("workerTimers", worker);
        let in_progress = self.key("workingProcesses", queue);
        let list = self.key("queues", queue);
        let keys = self.process_keys(&processes);
        let mut commands = vec![
            vec!["SREM", &workers, worker],
            vec!["SREM", &expiring, worker],
            vec!["SREM", &permanent, worker],
            vec!["DEL", &timer],
            vec!["DEL", &served],
            vec!["DEL", &in_progress],
        ];
        commands.extend(give_back(&keys, &list));
        self.multi(&commands);
    }

    /// Deletes its timer.
    pub(crate) fn dies(mut self) {
        let timer = self.key("workerTimers", &self.id);
        self.call(&["DEL", &timer]);
    }
}

/// The commands with which its transactions return the tasks of processes.
fn give_back<'a>(keys: &'a [String], list: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    let moved = move |key: &'a String| [vec!["RPOPLPUSH", key, list], vec!["DEL", key]];
    keys.iter().flat_map(moved)
}
