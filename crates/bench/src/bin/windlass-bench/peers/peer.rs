//! The queues that are measured, and the amount of work for each.
//!
//! `crates/bench/peers/README.md` explains the settings, and why a queue keeps its jobs or not.

/// The language of a queue's benchmark program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Node,
    Python,
    Ruby,
}

/// The server that stores a queue's jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Redis,
    Beanstalkd,
}

/// One queue; its program is in the folder of the same name.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) language: Language,
    pub(super) engine: Engine,
    /// Whether a job survives the crash of its worker.
    pub(super) keeps_jobs: bool,
    /// Jobs the worker runs at once.
    pub(super) concurrency: u32,
    /// Whether its worker is one process that runs `concurrency` jobs at once.
    pub(super) has_slots: bool,
    /// Jobs for enqueueing one by one: a few seconds' worth.
    pub(super) one_by_one: u32,
    /// Jobs for its worker: a few seconds' worth.
    pub(super) processed: u32,
}

/// Every round runs them in this order, Windlass first.
pub(super) const PEERS: [Peer; 15] = [
    rust("windlass", true, 200, (20_000, 400_000)),
    Peer {
        engine: Engine::Beanstalkd,
        ..rust("beanstalkd", true, 8, (60_000, 90_000))
    },
    rust("redis-work-queue", true, 50, (20_000, 60_000)),
    // Its worker dies on more than 8 000 waiting jobs: a script unpacks them all.
    rust("apalis-redis", true, 100, (20_000, 7_900)),
    rust("rusty-sidekiq", false, 50, (15_000, 15_000)),
    node("bee-queue", 100, (12_000, 40_000)),
    node("bullmq", 100, (8_000, 25_000)),
    // Through a server, which its program starts.
    node("windlass-typescript", 100, (8_000, 60_000)),
    Peer {
        language: Language::Ruby,
        has_slots: false,
        ..rust("sidekiq", false, 10, (12_000, 15_000))
    },
    // Through a server, which its program starts: enqueueing one by one is slower than its worker.
    Peer {
        processed: 60_000,
        ..python("windlass-python", true, 8, 8_000)
    },
    python("huey", false, 2, 8_000),
    python("dramatiq", true, 16, 6_000),
    python("arq", true, 100, 4_000),
    python("celery", true, 2, 2_000),
    python("rq", true, 2, 800),
];

const fn rust(name: &'static str, keeps_jobs: bool, concurrency: u32, jobs: (u32, u32)) -> Peer {
    Peer {
        name,
        language: Language::Rust,
        engine: Engine::Redis,
        keeps_jobs,
        concurrency,
        has_slots: true,
        one_by_one: jobs.0,
        processed: jobs.1,
    }
}

const fn node(name: &'static str, concurrency: u32, jobs: (u32, u32)) -> Peer {
    Peer {
        language: Language::Node,
        ..rust(name, true, concurrency, jobs)
    }
}

const fn python(name: &'static str, keeps_jobs: bool, concurrency: u32, jobs: u32) -> Peer {
    Peer {
        language: Language::Python,
        has_slots: false,
        ..rust(name, keeps_jobs, concurrency, (jobs, jobs))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn folder() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
    }

    #[test]
    fn every_program_of_the_folder_is_measured() {
        let entries = std::fs::read_dir(folder()).expect("the folder exists");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("readable"))
            .filter(|entry| entry.path().is_dir() && entry.file_name() != "contract")
            .map(|entry| entry.file_name().into_string().expect("text"))
            .collect();
        names.sort();
        let mut measured = PEERS.map(|peer| peer.name);
        measured.sort_unstable();
        assert_eq!(names, measured);
    }

    #[test]
    fn the_readme_states_for_each_whether_it_keeps_jobs_and_why() {
        let text = std::fs::read_to_string(folder().join("README.md")).expect("the README exists");
        for peer in &PEERS {
            let row = text
                .lines()
                .find_map(|line| line.strip_prefix(&format!("| {} | ", peer.name)));
            let row = row.unwrap_or_else(|| panic!("no row of {}", peer.name));
            let expected = if peer.keeps_jobs { "yes:" } else { "no:" };
            assert!(
                row.contains(expected),
                "{}: expected `{expected}` in: {row}",
                peer.name
            );
        }
    }
}
