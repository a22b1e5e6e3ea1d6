//! The machine, software versions and date of a run.

use std::process::Command;

use serde::{Deserialize, Serialize};

/// The machine and the programs that all queues share.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) memory_gib: Option<u64>,
    pub(crate) kernel: String,
    pub(crate) redis: String,
    /// Node, Python and Ruby.
    pub(crate) languages: Vec<String>,
}

impl Machine {
    pub(crate) fn detect() -> Self {
        let redis = std::env::var("WINDLASS_REDIS_SERVER");
        let redis = redis.unwrap_or_else(|_| "redis-server".to_owned());
        let banner = stdout_of(&redis, &["--version"]);
        let version = banner
            .split_whitespace()
            .find_map(|word| word.strip_prefix("v="));
        let languages = [
            ("rustc", stdout_of("rustc", &["--version"])),
            ("Node", stdout_of("node", &["--version"])),
            ("Python", stdout_of("python3", &["--version"])),
            ("Ruby", stdout_of("ruby", &["--version"])),
        ];
        let version_of = |(name, banner): (&str, String)| {
            let mut words = banner.split_whitespace();
            let digits = |word: &&str| {
                let word = word.trim_start_matches('v');
                word.starts_with(|first: char| first.is_ascii_digit())
            };
            let found = words.find(digits)?.trim_start_matches('v');
            Some(format!("{name} {found}"))
        };
        Self {
            cores: std::thread::available_parallelism().map_or(1, |count| count.get()),
            memory_gib: memory(),
            kernel: stdout_of("uname", &["-sr"]),
            redis: version.unwrap_or("(unknown version)").to_owned(),
            languages: languages.into_iter().filter_map(version_of).collect(),
        }
    }

    /// One line for the page.
    pub(crate) fn shown(&self) -> String {
        let memory = match self.memory_gib {
            Some(gib) => format!("{gib} GiB"),
            None => "memory unknown".to_owned(),
        };
        format!(
            "{} cores, {memory}, {}, Redis {} on loopback without persistence; {}",
            self.cores,
            self.kernel,
            self.redis,
            self.languages.join(", ")
        )
    }
}

/// The date, as `2026-11-16`.
pub(crate) fn today() -> String {
    stdout_of("date", &["-u", "+%Y-%m-%d"])
}

fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some((kib + (1 << 19)) >> 20)
}

/// The standard output of a program; empty if it is not installed.
fn stdout_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text).trim().to_owned()
}
