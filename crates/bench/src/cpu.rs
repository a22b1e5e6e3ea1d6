//! CPU time, which tells designs apart even while the machine is busy with something else.

use std::time::Duration;

use windlass_testkit::redis::Server;

/// CPU time of this process so far, all threads.
pub(crate) fn own() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name of the program, which may hold spaces, in ticks of 10 ms.
    let fields = text.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// CPU time of a server so far.
pub(crate) fn of(server: &Server) -> Duration {
    let text = server.command(&["INFO", "cpu"]).text();
    let seconds: f64 = text
        .lines()
        .filter_map(|line| {
            ["used_cpu_user:", "used_cpu_sys:"]
                .iter()
                .find_map(|name| line.strip_prefix(name))
        })
        .filter_map(|value| value.trim().parse::<f64>().ok())
        .sum();
    Duration::from_secs_f64(seconds)
}

/// Scripts a server was asked to run so far.
pub(crate) fn calls(server: &Server) -> u64 {
    let text = server.command(&["INFO", "commandstats"]).text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    line.and_then(|rest| rest.split(',').next()?.parse().ok())
        .unwrap_or_default()
}
