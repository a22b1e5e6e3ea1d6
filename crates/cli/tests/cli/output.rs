//! What every command prints, compared with a file for each: for people, and as JSON.
//!
//! A scene runs twice, each time on a fresh store. Its lines are those of a shell behind `windlass`:
//! `'…'` is one word, `<<< …` is standard input, `{token}` is the token that was printed last. A line
//! that begins with `@` prepares something and is not part of the file.

mod mask;
mod running;
mod scenes;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use super::sandbox::{Ran, Sandbox};
use super::snapshot::Snapshots;
use mask::{mask, token};
use scenes::SCENES;

/// Plays a scene for people and, beside it, as JSON; answers both transcripts.
fn transcript(lines: &[&str]) -> String {
    std::thread::scope(|scope| {
        let json = scope.spawn(|| play(lines, "--json "));
        format!("{}\n{}", play(lines, ""), json.join().unwrap())
    })
}

fn play(lines: &[&str], flag: &str) -> String {
    let mut text = String::new();
    let sandbox = Sandbox::new();
    let mut held = String::new();
    for line in lines {
        let (line, is_shown) = match line.strip_prefix('@') {
            Some(line) => (line, false),
            None => (*line, true),
        };
        let ran = run(
            &sandbox,
            &format!("{flag}{}", line.replace("{token}", &held)),
        );
        held = token(&ran.text()).unwrap_or(held);
        if is_shown {
            text += &shown(&format!("{flag}{line}"), &ran);
        } else {
            ran.ok();
        }
    }
    text
}

/// A line and what came of it, as in a terminal; talk is marked.
fn shown(line: &str, ran: &Ran) -> String {
    let mut text = format!("$ windlass {line}\n");
    text += &mask(&ran.text());
    for talk in mask(&ran.stderr).lines() {
        writeln!(text, "! {talk}").unwrap();
    }
    if ran.code != Some(0) {
        writeln!(text, "(exit {})", ran.code.unwrap()).unwrap();
    }
    text
}

fn run(sandbox: &Sandbox, line: &str) -> Ran {
    let (line, input) = line.split_once(" <<< ").unwrap_or((line, ""));
    let quoted = line.split('\'').enumerate();
    let words: Vec<&str> = quoted
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        })
        .collect();
    let mut command = sandbox.command(&words);
    if !input.is_empty() {
        // All of it is there before anybody looks.
        let (reader, mut writer) = std::io::pipe().unwrap();
        writeln!(writer, "{}", input.replace("\\n", "\n")).unwrap();
        command.stdin(reader);
    }
    Ran::from(command.output().unwrap())
}

#[test]
fn what_every_command_prints_is_as_it_was_read_last() {
    let mut snapshots = Snapshots::open("output");

    for (name, lines) in SCENES {
        snapshots.compare(name, &transcript(lines));
    }
    for (name, text) in running::transcripts() {
        snapshots.compare(name, &text);
    }

    snapshots.finish();
}

/// Commands whose output is no file here, and why.
const WITHOUT: [(&str, &str); 1] = [(
    "windlass-completions",
    "the script follows from the commands, and clap writes it",
)];

#[test]
fn every_command_has_a_scene() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let names = |name: &str| -> BTreeSet<String> {
        let files = std::fs::read_dir(folder.join(name)).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        paths
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect()
    };
    // What has commands of its own needs no scene; older systems have tests beside theirs.
    let all = names("help");
    let is_leaf = |name: &&String| !all.iter().any(|it| it.starts_with(&format!("{name}-")));
    let commands = all.iter().filter(is_leaf).filter(|name| {
        let is_older = name.starts_with("windlass-interop");
        !is_older && WITHOUT.iter().all(|(without, _)| without != name)
    });

    let scenes = names("output");

    let missing: Vec<_> = commands.filter(|name| !scenes.contains(*name)).collect();
    assert!(missing.is_empty(), "without a scene: {missing:?}");
}
