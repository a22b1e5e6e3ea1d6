//! Files that decide what a process does: only their owner may write them.

use std::fs::{File, Metadata};
use std::path::Path;

use windlass_core::{Error, Result};

/// Rejects an open file that another user may write or owns: it could add a token of its own, or name
/// another store. `part` is the file's name in errors. The links of `path` are resolved.
pub fn check(file: &File, path: &Path, part: &str) -> Result<Metadata> {
    let metadata = file.metadata().map_err(|error| {
        let help = "check the path and the permissions of the file";
        Error::invalid(part, &error, help)
    })?;
    // A device or pipe has no content that stays.
    if metadata.is_file() {
        check_access(&metadata, path, part)?;
    }
    Ok(metadata)
}

#[cfg(unix)]
fn check_access(metadata: &Metadata, path: &Path, part: &str) -> Result<()> {
    use std::os::unix::fs::MetadataExt;

    let user = rustix::process::geteuid().as_raw();
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o777);
    match fault(owner, mode, user) {
        None => Ok(()),
        Some(Fault::OthersWrite) => Err(Error::invalid(
            part,
            format!("other users may write {} (mode {mode:o})", path.display()),
            format!("run `chmod go-w {}`", path.display()),
        )),
        Some(Fault::ForeignOwner) => Err(Error::invalid(
            part,
            format!("{} belongs to user {owner}", path.display()),
            format!(
                "run `chown {user} {}` if you trust its content",
                path.display()
            ),
        )),
    }
}

#[cfg(unix)]
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    OthersWrite,
    ForeignOwner,
}

/// Trusts files of this user and of root.
#[cfg(unix)]
fn fault(owner: u32, mode: u32, user: u32) -> Option<Fault> {
    const WRITE_BY_OTHERS: u32 = 0o022;
    if owner != user && owner != 0 {
        Some(Fault::ForeignOwner)
    } else if mode & WRITE_BY_OTHERS != 0 {
        Some(Fault::OthersWrite)
    } else {
        None
    }
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature everywhere")]
fn check_access(_: &Metadata, _: &Path, _: &str) -> Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_this_user_and_of_root_are_trusted() {
        assert_eq!(fault(7, 0o600, 7), None);
        assert_eq!(fault(0, 0o644, 7), None);
        assert_eq!(fault(8, 0o600, 7), Some(Fault::ForeignOwner));
        assert_eq!(fault(7, 0o600, 0), Some(Fault::ForeignOwner));
        for mode in [0o660, 0o622, 0o602] {
            assert_eq!(fault(7, mode, 7), Some(Fault::OthersWrite), "{mode:o}");
        }
    }
}
