//! Planted files: whatever another user puts next to a store is neither followed nor deleted.

use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use windlass_core::{ErrorKind, Store};

use super::{assert_kind, contents, enqueue, fill, folder, open, open_error, queue, ready};

fn side_file(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

/// A folder with a file, and sockets that no process reads, one named like a wake-up socket.
fn victim(folder: &Path) -> PathBuf {
    let victim = folder.join("victim");
    std::fs::create_dir(&victim).unwrap();
    std::fs::write(victim.join("letter"), "dear aunt").unwrap();
    for name in ["database.sock", "0123456789abcdef"] {
        drop(UnixDatagram::bind(victim.join(name)).unwrap());
    }
    victim
}

#[tokio::test]
async fn a_link_planted_as_the_wakeup_folder_is_refused_and_nothing_behind_it_is_deleted() {
    let (folder, path) = folder();
    fill(&path, 1).await;
    let victim = victim(folder.path());
    let before = contents(&victim);
    symlink(&victim, side_file(&path, "-wakeups")).unwrap();

    let error = open_error(&path);

    assert_kind(&error, ErrorKind::StoreForeign);
    assert!(error.to_string().contains("-wakeups"), "{error}");
    assert_eq!(contents(&victim), before);
}

#[tokio::test]
async fn a_link_planted_while_the_store_is_open_is_not_followed() {
    let (folder, path) = folder();
    let store = open(&path);
    let victim = victim(folder.path());
    let before = contents(&victim);
    symlink(&victim, side_file(&path, "-wakeups")).unwrap();

    enqueue(&store, 1).await.unwrap();
    let _watch = store.watch(&[queue()]).await.unwrap();
    enqueue(&store, 1).await.unwrap();

    assert_eq!(contents(&victim), before);
    assert_eq!(ready(&store).await, 2);
}

#[tokio::test]
async fn only_sockets_named_like_ours_are_removed() {
    let (_folder, path) = folder();
    let store = open(&path);
    let sockets = side_file(&path, "-wakeups");
    std::fs::create_dir(&sockets).unwrap();
    std::fs::set_permissions(&sockets, PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::write(sockets.join("letter"), "dear aunt").unwrap();
    std::fs::write(sockets.join("fedcba9876543210"), "a file").unwrap();
    for name in ["other.sock", "0123456789abcdef"] {
        drop(UnixDatagram::bind(sockets.join(name)).unwrap());
    }

    enqueue(&store, 1).await.unwrap();

    let left = contents(&sockets).into_keys();
    let left: Vec<_> = left
        .map(|file| file.file_name().unwrap().to_owned())
        .collect();
    assert_eq!(left, ["fedcba9876543210", "letter", "other.sock"]);
}

#[tokio::test]
async fn a_wakeup_folder_that_others_may_write_is_refused() {
    let (_folder, path) = folder();
    fill(&path, 1).await;
    let sockets = side_file(&path, "-wakeups");
    std::fs::create_dir(&sockets).unwrap();
    std::fs::set_permissions(&sockets, PermissionsExt::from_mode(0o777)).unwrap();

    let error = open_error(&path);

    assert_kind(&error, ErrorKind::StoreForeign);
    assert!(error.help().contains("chmod 700"), "{}", error.help());
}

#[tokio::test]
async fn a_link_planted_as_the_lock_file_is_refused_and_creates_nothing() {
    let (folder, path) = folder();
    fill(&path, 1).await;
    let lock = side_file(&path, "-lock");
    std::fs::remove_file(&lock).unwrap();
    let target = folder.path().join("target");
    symlink(&target, &lock).unwrap();

    let error = open_error(&path);

    assert_kind(&error, ErrorKind::StoreForeign);
    assert!(error.to_string().contains("-lock"), "{error}");
    assert!(!target.exists());
}

/// Only root can give files to another user. The check of the repository leaves these out for other users, and reports
/// that; the unit tests of `owner` cover the same rule.
mod needs_root {
    use std::os::unix::fs::{MetadataExt, lchown};

    use super::*;

    fn check_root() {
        let is_root = rustix::process::geteuid().is_root();
        assert!(
            is_root,
            "run this test as root, or leave it out with `--skip needs_root`"
        );
    }

    #[tokio::test]
    async fn files_of_another_user_are_refused_by_name() {
        const OTHER: Option<u32> = Some(4242);
        check_root();
        for suffix in ["-lock", "-wakeups"] {
            let (_folder, path) = folder();
            fill(&path, 1).await;
            let planted = side_file(&path, suffix);
            if suffix == "-wakeups" {
                std::fs::create_dir(&planted).unwrap();
                std::fs::set_permissions(&planted, PermissionsExt::from_mode(0o700)).unwrap();
            }
            chown(&planted, OTHER, None).unwrap();

            let error = open_error(&path);

            assert_kind(&error, ErrorKind::StoreForeign);
            assert!(error.to_string().contains(suffix), "{error}");
            assert!(error.to_string().contains("4242"), "{error}");
        }
    }

    /// A store that root opens stays usable for its owner.
    #[tokio::test]
    async fn root_leaves_the_files_of_a_store_to_its_owner() {
        check_root();
        let (_folder, path) = folder();
        fill(&path, 1).await;
        std::fs::remove_file(side_file(&path, "-lock")).unwrap();
        chown(&path, Some(4242), Some(4242)).unwrap();

        let store = open(&path);
        let _watch = store.watch(&[queue()]).await.unwrap();
        enqueue(&store, 1).await.unwrap();

        for suffix in ["-lock", "-wakeups", "-wal"] {
            let owner = std::fs::metadata(side_file(&path, suffix)).unwrap().uid();
            assert_eq!(owner, 4242, "{suffix}");
        }
    }

    #[tokio::test]
    async fn a_link_of_another_user_to_a_store_is_refused() {
        check_root();
        let (folder, path) = folder();
        fill(&path, 1).await;
        let link = folder.path().join("link.db");
        symlink(&path, &link).unwrap();
        lchown(&link, Some(4242), None).unwrap();

        let error = open_error(&link);

        assert_kind(&error, ErrorKind::StoreForeign);
        assert!(error.to_string().contains("4242"), "{error}");
    }
}
