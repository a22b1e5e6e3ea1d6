//! Where the file of an embedded store is: whether its folder can be written, whether the disk has
//! room, and whether the sockets beside it still have somebody behind them.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, statvfs};

use super::{Check, Status};

/// With less room than this on the disk, jobs may soon be refused: 64 MiB.
const ROOM_MIN: u64 = 64 * 1024 * 1024;

/// Looks at what is around the file, whether or not the store could be opened.
pub(super) fn examine(path: &Path, checks: &mut Vec<Check>) {
    // By a link the store is where the link points to.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = std::path::absolute(&path).unwrap_or(path);
    let Some(folder) = path.parent().filter(|folder| folder.is_dir()) else {
        return;
    };
    checks.push(writable(folder));
    checks.extend(room(folder));
    checks.extend(bells(&beside(&path, "-bells")));
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn writable(folder: &Path) -> Check {
    let shown = folder.display();
    match access(folder, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Check::ok("folder", format!("{shown} can be written")),
        Err(error) => Check::new(
            Status::Fail,
            "folder",
            format!(
                "{shown} cannot be written ({}): the store keeps its log beside its file",
                io::Error::from(error)
            ),
            format!("give this user the right to write to {shown}, or move the store"),
        ),
    }
}

fn room(folder: &Path) -> Option<Check> {
    let disk = statvfs(folder).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let what = format!("{} MiB free on its disk", free / 1024 / 1024);
    Some(if free >= ROOM_MIN {
        Check::ok("room", what)
    } else {
        Check::new(
            Status::Warn,
            "room",
            format!("{what}: enqueue is refused when there is none"),
            "make room, start workers, or keep fewer finished jobs with `windlass queue set`",
        )
    })
}

/// A process that waits for work has a socket here, and takes it away when it ends well.
fn bells(folder: &Path) -> Option<Check> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        // Nobody has waited yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            return Some(Check::new(
                Status::Warn,
                "bells",
                format!(
                    "{} cannot be read ({error}): processes that wait find work a little later",
                    folder.display()
                ),
                "make it a folder of the store's owner, or remove it",
            ));
        }
    };
    let sockets = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()));
    let (gone, heard): (Vec<_>, Vec<_>) =
        sockets.partition(|entry| is_abandoned(folder, Path::new(&entry.file_name())));
    let heard = format!("{} processes wait for work", heard.len());
    Some(if gone.is_empty() {
        Check::ok("bells", heard)
    } else {
        Check::new(
            Status::Warn,
            "bells",
            format!(
                "{heard}, and {} sockets are left of processes that were killed",
                gone.len()
            ),
            "nothing: the next change of a job removes them; look why processes were killed",
        )
    })
}

/// Whether nobody listens any more. Connecting sends nothing.
fn is_abandoned(folder: &Path, name: &Path) -> bool {
    let Ok(socket) = UnixDatagram::unbound() else {
        return false;
    };
    // The address of a socket is short; a folder that is open has a short name.
    let Ok(open) = std::fs::File::open(folder) else {
        return false;
    };
    let fd = std::os::fd::AsRawFd::as_raw_fd(&open);
    let short = PathBuf::from(format!("/proc/self/fd/{fd}")).join(name);
    let path = if short.exists() {
        short
    } else {
        folder.join(name)
    };
    let refused = io::ErrorKind::ConnectionRefused;
    socket
        .connect(path)
        .is_err_and(|error| error.kind() == refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(path: &Path) -> Vec<String> {
        let mut checks = Vec::new();
        examine(path, &mut checks);
        let seen = checks.iter().filter(|check| check.name != "room");
        seen.map(|check| format!("{} {:?}", check.name, check.status))
            .collect()
    }

    #[test]
    fn a_socket_that_nobody_reads_is_told_from_one_that_somebody_does() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("jobs.db");
        assert_eq!(checks(&store), ["folder Ok"]);

        let bells = beside(&store, "-bells");
        std::fs::create_dir(&bells).unwrap();
        let listener = UnixDatagram::bind(bells.join("1")).unwrap();
        assert_eq!(checks(&store), ["folder Ok", "bells Ok"]);

        drop(listener);
        assert_eq!(checks(&store), ["folder Ok", "bells Warn"]);
    }

    #[test]
    fn a_folder_that_is_not_there_is_left_to_the_store_to_tell() {
        assert!(checks(Path::new("/no/such/folder/jobs.db")).is_empty());
    }
}
