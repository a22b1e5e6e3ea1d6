//! Compares printed text with a reviewed snapshot file.
//!
//! `WINDLASS_SNAPSHOT=write` rewrites the files; review the diff before you commit it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A folder of snapshots, each a text file.
pub(crate) struct Snapshots {
    folder: PathBuf,
    is_writing: bool,
    seen: BTreeSet<String>,
    errors: Vec<String>,
}

impl Snapshots {
    /// Opens the folder `name` in `tests/snapshots`.
    pub(crate) fn open(name: &str) -> Self {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
        Self {
            folder: all.join(name),
            is_writing: std::env::var_os("WINDLASS_SNAPSHOT").is_some_and(|value| value == "write"),
            seen: BTreeSet::new(),
            errors: Vec::new(),
        }
    }

    /// Compares a text with its file. Differences are reported by [`finish`](Self::finish).
    pub(crate) fn compare(&mut self, name: &str, text: &str) {
        let file = format!("{name}.txt");
        let path = self.folder.join(&file);
        self.seen.insert(file);
        if self.is_writing {
            std::fs::create_dir_all(&self.folder).unwrap();
            std::fs::write(&path, text).unwrap();
            return;
        }
        match std::fs::read_to_string(&path) {
            Ok(kept) if kept == text => {}
            Ok(kept) => self
                .errors
                .push(format!("{name}: {}", difference(&kept, text))),
            Err(error) => self.errors.push(format!("{name} has no snapshot: {error}")),
        }
    }

    /// Fails if a text differs or a snapshot file is unused.
    pub(crate) fn finish(mut self) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if self.seen.contains(&name) {
                continue;
            }
            if self.is_writing {
                std::fs::remove_file(path).unwrap();
            } else {
                self.errors.push(format!("{name} is not used any more"));
            }
        }
        assert!(
            self.errors.is_empty(),
            "{}\n\nif the change is intended, run the test again with WINDLASS_SNAPSHOT=write",
            self.errors.join("\n")
        );
    }
}

/// Returns the first line that differs.
fn difference(kept: &str, text: &str) -> String {
    let (mut kept, mut text) = (kept.lines(), text.lines());
    let mut number = 0;
    loop {
        number += 1;
        let (was, is) = (kept.next(), text.next());
        if was != is {
            let show = |line: Option<&str>| line.unwrap_or("(the end)").to_owned();
            return format!("line {number}\n  was: {}\n  is:  {}", show(was), show(is));
        }
        if was.is_none() {
            return "only line endings differ".to_owned();
        }
    }
}
