//! The folder of wake-up sockets, used by descriptor, so that it cannot be exchanged after the check.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, open, statat, unlinkat};
use rustix::io::Errno;
use windlass_core::Result;

use crate::error;
use crate::owner::Trusted;

/// Permission bits that let other users create and remove sockets.
const OTHERS_WRITE: u32 = 0o022;

#[derive(Debug)]
pub(crate) struct SocketFolder {
    file: File,
    path: PathBuf,
    trusted: Trusted,
    modified: Option<SystemTime>,
}

impl SocketFolder {
    /// Opens the folder. `None` if it is missing; an error if it is a link, belongs to another user, or
    /// other users may write to it.
    pub(crate) fn open(path: &Path, trusted: Trusted) -> Result<Option<Self>> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match open(path, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Err(error::planted(path, "is not a folder"));
            }
            Err(error) => return Err(error::from_io(error.into(), path)),
        };
        let found = trusted.check_file(&file, path)?;
        if found.mode() & OTHERS_WRITE != 0 {
            return Err(error::open_folder(path, found.mode() & 0o777));
        }
        Ok(Some(Self {
            file,
            path: path.to_owned(),
            trusted,
            modified: found.modified().ok(),
        }))
    }

    /// Opens the folder, and creates it if missing.
    pub(crate) fn create(path: &Path, trusted: Trusted) -> Result<Self> {
        let io = |error| error::from_io(error, path);
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io(error)),
            _ => {}
        }
        Self::open(path, trusted)?.ok_or_else(|| io(io::ErrorKind::NotFound.into()))
    }

    pub(crate) fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// The name of a new socket.
    pub(crate) fn new_name() -> String {
        format!("{:016x}", fastrand::u64(..))
    }

    /// The names of the sockets; files with other names are ignored.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = Dir::read_from(&self.file).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned))
            .filter(|name| is_ours(name))
            .collect()
    }

    /// A path for a socket address. It leads through the descriptor where the system allows that; it
    /// is also short, as socket addresses must be.
    pub(crate) fn address(&self, name: &str) -> PathBuf {
        let by_descriptor = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        if by_descriptor.exists() {
            by_descriptor.join(name)
        } else {
            self.path.join(name)
        }
    }

    /// Removes a socket; anything else is left alone.
    pub(crate) fn remove(&self, name: &str) {
        let is_socket = statat(&self.file, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|file| {
            FileType::from_raw_mode(file.st_mode) == FileType::Socket
                && self.trusted.trusts(file.st_uid)
        });
        if is_ours(name) && is_socket {
            // Removing it twice is harmless.
            let _ = unlinkat(&self.file, name, AtFlags::empty());
        }
    }
}

fn is_ours(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.len() == 16 && name.bytes().all(is_digit)
}
