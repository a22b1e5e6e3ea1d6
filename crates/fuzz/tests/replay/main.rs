//! Every seed in `fuzz/corpus` and thousands of mutations of the seeds run through their target.
//!
//! The mutations are the same in every run; `cargo xtask fuzz` searches further. An input that fails is
//! written to a file, which belongs into the corpus once the bug is fixed.

mod mutate;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use windlass_fuzz::TARGETS;

/// The input that is running, with its target.
static RUNNING: Mutex<(String, Vec<u8>)> = Mutex::new((String::new(), Vec::new()));

macro_rules! replays {
    ($($promise:ident: $target:literal, $mutations:literal;)*) => {
        $(#[test] fn $promise() { replay($target, $mutations); })*

        #[test]
        fn every_target_has_seeds_a_test_and_a_program() {
            let tested = [$($target),*];
            for (name, _) in TARGETS {
                assert!(tested.contains(&name), "{name} has no test");
                assert!(!seeds(name).is_empty(), "{name} has no seeds");
                let program = fuzz_folder().join(format!("fuzz_targets/{name}.rs"));
                assert!(program.exists(), "{} is missing", program.display());
            }
            assert_eq!(tested.len(), TARGETS.len());
        }
    };
}

replays! {
    every_api_request_gets_a_reply_or_an_error: "api_verbs", 4_000;
    a_normalized_error_stays_as_it_is: "error_message", 20_000;
    an_exported_job_is_imported_unchanged: "exported_jobs", 4_000;
    every_message_to_the_processor_gets_a_reply: "processor_lines", 4_000;
    a_value_in_redis_is_decoded_or_damaged: "redis_codecs", 20_000;
    the_keys_of_a_queue_are_dumped_or_damaged: "redis_dump", 8_000;
    a_changed_store_file_works_or_returns_errors: "sqlite_file", 200;
    every_line_gets_a_reply: "stdio_lines", 4_000;
    a_token_file_gives_no_rights_by_accident: "token_file", 4_000;
    a_url_or_time_is_read_back_as_printed: "url_and_time", 20_000;
}

fn replay(name: &str, mutations: u64) {
    save_input_on_panic();
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, run) = target.expect("the target is listed");
    let run = |input: &[u8]| {
        *running() = (name.to_owned(), input.to_owned());
        run(input);
    };
    let seeds = seeds(name);
    for seed in &seeds {
        run(seed);
    }
    for number in 0..mutations {
        run(&mutate::mutation(&seeds, number));
    }
}

/// A panic in any thread ends the test, as it ends a run of libFuzzer.
fn save_input_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        let (name, input) = &*running();
        let path = std::env::temp_dir().join(format!("windlass-fuzz-{name}"));
        let saved = std::fs::write(&path, input).is_ok();
        let input = String::from_utf8_lossy(input);
        let path = path.display();
        report(&format!("input (saved to {path}: {saved}):\n{input}"));
        std::process::abort();
    }));
}

#[expect(clippy::print_stderr, reason = "the report of a failed test")]
fn report(text: &str) {
    eprintln!("{text}");
}

fn running() -> std::sync::MutexGuard<'static, (String, Vec<u8>)> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The seeds of a target, in the order of their file names.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = fuzz_folder().join("corpus").join(name);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    let read = |path: &PathBuf| std::fs::read(path).expect("a seed can be read");
    paths.iter().map(read).collect()
}

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}
