//! Reads the counters of a server: calls, commands, bytes sent and received, memory used.

use windlass_testkit::redis::{Connection, Server};

use crate::verbs::Meter;

/// The columns of a cost.
pub(crate) const COLUMNS: [&str; 4] = ["calls", "commands", "bytes sent", "bytes received"];

/// Commands that the meter itself sends.
const OWN: [&str; 2] = ["config|resetstat", "info"];

/// Reads one server's counters over a dedicated connection.
pub(crate) struct Counters {
    /// Stopped when the counters are dropped.
    pub(crate) server: Server,
    connection: Connection,
    /// The counters after only the meter's own commands.
    idle: [f64; 4],
}

impl Meter<4> for Counters {
    fn begin(&mut self) {
        self.send(&["CONFIG", "RESETSTAT"]);
    }

    fn per_job(&mut self, jobs: usize) -> [f64; 4] {
        let (all, idle) = (self.read(), self.idle);
        let jobs = u32::try_from(jobs).expect("the count fits");
        std::array::from_fn(|at| (all[at] - idle[at]) / f64::from(jobs))
    }
}

impl Counters {
    pub(crate) fn of(server: Server) -> Self {
        let mut counters = Self {
            connection: server.connect().expect("the server accepts connections"),
            server,
            idle: [0.0; 4],
        };
        counters.begin();
        counters.idle = counters.read();
        counters
    }

    /// Returns client calls, commands within scripts, bytes received and bytes sent by the server.
    fn read(&mut self) -> [f64; 4] {
        let text = self.send(&["INFO", "stats", "commandstats"]);
        let (mut calls, mut commands, mut sent, mut received) = (0.0, 0.0, 0.0, 0.0);
        for line in text.lines() {
            let Some((name, value)) = line.trim().split_once(':') else {
                continue;
            };
            match name.strip_prefix("cmdstat_") {
                Some(command) if OWN.contains(&command) => {}
                Some("evalsha") => calls = call_count(value),
                Some(_) => commands += call_count(value),
                None if name == "total_net_input_bytes" => sent = number(value),
                None if name == "total_net_output_bytes" => received = number(value),
                None => {}
            }
        }
        [calls, commands, sent, received]
    }

    /// Returns the memory used by all keys, without sampling.
    pub(crate) fn memory_used(&self) -> f64 {
        let keys = self.server.command(&["KEYS", "*"]).ok();
        let sizes = keys.array().iter().map(|key| {
            let key = key.text();
            let command = ["MEMORY", "USAGE", &key, "SAMPLES", "0"];
            let size = self.server.command(&command).ok().integer();
            f64::from(u32::try_from(size).expect("the size fits"))
        });
        sizes.sum()
    }

    fn send(&mut self, command: &[&str]) -> String {
        let reply = self.connection.command(command);
        reply.expect("the server replies").ok().text()
    }
}

/// `calls=N,usec=…`
fn call_count(value: &str) -> f64 {
    let calls = value.strip_prefix("calls=").unwrap_or_default();
    number(calls.split(',').next().unwrap_or_default())
}

fn number(text: &str) -> f64 {
    text.parse()
        .unwrap_or_else(|_| panic!("not a number: {text}"))
}
