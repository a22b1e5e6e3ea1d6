//! The folder of a SQLite store: owners and permissions, free disk space, and wake-up sockets without a
//! process.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, statvfs};

use windlass::sqlite::{self, StoreFile};

use super::Check;

/// With less free space than this, enqueue may fail soon: 64 MiB.
const FREE_MIN: u64 = 64 * 1024 * 1024;

/// Checks the folder, whether or not the store could be opened.
pub(super) fn examine(path: &Path, checks: &mut Vec<Check>) {
    // SQLite follows a symlink and keeps its other files next to the target.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = std::path::absolute(&path).unwrap_or(path);
    let Some(folder) = path.parent().filter(|folder| folder.is_dir()) else {
        return;
    };
    checks.push(writable(folder));
    checks.extend(owners(&sqlite::files(&path)));
    checks.extend(free_space(folder));
    checks.extend(sockets(&with_suffix(&path, "-wakeups")));
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn writable(folder: &Path) -> Check {
    let shown = folder.display();
    match access(folder, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Check::ok("folder", format!("{shown} is writable")),
        Err(error) => Check::fail(
            "folder",
            format!(
                "{shown} is not writable ({}); SQLite needs to create its log there",
                io::Error::from(error)
            ),
            format!("give this user write permission on {shown}, or move the store"),
        ),
    }
}

/// Names files of other users, and files next to the store that other users may read or change.
fn owners(files: &[StoreFile]) -> Vec<Check> {
    let foreign = files.iter().filter(|file| file.is_foreign).map(|file| {
        Check::fail(
            "owners",
            format!("{} belongs to user {}", file.path.display(), file.owner),
            "remove it, or keep the store in a folder that only its user can write",
        )
    });
    // The permissions of the store itself have a separate check.
    let side_files = files.iter().skip(1);
    let open = side_files.filter(|file| file.mode & 0o077 != 0 && !file.is_foreign);
    let open = open.map(|file| {
        let (path, mode) = (file.path.display(), file.mode);
        Check::warn(
            "owners",
            format!("{path} is open to other users (mode {mode:04o})"),
            format!("chmod go= {:?}", path.to_string()),
        )
    });
    let mut checks: Vec<_> = foreign.chain(open).collect();
    if checks.is_empty() && !files.is_empty() {
        checks.push(Check::ok("owners", "all files belong to the store's user"));
    }
    checks
}

fn free_space(folder: &Path) -> Option<Check> {
    let disk = statvfs(folder).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let message = format!("{} MiB free on the disk", free / 1024 / 1024);
    Some(if free >= FREE_MIN {
        Check::ok("space", message)
    } else {
        Check::warn(
            "space",
            format!("{message}; enqueue fails when the disk is full"),
            "free disk space, or delete jobs with `windlass queue purge` and run `windlass store compact`",
        )
    })
}

/// Every process that waits for jobs has a socket here, and removes it on a clean exit.
fn sockets(folder: &Path) -> Option<Check> {
    // The owner and links are reported by another check.
    if std::fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink()) {
        return Some(Check::fail(
            "sockets",
            format!("{} is a link; the store is refused", folder.display()),
            format!("rm {:?}", folder.display().to_string()),
        ));
    }
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        // No process has waited yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            return Some(Check::warn(
                "sockets",
                format!(
                    "cannot read {} ({error}); waiting processes notice new jobs later",
                    folder.display()
                ),
                "make it a folder owned by the store's user, or remove it",
            ));
        }
    };
    let sockets = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()));
    let (abandoned, live): (Vec<_>, Vec<_>) =
        sockets.partition(|entry| is_abandoned(folder, Path::new(&entry.file_name())));
    let live = format!("{} processes wait for jobs", live.len());
    Some(if abandoned.is_empty() {
        Check::ok("sockets", live)
    } else {
        Check::warn(
            "sockets",
            format!(
                "{live}, {} sockets left by killed processes",
                abandoned.len()
            ),
            "none needed, the next write removes them; find out why the processes were killed",
        )
    })
}

/// Returns whether no process listens on the socket. Connecting sends nothing.
fn is_abandoned(folder: &Path, name: &Path) -> bool {
    let Ok(socket) = UnixDatagram::unbound() else {
        return false;
    };
    // Socket addresses have a short maximum length; /proc/self/fd gives the folder a short path.
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
    use super::super::Status;
    use super::*;

    fn checks(path: &Path) -> Vec<String> {
        let mut checks = Vec::new();
        examine(path, &mut checks);
        let seen = checks.iter().filter(|check| check.name != "space");
        seen.map(|check| format!("{} {:?}", check.name, check.status))
            .collect()
    }

    #[test]
    fn a_socket_without_a_process_is_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("jobs.db");
        assert_eq!(checks(&store), ["folder Ok"]);

        let sockets = with_suffix(&store, "-wakeups");
        std::fs::create_dir(&sockets).unwrap();
        let listener = UnixDatagram::bind(sockets.join("1")).unwrap();
        assert_eq!(checks(&store), ["folder Ok", "sockets Ok"]);

        drop(listener);
        assert_eq!(checks(&store), ["folder Ok", "sockets Warn"]);
    }

    #[test]
    fn a_planted_link_and_an_open_folder_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("jobs.db");
        std::fs::write(&store, "").unwrap();
        assert_eq!(checks(&store), ["folder Ok", "owners Ok"]);

        let sockets = with_suffix(&store, "-wakeups");
        std::fs::create_dir(&sockets).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(&sockets, open).unwrap();
        assert_eq!(checks(&store), ["folder Ok", "owners Warn", "sockets Ok"]);

        std::fs::remove_dir(&sockets).unwrap();
        std::os::unix::fs::symlink("/", &sockets).unwrap();
        assert!(checks(&store).contains(&"sockets Fail".to_owned()));
    }

    #[test]
    fn files_of_another_user_fail() {
        let file = StoreFile {
            path: PathBuf::from("jobs.db-lock"),
            owner: 4242,
            mode: 0o600,
            is_foreign: true,
        };
        let found = owners(&[file]);
        assert_eq!(found[0].status, Status::Fail);
        assert_eq!(found[0].message, "jobs.db-lock belongs to user 4242");
    }

    #[test]
    fn a_missing_folder_is_left_to_the_store_to_report() {
        assert!(checks(Path::new("/no/such/folder/jobs.db")).is_empty());
    }
}
