//! A client that sends the same commands as the original, in the same order and scripts, including its
//! defects.

use windlass_core::{Clock, SystemClock};
use windlass_testkit::redis::{Connection, Reply, Server};

const MOVE: &str =
    "local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 501)
for index, id in ipairs(due) do
  if index > 500 then return 1 end
  redis.call('LPUSH', KEYS[2], id)
  redis.call('ZREM', KEYS[1], id)
end
return 0";

const ACK: &str = "local removed = redis.call('LREM', KEYS[1], 1, ARGV[1])
if removed == 1 then redis.call('DEL', KEYS[2]) end
return removed";

const NACK: &str = "local removed = redis.call('LREM', KEYS[1], 1, ARGV[1])
if removed == 1 then redis.call('LPUSH', KEYS[2], ARGV[1]) end
return removed";

const JOBS: &str = "delayed-queue:jobs";
const DUE: &str = "delayed-queue:dueJobs";
const UNACKED: &str = "delayed-queue:unackedJobs";

pub(crate) struct Original {
    connection: Connection,
}

/// What its handler gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OriginalJob {
    pub(crate) id: String,
    pub(crate) payload: Option<String>,
    pub(crate) due_time: Option<String>,
}

impl Original {
    pub(crate) fn new(server: &Server) -> Self {
        Self {
            connection: server.connect().unwrap(),
        }
    }

    fn call(&mut self, command: &[&str]) -> Reply {
        self.connection.command(command).unwrap().ok()
    }

    /// The server's schedule: a pipeline that is not a transaction.
    pub(crate) fn submit(&mut self, id: &str, payload: &str, due_time: u64) {
        let (key, due_time) = (job_key(id), due_time.to_string());
        self.call(&["HSET", &key, "payload", payload, "dueTime", &due_time]);
        self.call(&["ZADD", JOBS, &due_time, id]);
    }

    /// One round of the leader.
    pub(crate) fn move_due(&mut self) {
        let now = seconds();
        while self.call(&["EVAL", MOVE, "2", JOBS, DUE, &now]).integer() == 1 {}
    }

    /// The worker: waits for a job, then records when it got it.
    pub(crate) fn take(&mut self, wait: &str) -> Option<OriginalJob> {
        let id = self.move_to_unacked(wait)?;
        let key = job_key(&id);
        self.call(&["HSET", &key, "pickupTime", &seconds()]);
        let job = self.call(&["HGETALL", &key]);
        let fields: Vec<String> = job.array().iter().map(Reply::text).collect();
        let field = |name: &str| {
            let mut pairs = fields.chunks(2);
            pairs
                .find(|pair| pair[0] == name)
                .map(|pair| pair[1].clone())
        };
        Some(OriginalJob {
            payload: field("payload"),
            due_time: field("dueTime"),
            id,
        })
    }

    /// The first command of the worker. A worker killed here leaves a job without a pickup time.
    pub(crate) fn move_to_unacked(&mut self, wait: &str) -> Option<String> {
        match self.call(&["BLMOVE", DUE, UNACKED, "RIGHT", "LEFT", wait]) {
            Reply::Nil => None,
            id => Some(id.text()),
        }
    }

    pub(crate) fn ack(&mut self, id: &str) -> bool {
        let reply = self.call(&["EVAL", ACK, "2", UNACKED, &job_key(id), id]);
        reply.integer() == 1
    }

    pub(crate) fn nack(&mut self, id: &str) -> bool {
        let reply = self.call(&["EVAL", NACK, "2", UNACKED, DUE, id]);
        reply.integer() == 1
    }
}

fn job_key(id: &str) -> String {
    format!("delayed-queue:job:{id}")
}

fn seconds() -> String {
    (SystemClock.now_us() / 1_000_000).to_string()
}
