//! Detects network file systems, where SQLite's shared memory does not work.

use std::path::Path;

use windlass_core::{Error, ErrorKind, Result};

/// File systems whose locks or shared memory do not work between machines.
const NETWORK: [&str; 17] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "ceph",
    "afs",
    "ncpfs",
    "lustre",
    "beegfs",
    "gfs2",
    "ocfs2",
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.ceph",
    "virtiofs",
];

/// Rejects a path on a network file system, if that can be detected.
pub(crate) fn refuse_network(path: &Path) -> Result<()> {
    // Not available outside Linux: accept every path.
    let Ok(mounts) = std::fs::read_to_string("/proc/self/mountinfo") else {
        return Ok(());
    };
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match file_system(&mounts, &path) {
        Some(name) if NETWORK.contains(&name) => Err(Error::new(
            ErrorKind::StoreUnsupported,
            format!("{} is on a network file system ({name})", path.display()),
            "put the store on a local disk, or use a Redis store for several machines",
        )),
        _ => Ok(()),
    }
}

/// The type of the file system that holds `path`, from the text of `mountinfo`.
///
/// Fields: id, parent, device, root, mount point, options…, `-`, type, source, super options.
fn file_system<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    let mut best: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let Some((left, right)) = line.split_once(" - ") else {
            continue;
        };
        let (Some(point), Some(name)) = (left.split(' ').nth(4), right.split(' ').next()) else {
            continue;
        };
        let point = point.replace("\\040", " ");
        // A later line for the same mount point shadows the earlier one.
        if path.starts_with(&point) && best.is_none_or(|(length, _)| point.len() >= length) {
            best = Some((point.len(), name));
        }
    }
    best.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /srv/team rw,relatime - nfs4 server:/team rw
31 30 8:2 / /srv/team/local rw - xfs /dev/sdb1 rw
32 22 0:41 / /mnt/far\\040away rw - fuse.sshfs me@host: rw";

    #[test]
    fn the_innermost_mount_decides() {
        let at = |path: &str| file_system(MOUNTS, Path::new(path));
        assert_eq!(at("/var/lib"), Some("ext4"));
        assert_eq!(at("/srv/team/jobs"), Some("nfs4"));
        assert_eq!(at("/srv/teammate"), Some("ext4"));
        assert_eq!(at("/srv/team/local/jobs"), Some("xfs"));
        assert_eq!(at("/mnt/far away/jobs"), Some("fuse.sshfs"));
    }

    #[test]
    fn a_local_folder_is_accepted() {
        assert!(refuse_network(&std::env::temp_dir()).is_ok());
    }
}
