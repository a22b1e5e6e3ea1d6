//! A store of one's own, gone afterwards: a temporary file, keys under a prefix of their own on
//! servers that others use, or a private Redis.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use windlass::redis::{Options, RedisStore};
use windlass::{Error, ErrorKind, Result, StoreUrl};
use windlass_private_redis::Server;

use crate::aof::Aof;

/// How often a look for keys is repeated that found some.
const LOOKS_MAX: usize = 5;

/// A store that nobody else uses.
#[derive(Debug)]
pub struct Place {
    url: StoreUrl,
    ground: Ground,
    made: AtomicU64,
}

#[derive(Debug)]
enum Ground {
    /// A file in a folder of its own.
    Folder(TempDir),
    /// Keys of its own on servers that others use as well.
    Servers,
    /// A server of its own.
    Private(Box<Server>, Aof),
}

impl Place {
    /// A temporary folder; or one beside the file that was named, on the same disk; or the servers
    /// that were named. `word` says in names what it is for.
    pub fn choose(named: Option<&str>, word: &str) -> Result<Self> {
        let Some(named) = named else {
            return Self::folder_in(&std::env::temp_dir(), word);
        };
        match named.parse()? {
            StoreUrl::Sqlite { path } => {
                let folder = path.parent().map(PathBuf::from).unwrap_or_default();
                if folder.as_os_str().is_empty() {
                    Self::folder_in(Path::new("."), word)
                } else {
                    Self::folder_in(&folder, word)
                }
            }
            url @ StoreUrl::Redis { .. } => {
                let own = format!("{word}-{:016x}", fastrand::u64(..));
                Ok(Self::at(url.with_sub_prefix(&own)?, Ground::Servers))
            }
            other => Err(Error::new(
                ErrorKind::Invalid,
                format!("the {word} does not run on {other}: its processes share a store"),
                "leave --store out, or name a place with --store sqlite:PATH or redis://HOST",
            )),
        }
    }

    /// A Redis of its own: reached by this machine alone, and gone with this process.
    pub fn private(aof: Aof) -> Result<Self> {
        let server = aof.options().try_start().map_err(|why| {
            Error::new(
                ErrorKind::StoreUnreachable,
                format!("no private Redis server starts: {}", first_line(&why)),
                "install it with `apt-get install redis-server` or `brew install redis`, name one \
                 by WINDLASS_REDIS_SERVER=/path/to/redis-server, or name a store with --store",
            )
        })?;
        let url = server.url().parse()?;
        Ok(Self::at(url, Ground::Private(Box::new(server), aof)))
    }

    fn folder_in(beside: &Path, word: &str) -> Result<Self> {
        let made = tempfile::Builder::new()
            .prefix(&format!("windlass-{word}-"))
            .tempdir_in(beside);
        let folder = made.map_err(|error| {
            Error::new(
                ErrorKind::Invalid,
                format!(
                    "no {word} store can be made in {}: {error}",
                    beside.display()
                ),
                "name a store in a folder you may write to",
            )
        })?;
        let path = folder.path().join(format!("{word}.db"));
        Ok(Self::at(StoreUrl::Sqlite { path }, Ground::Folder(folder)))
    }

    fn at(url: StoreUrl, ground: Ground) -> Self {
        Self {
            url,
            ground,
            made: AtomicU64::new(0),
        }
    }

    /// Where the store is.
    pub fn url(&self) -> &StoreUrl {
        &self.url
    }

    /// The word for its engine.
    pub fn engine(&self) -> &'static str {
        match self.ground {
            Ground::Folder(_) => "sqlite",
            Ground::Servers | Ground::Private(..) => "redis",
        }
    }

    /// How durable its private Redis is.
    pub fn aof(&self) -> Option<Aof> {
        match self.ground {
            Ground::Private(_, aof) => Some(aof),
            Ground::Folder(_) | Ground::Servers => None,
        }
    }

    /// Its private server.
    pub(crate) fn server(&self) -> Option<&Server> {
        match &self.ground {
            Ground::Private(server, _) => Some(server),
            Ground::Folder(_) | Ground::Servers => None,
        }
    }

    /// Forgets everything, and answers where an empty store is.
    pub(crate) async fn fresh(&self) -> Result<StoreUrl> {
        match &self.ground {
            Ground::Folder(folder) => {
                // The last one may still be open: its names go, its room follows.
                for entry in std::fs::read_dir(folder.path())
                    .into_iter()
                    .flatten()
                    .flatten()
                {
                    let _ = std::fs::remove_file(entry.path());
                }
                Ok(self.file(folder))
            }
            Ground::Servers | Ground::Private(..) => {
                self.clear().await?;
                Ok(self.url.clone())
            }
        }
    }

    /// An empty store beside that of [`fresh`](Self::fresh): another file, or the same servers.
    pub(crate) fn beside(&self) -> StoreUrl {
        match &self.ground {
            Ground::Folder(folder) => self.file(folder),
            Ground::Servers | Ground::Private(..) => self.url.clone(),
        }
    }

    /// A file that is not there yet.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let Ground::Folder(folder) = &self.ground else {
            return None;
        };
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        Some(folder.path().join(format!("{number}.db")))
    }

    fn file(&self, folder: &TempDir) -> StoreUrl {
        let path = self.path().unwrap_or_else(|| folder.path().join("jobs.db"));
        StoreUrl::Sqlite { path }
    }

    async fn clear(&self) -> Result<()> {
        // A connection of its own: what went wrong on the others is of no concern.
        let store = RedisStore::open(&self.url.to_secret_string(), Options::default()).await?;
        // What was under way when a run was stopped may arrive behind the first look.
        for _ in 0..LOOKS_MAX {
            if store.remove_all().await? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Removes everything; nobody may use the store any more.
    pub async fn remove(self) -> Result<()> {
        match &self.ground {
            Ground::Folder(_) | Ground::Private(..) => {
                // A temporary folder that cannot be removed is the system's to clean; a private
                // server ends with this value.
                drop(self);
                Ok(())
            }
            Ground::Servers => self.clear().await,
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
