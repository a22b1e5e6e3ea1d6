//! Every example runs and exits successfully.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails at that line"
)]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

/// Long enough for the slowest machine; each example takes less than a second.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The examples by name: every file of the folder.
fn examples() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    found.sort();
    found
}

/// The program that cargo built from an example, next to this one.
fn program(name: &str, source: &Path) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let target = own.parent().and_then(Path::parent).unwrap();
    let program = target
        .join("examples")
        .join(name)
        .with_extension(std::env::consts::EXE_EXTENSION);
    let changed = |path: &Path| path.metadata().and_then(|meta| meta.modified());
    let is_fresh = changed(&program).is_ok_and(|built| built >= changed(source).unwrap());
    assert!(
        is_fresh,
        "{name} is not built: run `cargo test -p windlass`, which builds the examples"
    );
    program
}

#[tokio::test]
async fn every_example_shows_what_it_promises() {
    let examples = examples();
    assert!(examples.len() >= 16, "{}", examples.len());
    let runs: Vec<_> = examples
        .iter()
        .map(|(name, source)| {
            let mut command = Command::new(program(name, source));
            command.stdin(Stdio::null()).kill_on_drop(true);
            (name, tokio::spawn(timeout(TIMEOUT, command.output())))
        })
        .collect();
    let mut failed = Vec::new();
    for (name, run) in runs {
        match run.await.unwrap() {
            Ok(output) => {
                let output = output.unwrap();
                if !output.status.success() {
                    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                    failed.push(format!("{name} ended with {}:\n{stderr}", output.status));
                }
            }
            Err(_) => failed.push(format!("{name} does not end")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
