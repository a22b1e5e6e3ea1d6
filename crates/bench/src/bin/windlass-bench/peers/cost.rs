//! The cost of a run, from the server's own counters before and after.

use serde::{Deserialize, Serialize};

/// The server's counters at one moment; `None` for what an engine does not count.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Snapshot {
    pub(super) clients: f64,
    commands: Option<f64>,
    reads: Option<f64>,
    cpu_us: Option<f64>,
    bytes: Option<f64>,
}

impl Snapshot {
    /// Parses the reply of Redis to INFO.
    pub(super) fn of_info(info: &str) -> Self {
        let field = |name: &str| -> Option<f64> {
            info.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .and_then(|value| value.trim().parse().ok())
        };
        let seconds = field("used_cpu_user").zip(field("used_cpu_sys"));
        Self {
            clients: field("connected_clients").unwrap_or_default(),
            commands: field("total_commands_processed"),
            reads: field("total_reads_processed"),
            cpu_us: seconds.map(|(user, system)| (user + system) * 1e6),
            bytes: field("used_memory"),
        }
    }

    /// For a server without counters: its memory, if the system reports it.
    pub(super) fn of_process(pid: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next())
            .and_then(|value| value.parse::<f64>().ok());
        Self {
            bytes: kib.map(|kib| kib * 1024.0),
            ..Self::default()
        }
    }

    /// The difference since `before`, per job.
    pub(super) fn since(&self, before: &Self, jobs: u32) -> Cost {
        let per_job =
            |after: Option<f64>, before: Option<f64>| Some((after? - before?) / f64::from(jobs));
        Cost {
            commands: per_job(self.commands, before.commands),
            reads: per_job(self.reads, before.reads),
            cpu_us: per_job(self.cpu_us, before.cpu_us),
            bytes: per_job(self.bytes, before.bytes),
        }
    }
}

/// The cost of a job for the server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Cost {
    /// Commands processed, including those inside scripts.
    pub(super) commands: Option<f64>,
    /// Reads from connections: about the number of round trips.
    pub(super) reads: Option<f64>,
    /// CPU time in microseconds.
    pub(super) cpu_us: Option<f64>,
    /// Memory still in use.
    pub(super) bytes: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_redis_are_divided_by_the_jobs() {
        let info = |commands: u32, cpu: f64, bytes: u32| {
            format!(
                "# Stats\r\ntotal_commands_processed:{commands}\r\ntotal_reads_processed:4\r\n\
                 connected_clients:1\r\nused_memory:{bytes}\r\nused_memory_rss:9\r\n\
                 used_cpu_sys:{cpu}\r\nused_cpu_user:1.0\r\nused_cpu_sys_children:7\r\n"
            )
        };
        let before = Snapshot::of_info(&info(10, 1.0, 1_000));
        let after = Snapshot::of_info(&info(210, 1.5, 21_000));
        assert!(before.clients < 1.5);
        let cost = after.since(&before, 100);
        assert_eq!(cost.commands, Some(2.0));
        assert_eq!(cost.reads, Some(0.0));
        assert_eq!(cost.cpu_us, Some(5_000.0));
        assert_eq!(cost.bytes, Some(200.0));
    }

    #[test]
    fn a_missing_counter_is_absent_and_not_zero() {
        let nothing = Snapshot::default();
        assert_eq!(nothing.since(&nothing, 10).commands, None);
    }
}
