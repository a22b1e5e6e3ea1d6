//! `cargo xtask fuzz`: runs the fuzz targets with libFuzzer, on the stable toolchain.
//!
//! The folder `fuzz` has the layout of cargo-fuzz, which needs a nightly toolchain; this command sets
//! the same instrumentation with stable flags, without the sanitizers.

use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Args;
use xtask::cargo::cargo;

/// The flags of cargo-fuzz that the stable toolchain knows: coverage counters and compared values.
const RUSTFLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The options of a run.
#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct Options {
    /// Target to run [default: all of them]
    target: Option<String>,

    /// Seconds per target
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
}

/// Builds the targets and runs each of them; stops at the first input that fails.
pub(crate) fn run(root: &Path, options: &Options) -> ExitCode {
    match try_run(root, options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn try_run(root: &Path, options: &Options) -> Result<(), String> {
    let known = targets(root)?;
    let chosen: Vec<&String> = match &options.target {
        None => known.iter().collect(),
        Some(name) => known.iter().filter(|known| *known == name).collect(),
    };
    if chosen.is_empty() {
        return Err(format!(
            "unknown target; expected one of: {}",
            known.join(", ")
        ));
    }
    let host = host()?;
    build(root, &host)?;
    chosen
        .iter()
        .try_for_each(|name| fuzz(root, &host, name, options.seconds))
}

/// The names of all targets, sorted: those of their files.
fn targets(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join("fuzz/fuzz_targets");
    let unreadable = |error| format!("could not read {}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        names.extend(name.map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// The host's target. Only with an explicit target are build scripts left uninstrumented.
fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output();
    let output = output.map_err(|error| format!("could not start rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "`rustc -vV` does not name the host".to_owned())
}

fn build(root: &Path, host: &str) -> Result<(), String> {
    let arguments = [
        "build",
        "--release",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target-dir",
        "target/fuzz",
        "--target",
        host,
    ];
    let mut command = cargo(root, &arguments);
    command.env("RUSTFLAGS", RUSTFLAGS);
    finish(
        &mut command,
        "could not build the targets; they need a C++ compiler",
    )
}

fn fuzz(root: &Path, host: &str, name: &str, seconds: u64) -> Result<(), String> {
    println!("fuzzing {name} for {seconds} s");
    let program = root.join(format!("target/fuzz/{host}/release/{name}"));
    // New inputs are kept apart from the seeds, which stay few.
    let found = root.join(format!("target/fuzz/corpus/{name}"));
    let failed = root.join(format!("fuzz/artifacts/{name}/"));
    for folder in [&found, &failed] {
        let error = |error| format!("could not create {}: {error}", folder.display());
        std::fs::create_dir_all(folder).map_err(error)?;
    }
    let mut command = Command::new(program);
    command
        .current_dir(root)
        .arg(&found)
        .arg(format!("fuzz/corpus/{name}"))
        .arg("-dict=fuzz/words.dict")
        .arg("-timeout=60")
        .arg("-print_final_stats=1")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}", failed.display()));
    let next = format!(
        "{name} failed; the input is in fuzz/artifacts/{name}. Fix the bug, and move the input to \
         fuzz/corpus/{name} under a name that says what it is"
    );
    finish(&mut command, &next)
}

fn finish(command: &mut Command, failed: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(failed.to_owned()),
        Err(error) => Err(format!("{failed}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn a_run_takes_a_minute_per_target_by_default() {
        let parse = |line: &[&str]| {
            let parsed = Line::try_parse_from([&["fuzz"], line].concat());
            parsed.ok().map(|line| line.options)
        };
        let options = |seconds, target: Option<&str>| {
            let target = target.map(str::to_owned);
            Some(Options { target, seconds })
        };
        assert_eq!(parse(&[]), options(60, None));
        let one = ["--seconds", "5", "api_verbs"];
        assert_eq!(parse(&one), options(5, Some("api_verbs")));
        for bad in [&["--seconds", "soon"][..], &["--seconds"], &["a", "b"]] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_targets_are_those_of_the_folder() {
        let names = targets(&xtask::root()).expect("the folder is there");
        assert!(names.contains(&"sqlite_file".to_owned()), "{names:?}");
    }
}
