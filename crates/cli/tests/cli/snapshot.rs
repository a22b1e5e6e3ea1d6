//! Compares printed text with a file that a person has looked at.
//!
//! `WINDLASS_SNAPSHOT=write` writes the files anew; look at the difference before you keep it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A folder of snapshots, each a plain text file.
pub(crate) struct Snapshots {
    folder: PathBuf,
    is_writing: bool,
    seen: BTreeSet<String>,
    faults: Vec<String>,
}

impl Snapshots {
    /// The folder called `name` among all snapshots of the command line.
    pub(crate) fn open(name: &str) -> Self {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
        Self {
            folder: all.join(name),
            is_writing: std::env::var_os("WINDLASS_SNAPSHOT").is_some_and(|word| word == "write"),
            seen: BTreeSet::new(),
            faults: Vec::new(),
        }
    }

    /// Compares one text with its file; what differs is told at the end.
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
                .faults
                .push(format!("{name}: {}", difference(&kept, text))),
            Err(error) => self.faults.push(format!("{name} has no snapshot: {error}")),
        }
    }

    /// Fails for every text that differed, and for every file that nothing was compared with.
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
                self.faults
                    .push(format!("{name} is of something that is gone"));
            }
        }
        assert!(
            self.faults.is_empty(),
            "{}\n\nwhere this is what is wanted, run the test again with WINDLASS_SNAPSHOT=write",
            self.faults.join("\n")
        );
    }
}

/// The first line that is not the same.
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
            return "only the ends of lines differ".to_owned();
        }
    }
}
