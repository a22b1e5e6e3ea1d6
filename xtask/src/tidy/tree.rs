//! The files of the repository: tracked by git, or untracked and not ignored.

use std::io;
use std::path::Path;
use std::process::Command;

use super::violation::Violation;

/// Folders to skip when git cannot list the files.
const OUTSIDE: [&str; 3] = [".git", "target", "node_modules"];

/// Inputs of the fuzz targets: data of any form, no text of ours.
const INPUTS: &str = "fuzz/corpus/";

/// Documents about the past, which may name files that no longer exist.
const HISTORY: [&str; 2] = ["CHANGELOG.md", "docs/decisions/"];

/// One file, with its path from the root, written with `/`.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: String,
    /// The content; empty if it is not UTF-8.
    pub(super) text: String,
}

impl File {
    /// Returns whether it has this extension.
    pub(super) fn is(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| found == extension)
    }

    /// Returns whether it is about the past.
    pub(super) fn is_history(&self) -> bool {
        HISTORY.iter().any(|past| self.path.starts_with(past))
    }

    /// Iterates over the lines with their 1-based numbers.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }
}

/// All files, sorted by path.
#[derive(Debug)]
pub(super) struct Tree {
    files: Vec<File>,
}

impl Tree {
    /// Reads the repository. Without git (an unpacked archive), walks the folder and prints a note.
    pub(super) fn load(root: &Path) -> io::Result<Self> {
        let paths = if let Some(paths) = listed_by_git(root) {
            paths
        } else {
            println!("git could not list the files: reading the folder instead");
            let mut paths = Vec::new();
            walk(root, "", &mut paths)?;
            paths
        };
        let mut files = Vec::new();
        for path in paths.into_iter().filter(|path| !path.starts_with(INPUTS)) {
            let full = root.join(&path);
            // Git still lists a deleted file until it is committed. Symbolic links are skipped.
            if full.symlink_metadata().is_ok_and(|found| found.is_file()) {
                let text = String::from_utf8(std::fs::read(full)?).unwrap_or_default();
                files.push(File { path, text });
            }
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Self { files })
    }

    pub(super) fn files(&self) -> &[File] {
        &self.files
    }

    pub(super) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Checks each line of some files: `wrong` returns what is wrong with it.
    pub(super) fn check_lines(
        &self,
        is_read: impl Fn(&File) -> bool,
        wrong: impl Fn(&str) -> Vec<String>,
        fix: &str,
    ) -> Vec<Violation> {
        let mut violations = Vec::new();
        for file in self.files.iter().filter(|file| is_read(file)) {
            for (number, line) in file.lines() {
                let found = wrong(line).into_iter();
                violations.extend(found.map(|what| Violation::new(&file.path, number, what, fix)));
            }
        }
        violations
    }

    /// Iterates over the Rust files.
    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is("rs"))
    }

    /// Returns whether the repository has a file or folder with this path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| {
            file.path
                .strip_prefix(path)
                .is_some_and(|rest| path.is_empty() || rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Builds a tree for tests.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| File {
                path: (*path).to_owned(),
                text: (*text).to_owned(),
            })
            .collect();
        Self { files }
    }
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "-co", "--exclude-standard"])
        .output()
        .ok()?;
    let listing = String::from_utf8(output.stdout).ok()?;
    // The list is empty inside another repository that ignores this folder.
    (output.status.success() && !listing.is_empty())
        .then(|| listing.split_terminator('\0').map(str::to_owned).collect())
}

fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> io::Result<()> {
    for entry in std::fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = if folder.is_empty() {
            name.clone()
        } else {
            format!("{folder}/{name}")
        };
        if !entry.file_type()?.is_dir() {
            paths.push(path);
        } else if !OUTSIDE.contains(&name.as_str()) {
            walk(root, &path, paths)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_read_with_and_without_git() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut walked = Vec::new();
        walk(&root, "", &mut walked).unwrap();

        let tree = Tree::load(&root).unwrap();

        assert!(walked.iter().any(|path| path == file!()));
        assert!(!walked.iter().any(|path| path.starts_with("target/")));
        assert!(
            tree.get(file!())
                .is_some_and(|file| file.text.starts_with("//! "))
        );
    }

    #[test]
    fn a_folder_is_there_when_a_file_is_in_it() {
        let tree = Tree::of(&[("docs/one.md", "")]);
        assert!(tree.has("docs/one.md") && tree.has("docs") && tree.has(""));
        assert!(!tree.has("doc") && !tree.has("docs/one"));
    }
}
