//! Where the demo runs: a store of its own, gone afterwards.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use windlass::StoreUrl;
use windlass::redis::{Options, RedisStore};

use crate::exit::{Failure, Result};

/// A store that nobody else uses.
#[derive(Debug)]
pub(super) enum Place {
    /// A file in a folder of its own.
    Folder { url: StoreUrl, folder: TempDir },
    /// Keys of its own on servers that others use as well.
    Servers { url: StoreUrl },
}

impl Place {
    /// A temporary folder; or one beside the file that was named, on the same disk; or the servers
    /// that were named.
    pub(super) fn choose(named: Option<&str>) -> Result<Self> {
        let Some(named) = named else {
            return Self::folder_in(&std::env::temp_dir());
        };
        match named.parse()? {
            StoreUrl::Sqlite { path } => {
                let folder = path.parent().map(PathBuf::from).unwrap_or_default();
                if folder.as_os_str().is_empty() {
                    Self::folder_in(Path::new("."))
                } else {
                    Self::folder_in(&folder)
                }
            }
            url @ StoreUrl::Redis { .. } => {
                let word = format!("demo-{:016x}", fastrand::u64(..));
                let url = url.beneath(&word)?;
                Ok(Self::Servers { url })
            }
            other => Err(Failure::usage(
                format!("the demo does not run on {other}: its processes share a store"),
                "leave --store out, or name a place with --store sqlite:PATH or redis://HOST",
            )),
        }
    }

    fn folder_in(beside: &Path) -> Result<Self> {
        let made = tempfile::Builder::new()
            .prefix("windlass-demo-")
            .tempdir_in(beside);
        let folder = made.map_err(|error| {
            let help = "name a store in a folder you may write to";
            Failure::usage(
                format!("no demo store can be made in {}: {error}", beside.display()),
                help,
            )
        })?;
        let path = folder.path().join("demo.db");
        let url = StoreUrl::Sqlite { path };
        Ok(Self::Folder { url, folder })
    }

    pub(super) fn url(&self) -> &StoreUrl {
        match self {
            Self::Folder { url, .. } | Self::Servers { url } => url,
        }
    }

    /// Removes everything; nobody may use the store any more.
    pub(super) async fn remove(self) -> Result<()> {
        match self {
            Self::Folder { folder, .. } => {
                // A temporary folder that cannot be removed is the system's to clean.
                let _ = folder.close();
            }
            Self::Servers { url } => {
                // A connection of its own: what went wrong on the others is of no concern.
                let store = RedisStore::open(&url.to_secret_string(), Options::default()).await?;
                store.remove_all().await?;
            }
        }
        Ok(())
    }
}
