//! Who may own the files of a store. Files that another user planted next to it are refused.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use windlass_core::Result;

use crate::error;
use crate::file::with_suffix;

/// The files of SQLite next to a store. SQLite itself does not follow links there.
const SQLITE_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A file of a store, for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFile {
    /// Its path.
    pub path: PathBuf,
    /// The user id of its owner.
    pub owner: u32,
    /// Permission bits.
    pub mode: u32,
    /// Whether the store is refused because of the owner.
    pub is_foreign: bool,
}

/// The users whose files are trusted: the user of this process, the store's owner, and root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trusted {
    user: u32,
    store_user: u32,
    store_group: u32,
}

impl Trusted {
    /// The trusted users of an existing store; its links are resolved.
    fn of(store: &Path) -> io::Result<Self> {
        let store = std::fs::metadata(store)?;
        Ok(Self {
            user: rustix::process::geteuid().as_raw(),
            store_user: store.uid(),
            store_group: store.gid(),
        })
    }

    pub(crate) const fn trusts(self, owner: u32) -> bool {
        owner == self.user || owner == self.store_user || owner == 0
    }

    /// Whether this process may use a store of this owner. Root administrates every store.
    const fn allows_store(self) -> bool {
        self.user == 0 || self.store_user == self.user || self.store_user == 0
    }

    /// Rejects an open file of another user. Root leaves what it created to the store's owner.
    pub(crate) fn check_file(self, file: &File, path: &Path) -> Result<Metadata> {
        let io = |error| error::from_io(error, path);
        let found = file.metadata().map_err(io)?;
        if !self.trusts(found.uid()) {
            return Err(error::foreign_owner(path, found.uid()));
        }
        if self.user == 0 && found.uid() == 0 && self.store_user != 0 {
            fchown(file, Some(self.store_user), Some(self.store_group)).map_err(io)?;
        }
        Ok(found)
    }
}

/// The owner of the file at a path, which may be a link, and its permission bits.
fn owner_of(path: &Path) -> Option<(u32, u32)> {
    let file = std::fs::symlink_metadata(path).ok()?;
    Some((file.uid(), file.mode() & 0o7777))
}

/// Checks the owner of a store, of the link that leads to it, and of the files of SQLite next to it.
/// `path` is the path as given, `store` has its links resolved.
pub(crate) fn check_store(path: &Path, store: &Path) -> Result<Trusted> {
    let trusted = Trusted::of(store).map_err(|error| error::from_io(error, store))?;
    if !trusted.allows_store() {
        return Err(error::foreign_owner(store, trusted.store_user));
    }
    let side_files = SQLITE_FILES.map(|suffix| with_suffix(store, suffix));
    for file in [path]
        .into_iter()
        .chain(side_files.iter().map(PathBuf::as_path))
    {
        if let Some((owner, _)) = owner_of(file)
            && !trusted.trusts(owner)
        {
            return Err(error::foreign_owner(file, owner));
        }
    }
    Ok(trusted)
}

/// Lists the files of the store at `path` that exist, for operators.
pub fn files(path: &Path) -> Vec<StoreFile> {
    let store = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Ok(trusted) = Trusted::of(&store) else {
        return Vec::new();
    };
    let suffixes = ["", "-lock", "-wakeups"].into_iter().chain(SQLITE_FILES);
    let paths = suffixes.map(|suffix| with_suffix(&store, suffix));
    let file = |path: PathBuf| {
        let (owner, mode) = owner_of(&path)?;
        let is_foreign = !trusted.trusts(owner) || (path == store && !trusted.allows_store());
        Some(StoreFile {
            path,
            owner,
            mode,
            is_foreign,
        })
    };
    paths.filter_map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_user_the_owner_of_the_store_and_root_are_trusted() {
        let users = |user, store_user| Trusted {
            user,
            store_user,
            store_group: 0,
        };
        assert!(users(7, 7).allows_store() && users(0, 7).allows_store());
        assert!(users(7, 0).allows_store());
        assert!(!users(7, 8).allows_store());
        for owner in [0, 7, 8] {
            assert!(users(7, 8).trusts(owner));
        }
        assert!(!users(7, 8).trusts(9) && !users(0, 7).trusts(9));
    }
}
