//! The queues that are measured, and how much of the work each is given.
//!
//! Why a setting is what it is, and why a queue keeps its jobs or not, is in `bench/peers/README.md`.

/// How a program of ours for a queue is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Node,
    Python,
    Ruby,
}

/// What a queue keeps its jobs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Redis,
    Beanstalkd,
}

/// One queue of the bench; its program is in the folder of its name.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) language: Language,
    pub(super) engine: Engine,
    /// Whether a job outlives the worker that had it.
    pub(super) keeps_jobs: bool,
    /// Jobs at once in the worker.
    pub(super) concurrency: u32,
    /// Jobs that take it a few seconds, one by one.
    pub(super) one_by_one: u32,
    /// Jobs that take its worker a few seconds.
    pub(super) processed: u32,
}

/// In this order in every round, ours first.
pub(super) const PEERS: [Peer; 13] = [
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
    Peer {
        language: Language::Ruby,
        ..rust("sidekiq", false, 10, (12_000, 15_000))
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
        ..rust(name, keeps_jobs, concurrency, (jobs, jobs))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn folder() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/peers")
    }

    #[test]
    fn every_program_of_the_folder_is_measured() {
        let entries = std::fs::read_dir(folder()).expect("the folder is there");
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
    fn the_readme_says_of_each_whether_it_keeps_jobs_and_why() {
        let text = std::fs::read_to_string(folder().join("README.md")).expect("it is there");
        for peer in &PEERS {
            let row = text
                .lines()
                .find_map(|line| line.strip_prefix(&format!("| {} | ", peer.name)));
            let row = row.unwrap_or_else(|| panic!("no row of {}", peer.name));
            let word = if peer.keeps_jobs { "yes:" } else { "no:" };
            assert!(
                row.contains(word),
                "{} should say `{word}`: {row}",
                peer.name
            );
        }
    }
}
