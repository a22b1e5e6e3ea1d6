//! `cargo xtask tidy`: holds the style by machine, so that no reviewer has to.
//!
//! Each rule is one file with one function from the [`Tree`] to its violations, and with tests
//! that plant a violation and see it caught.

mod budget;
mod commands;
mod crate_docs;
mod dependencies;
mod documents;
mod drawers;
mod edges;
mod endings;
mod guarantees;
mod links;
mod machine_paths;
mod manifest;
mod markers;
mod named_paths;
mod opening;
mod text_order;
mod tree;
mod violation;

use std::path::Path;
use std::process::ExitCode;

use tree::Tree;
use violation::Violation;

type Rule = fn(&Tree) -> Vec<Violation>;

const RULES: [Rule; 15] = [
    edges::check,
    dependencies::check,
    budget::check,
    opening::check,
    drawers::check,
    markers::check,
    machine_paths::check,
    endings::check,
    crate_docs::check,
    links::check,
    named_paths::check,
    commands::check,
    documents::check,
    guarantees::check,
    text_order::check,
];

/// Runs every rule; exit 1 when any is broken.
pub(crate) fn run(root: &Path) -> ExitCode {
    if is_clean(root) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Prints every violation, and whether there was none.
pub(crate) fn is_clean(root: &Path) -> bool {
    let tree = match Tree::load(root) {
        Ok(tree) => tree,
        Err(error) => {
            println!("tidy could not read the repository: {error}");
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
        0 => println!("tidy: {} rules hold in {files} files", RULES.len()),
        1 => println!("\ntidy: 1 violation in {files} files"),
        count => println!("\ntidy: {count} violations in {files} files"),
    }
    violations.is_empty()
}
