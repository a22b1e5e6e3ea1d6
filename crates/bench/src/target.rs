//! A temporary store, removed afterwards: a file, or keys under a private prefix on shared servers. A
//! private Redis is empty at first and ends with the run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use windlass::redis::{Options, RedisStore};
use windlass::{Error, ErrorKind, Result, StoreUrl};

use crate::aof::Aof;

/// How often keys are scanned and removed until none is found.
const CLEAR_MAX: usize = 5;

/// A temporary store that nothing else uses.
#[derive(Debug)]
pub struct LoadTarget {
    url: StoreUrl,
    /// Has the file of a store on SQLite.
    folder: Option<TempDir>,
    /// The mode of a private Redis; keys on shared servers have a private prefix instead.
    aof: Option<Aof>,
    files: AtomicU64,
}

impl LoadTarget {
    /// Uses the servers or the folder (and so the disk) of the store `url`, or a temporary folder if it
    /// is `None`. `purpose` becomes part of file and key names.
    pub fn choose(url: Option<&str>, purpose: &str) -> Result<Self> {
        let Some(url) = url else {
            return Self::folder_in(&std::env::temp_dir(), purpose);
        };
        match url.parse()? {
            StoreUrl::Sqlite { path } => {
                let folder = path
                    .parent()
                    .filter(|folder| !folder.as_os_str().is_empty());
                Self::folder_in(folder.unwrap_or(Path::new(".")), purpose)
            }
            url @ StoreUrl::Redis { .. } => {
                let prefix = format!("{purpose}-{:016x}", fastrand::u64(..));
                Ok(Self::at(url.with_sub_prefix(&prefix)?))
            }
            other => Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "the {purpose} cannot run on {other}: it needs a store of its own, for several processes"
                ),
                "omit --store, or use --store sqlite:PATH or --store redis://HOST",
            )),
        }
    }

    /// Uses a private Redis server, which must outlive the run.
    pub fn private(url: &str, aof: Aof) -> Result<Self> {
        Ok(Self {
            aof: Some(aof),
            ..Self::at(url.parse()?)
        })
    }

    fn folder_in(parent: &Path, purpose: &str) -> Result<Self> {
        let created = tempfile::Builder::new()
            .prefix(&format!("windlass-{purpose}-"))
            .tempdir_in(parent);
        let folder = created.map_err(|error| {
            Error::new(
                ErrorKind::Invalid,
                format!(
                    "cannot create the {purpose} store in {}: {error}",
                    parent.display()
                ),
                "choose a store in a writable folder with --store",
            )
        })?;
        let path = folder.path().join(format!("{purpose}.db"));
        Ok(Self {
            folder: Some(folder),
            ..Self::at(StoreUrl::Sqlite { path })
        })
    }

    fn at(url: StoreUrl) -> Self {
        Self {
            url,
            folder: None,
            aof: None,
            files: AtomicU64::new(0),
        }
    }

    /// The URL of the store.
    pub fn url(&self) -> &StoreUrl {
        &self.url
    }

    /// The engine: `sqlite` or `redis`.
    pub fn engine(&self) -> &'static str {
        match self.folder {
            Some(_) => "sqlite",
            None => "redis",
        }
    }

    /// The append-only mode of its private Redis.
    pub fn aof(&self) -> Option<Aof> {
        self.aof
    }

    /// Removes all data. Returns the URL of an empty store.
    pub(crate) async fn fresh(&self) -> Result<StoreUrl> {
        match &self.folder {
            Some(folder) => {
                // The last file may still be open: unlink it; its space is freed later.
                for entry in std::fs::read_dir(folder.path())
                    .into_iter()
                    .flatten()
                    .flatten()
                {
                    let _ = std::fs::remove_file(entry.path());
                }
            }
            None => self.clear().await?,
        }
        Ok(self.additional())
    }

    /// An additional empty store: another file, or the same servers.
    pub(crate) fn additional(&self) -> StoreUrl {
        match self.path() {
            Some(path) => StoreUrl::Sqlite { path },
            None => self.url.clone(),
        }
    }

    /// The path of a new file.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        Some(folder.path().join(format!("{number}.db")))
    }

    async fn clear(&self) -> Result<()> {
        // A separate connection, independent of failures on others.
        let store = RedisStore::open(&self.url.to_secret_string(), Options::default()).await?;
        // Calls in flight when a run was stopped may write after the first scan.
        for _ in 0..CLEAR_MAX {
            if store.remove_all().await? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Removes all data. The store must no longer be in use.
    pub async fn remove(self) -> Result<()> {
        // If the temporary folder cannot be removed, the system cleans it up; a private server ends.
        match (&self.folder, self.aof) {
            (None, None) => self.clear().await,
            _ => Ok(()),
        }
    }
}
