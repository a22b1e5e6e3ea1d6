//! Every code block of a page is run by a test, or there is a reason why not.

use std::collections::BTreeSet;
use std::path::Path;

use crate::page::blocks;

/// Page, language, and what runs its blocks, or why nothing does.
const RUN_BY: &[(&str, &str, &str)] = &[
    ("README.md", "sh", "readme.rs"),
    ("README.md", "rust,no_run", "compiled with the library"),
    ("README.md", "mermaid", "diagrams"),
    ("ARCHITECTURE.md", "", "diagrams"),
    ("CONTRIBUTING.md", "", "the check that runs this"),
    ("docs/duplicates.md", "console", "duplicates.rs"),
    ("docs/from-other-queues.md", "sh", "first_commands.rs"),
    (
        "docs/guarantees.md",
        "sh",
        "cli/output/transcripts.rs, fewer jobs",
    ),
    ("docs/http.md", "console", "http.rs"),
    ("docs/http.md", "python", "tests/http/pull_worker.rs"),
    (
        "docs/http.md",
        "text",
        "a tokens file: tests/http/secrets.rs",
    ),
    ("docs/interop.md", "sh", "interop.rs"),
    ("docs/library.md", "rust", "run with the library"),
    (
        "docs/library.md",
        "sh",
        "an example: tests/examples.rs of the library",
    ),
    (
        "docs/library.md",
        "text",
        "lines of a log: tests/events.rs of the library",
    ),
    ("docs/metrics.md", "sh", "tests/metrics"),
    ("docs/metrics.md", "yaml", "tests/metrics/prometheus.rs"),
    ("docs/operate.md", "sh", "operate.rs"),
    ("docs/operate.md", "toml", "operate.rs"),
    ("docs/performance.md", "sh", "tests/bench"),
    (
        "docs/processor.md",
        "",
        "tests/processor of the crate interop",
    ),
    ("docs/processor.md", "console", "first_commands.rs"),
    ("docs/programs.md", "console", "programs.rs"),
    ("docs/programs.md", "js", "programs.rs"),
    ("docs/programs.md", "sh", "programs.rs"),
    (
        "docs/programs.md",
        "text",
        "lines of a log: tests/programs/log.rs",
    ),
    (
        "docs/python.md",
        "python",
        "tests/test_docs.py of clients/python",
    ),
    (
        "docs/python.md",
        "sh",
        "tests/test_package.py of clients/python",
    ),
    ("docs/python.md", "text", "recipes: need Django or FastAPI"),
    ("docs/redis-layout.md", "sh", "redis.rs"),
    ("docs/redis.md", "", "tests/redis/access.rs"),
    ("docs/redis.md", "sh", "redis.rs"),
    ("docs/limits.md", "sh", "limits.rs"),
    ("docs/limits.md", "console", "limits.rs"),
    ("docs/schedules.md", "sh", "schedules.rs"),
    ("docs/schedules.md", "toml", "schedules.rs"),
    (
        "docs/security.md",
        "console",
        "slow: run by hand, as the page says",
    ),
    ("docs/stdio.md", "", "tests/transcripts"),
    ("docs/stdio.md", "console", "first_commands.rs"),
    (
        "docs/typescript.md",
        "js",
        "test/docs.test.mjs of clients/typescript",
    ),
    (
        "docs/typescript.md",
        "sh",
        "test/docs.test.mjs of clients/typescript",
    ),
    (
        "docs/typescript.md",
        "ts",
        "test/docs.test.mjs of clients/typescript",
    ),
    ("docs/worker.md", "console", "first_commands.rs"),
];

#[test]
fn every_block_of_a_page_is_run_or_there_is_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeSet::new();
    for folder in ["", "docs/"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "md") {
                continue;
            }
            let page = format!("{folder}{}", path.file_name().unwrap().display());
            for block in blocks(&std::fs::read_to_string(&path).unwrap()) {
                found.insert((page.clone(), block.language.to_owned()));
            }
        }
    }

    let known = RUN_BY.iter();
    let known = known.map(|(page, language, _)| ((*page).to_owned(), (*language).to_owned()));

    assert_eq!(
        found,
        known.collect::<BTreeSet<_>>(),
        "list in RUN_BY what runs these blocks"
    );
}
