//! What a server was asked to do: calls, commands, bytes sent and received, bytes kept.

use windlass_testkit::redis::{Connection, Server};

use crate::verbs::Meter;

/// What the columns of a cost are.
pub(crate) const COLUMNS: [&str; 4] = ["calls", "commands", "bytes sent", "bytes received"];

/// Commands of the meter itself.
const OWN: [&str; 2] = ["config|resetstat", "info"];

/// Reads one server's counters over a connection of its own.
pub(crate) struct Counters {
    /// It ends with its counters.
    pub(crate) server: Server,
    connection: Connection,
    /// What the counters show though nothing was asked but themselves.
    idle: [f64; 4],
}

impl Meter<4> for Counters {
    fn begin(&mut self) {
        self.ask(&["CONFIG", "RESETSTAT"]);
    }

    fn per_job(&mut self, jobs: usize) -> [f64; 4] {
        let (all, idle) = (self.read(), self.idle);
        let jobs = u32::try_from(jobs).expect("a test has few jobs");
        std::array::from_fn(|at| (all[at] - idle[at]) / f64::from(jobs))
    }
}

impl Counters {
    pub(crate) fn of(server: Server) -> Self {
        let mut counters = Self {
            connection: server.connect().expect("the server takes connections"),
            server,
            idle: [0.0; 4],
        };
        counters.begin();
        counters.idle = counters.read();
        counters
    }

    /// Calls from outside, commands within scripts, bytes in, bytes out.
    fn read(&mut self) -> [f64; 4] {
        let text = self.ask(&["INFO", "stats", "commandstats"]);
        let (mut calls, mut commands, mut sent, mut received) = (0.0, 0.0, 0.0, 0.0);
        for line in text.lines() {
            let Some((name, value)) = line.trim().split_once(':') else {
                continue;
            };
            match name.strip_prefix("cmdstat_") {
                Some(command) if OWN.contains(&command) => {}
                Some("evalsha") => calls = called(value),
                Some(_) => commands += called(value),
                None if name == "total_net_input_bytes" => sent = number(value),
                None if name == "total_net_output_bytes" => received = number(value),
                None => {}
            }
        }
        [calls, commands, sent, received]
    }

    /// Bytes of all keys, every element looked at.
    pub(crate) fn bytes_kept(&self) -> f64 {
        let keys = self.server.command(&["KEYS", "*"]).ok();
        let sizes = keys.array().iter().map(|key| {
            let key = key.text();
            let words = ["MEMORY", "USAGE", &key, "SAMPLES", "0"];
            let size = self.server.command(&words).ok().integer();
            f64::from(u32::try_from(size).expect("a test keeps little"))
        });
        sizes.sum()
    }

    fn ask(&mut self, words: &[&str]) -> String {
        let answer = self.connection.command(words);
        answer.expect("the server answers").ok().text()
    }
}

/// `calls=N,usec=…`
fn called(value: &str) -> f64 {
    let calls = value.strip_prefix("calls=").unwrap_or_default();
    number(calls.split(',').next().unwrap_or_default())
}

fn number(text: &str) -> f64 {
    text.parse()
        .unwrap_or_else(|_| panic!("the server tells numbers: {text}"))
}
