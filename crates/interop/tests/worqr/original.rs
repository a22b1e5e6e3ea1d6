//! A client that sends the original's commands, in its order and as many at a time as it does, its
//! faults included: the peer of mixed fleets.

use windlass_testkit::redis::{Connection, Reply, Server};

use super::place::texts;

pub(crate) struct Original {
    connection: Connection,
    prefix: String,
    pub(crate) id: String,
    drawn: u64,
}

impl Original {
    pub(crate) fn new(server: &Server, prefix: &str, id: &str) -> Self {
        Self {
            connection: server.connect().unwrap(),
            prefix: prefix.to_owned(),
            id: id.to_owned(),
            drawn: 0,
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

    fn call(&mut self, words: &[&str]) -> Reply {
        self.connection.command(words).unwrap().ok()
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

    /// The lock's name is the MD5 of the task, which the caller knows.
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
            // As long as the test; the original has 3.
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

    /// The process and its task, where one waits.
    pub(crate) fn dequeue(&mut self, queue: &str) -> Option<(String, String)> {
        let served = self.key("workingQueues", &self.id);
        assert_eq!(self.call(&["SISMEMBER", &served, queue]).integer(), 1);
        self.drawn += 1;
        let process = format!("{queue}_{}-{}", self.id, self.drawn);
        let list = self.key("queues", queue);
        let place = self.key("processes", &process);
        let doing = self.key("workingProcesses", queue);
        let answers = self.multi(&[
            vec!["RPOPLPUSH", &list, &place],
            vec!["SADD", &doing, &process],
        ]);
        if answers[0] == Reply::Nil {
            self.multi(&[vec!["SREM", &doing, &process]]);
            return None;
        }
        Some((process, answers[0].text()))
    }

    /// Answers the task that it told as done; nothing where the process was taken back before.
    pub(crate) fn finish(&mut self, queue: &str, process: &str, md5: &str) -> Option<String> {
        let place = self.key("processes", process);
        let tasks = texts(&self.call(&["LRANGE", &place, "0", "-1"]));
        let lock = self.key("uniqueTasks", md5);
        let doing = self.key("workingProcesses", queue);
        self.multi(&[
            vec!["DEL", &lock],
            vec!["DEL", &place],
            vec!["SREM", &doing, process],
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

    /// The first half of its stopWork: what it reads before its transaction.
    pub(crate) fn stop_work_reads(&mut self, queue: &str) -> Vec<String> {
        let doing = self.key("workingProcesses", queue);
        texts(&self.call(&["SMEMBERS", &doing]))
    }

    /// The second half.
    pub(crate) fn stop_work_writes(&mut self, queue: &str, processes: &[String]) {
        let served = self.key("workingQueues", &self.id);
        let doing = self.key("workingProcesses", queue);
        let list = self.key("queues", queue);
        let places = self.process_keys(processes);
        let mut commands = vec![vec!["SREM", &served, queue], vec!["DEL", &doing]];
        commands.extend(give_back(&places, &list));
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
        let doing = self.key("workingProcesses", queue);
        let list = self.key("queues", queue);
        let places = self.process_keys(&processes);
        let mut commands = vec![
            vec!["SREM", &workers, worker],
            vec!["SREM", &expiring, worker],
            vec!["SREM", &permanent, worker],
            vec!["DEL", &timer],
            vec!["DEL", &served],
            vec!["DEL", &doing],
        ];
        commands.extend(give_back(&places, &list));
        self.multi(&commands);
    }

    /// Nobody beats for it any more.
    pub(crate) fn dies(mut self) {
        let timer = self.key("workerTimers", &self.id);
        self.call(&["DEL", &timer]);
    }
}

/// How its transactions put the tasks of processes back.
fn give_back<'a>(places: &'a [String], list: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    let moved = move |place: &'a String| [vec!["RPOPLPUSH", place, list], vec!["DEL", place]];
    places.iter().flat_map(moved)
}
