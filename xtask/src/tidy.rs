//! `cargo xtask tidy`: checks the style rules, so that reviewers do not have to.
//!
//! Each rule is one file with one function that maps the [`Tree`] to violations, and with tests that
//! plant a violation and expect it to be found.

mod commands;
mod crate_docs;
mod dependencies;
mod edges;
mod guarantees;
mod lengths;
mod links;
mod lua_comparisons;
mod machine_paths;
mod manifest;
mod markers;
mod named_paths;
mod purpose_line;
mod tree;
mod unique_types;
mod vague_names;
mod violation;
mod vocabulary;
mod whitespace;

use std::path::Path;
use std::process::ExitCode;

use tree::Tree;
use violation::Violation;

type Rule = fn(&Tree) -> Vec<Violation>;

const RULES: [Rule; 16] = [
    edges::check,
    dependencies::check,
    lengths::check,
    purpose_line::check,
    vague_names::check,
    markers::check,
    machine_paths::check,
    whitespace::check,
    crate_docs::check,
    links::check,
    named_paths::check,
    commands::check,
    guarantees::check,
    lua_comparisons::check,
    vocabulary::check,
    unique_types::check,
];

/// Runs every rule. Exits with 1 if any is violated.
pub(crate) fn run(root: &Path) -> ExitCode {
    if is_clean(root) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Prints every violation. Returns whether there are zero.
pub(crate) fn is_clean(root: &Path) -> bool {
    let tree = match Tree::load(root) {
        Ok(tree) => tree,
        Err(error) => {
            println!("could not read the repository: {error}");
            return false;
        }
    };
    let mut violations: Vec<_> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    violations.sort();
    for violation in &violations {
        println!("{violation}");
    }
    let files = tree.files().len();
    match violations.len() {
        0 => println!("tidy: {} rules passed in {files} files", RULES.len()),
        1 => println!("\ntidy: 1 violation in {files} files"),
        count => println!("\ntidy: {count} violations in {files} files"),
    }
    violations.is_empty()
}
