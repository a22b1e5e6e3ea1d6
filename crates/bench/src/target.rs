//! A temporary store, removed afterwards: a file, keys under a private prefix on shared servers, or a
//! private Redis.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use windlass::redis::{Options, RedisStore};
use windlass::{Error, ErrorKind, Result, StoreUrl};
use windlass_testkit::redis::Server;

use crate::aof::Aof;

/// How often keys are scanned and removed until none is found.
const CLEAR_MAX: usize = 5;

/// A temporary store that nothing else uses.
#[derive(Debug)]
pub struct LoadTarget {
    url: StoreUrl,
    location: Location,
    files: AtomicU64,
}

#[derive(Debug)]
enum Location {
    /// A file in a temporary folder.
    Folder(TempDir),
    /// Keys under a private prefix on shared servers.
    Servers,
    /// A private server.
    Private(Box<Server>, Aof),
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
                let folder = path.parent().map(PathBuf::from).unwrap_or_default();
                if folder.as_os_str().is_empty() {
                    Self::folder_in(Path::new("."), purpose)
                } else {
                    Self::folder_in(&folder, purpose)
                }
            }
            url @ StoreUrl::Redis { .. } => {
                let prefix = format!("{purpose}-{:016x}", fastrand::u64(..));
                Ok(Self::at(url.with_sub_prefix(&prefix)?, Location::Servers))
            }
            other => Err(Error::new(
                ErrorKind::Invalid,
                format!("the {purpose} cannot run on {other}: its processes must share a store"),
                "omit --store, or use --store sqlite:PATH or --store redis://HOST",
            )),
        }
    }

    /// Starts a private Redis server on this machine, which ends with this process.
    pub fn private(aof: Aof) -> Result<Self> {
        let server = aof.options().try_start().map_err(|why| {
            Error::new(
                ErrorKind::StoreUnreachable,
                format!("cannot start a private Redis server: {}", first_line(&why)),
                "install it with `apt-get install redis-server` or `brew install redis`, set \
                 WINDLASS_REDIS_SERVER=/path/to/redis-server, or choose a store with --store",
            )
        })?;
        let url = server.url().parse()?;
        Ok(Self::at(url, Location::Private(Box::new(server), aof)))
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
        Ok(Self::at(
            StoreUrl::Sqlite { path },
            Location::Folder(folder),
        ))
    }

    fn at(url: StoreUrl, location: Location) -> Self {
        Self {
            url,
            location,
            files: AtomicU64::new(0),
        }
    }

    /// The URL of the store.
    pub fn url(&self) -> &StoreUrl {
        &self.url
    }

    /// The engine: `sqlite` or `redis`.
    pub fn engine(&self) -> &'static str {
        match self.location {
            Location::Folder(_) => "sqlite",
            Location::Servers | Location::Private(..) => "redis",
        }
    }

    /// The append-only mode of its private Redis.
    pub fn aof(&self) -> Option<Aof> {
        match self.location {
            Location::Private(_, aof) => Some(aof),
            Location::Folder(_) | Location::Servers => None,
        }
    }

    /// Its private server.
    pub(crate) fn server(&self) -> Option<&Server> {
        match &self.location {
            Location::Private(server, _) => Some(server),
            Location::Folder(_) | Location::Servers => None,
        }
    }

    /// Removes all data. Returns the URL of an empty store.
    pub(crate) async fn fresh(&self) -> Result<StoreUrl> {
        match &self.location {
            Location::Folder(folder) => {
                // The last file may still be open: unlink it; its space is freed later.
                for entry in std::fs::read_dir(folder.path())
                    .into_iter()
                    .flatten()
                    .flatten()
                {
                    let _ = std::fs::remove_file(entry.path());
                }
                Ok(self.file(folder))
            }
            Location::Servers | Location::Private(..) => {
                self.clear().await?;
                Ok(self.url.clone())
            }
        }
    }

    /// An additional empty store: another file, or the same servers.
    pub(crate) fn additional(&self) -> StoreUrl {
        match &self.location {
            Location::Folder(folder) => self.file(folder),
            Location::Servers | Location::Private(..) => self.url.clone(),
        }
    }

    /// The path of a new file.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let Location::Folder(folder) = &self.location else {
            return None;
        };
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        Some(folder.path().join(format!("{number}.db")))
    }

    fn file(&self, folder: &TempDir) -> StoreUrl {
        let path = self.path().unwrap_or_else(|| folder.path().join("jobs.db"));
        StoreUrl::Sqlite { path }
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
        match &self.location {
            Location::Folder(_) | Location::Private(..) => {
                // If the temporary folder cannot be removed, the system cleans it up; a private server
                // ends when this value is dropped.
                drop(self);
                Ok(())
            }
            Location::Servers => self.clear().await,
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
