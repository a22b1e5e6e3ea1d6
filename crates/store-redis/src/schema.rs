//! The schema version of a store: a new store gets the current one, another one is refused.

use windlass_core::{Error, ErrorKind, Result};
use windlass_redis_link::{Link, reply};

use crate::codec::names::SCHEMA_VERSION;
use crate::keys::Keys;

/// Writes the schema version to an empty store; rejects a store of another version.
pub(crate) async fn check(link: &Link, registry: &Keys) -> Result<()> {
    // Read first: a server without free memory rejects writes, but its jobs must still be able to end.
    let found = match read(link, registry).await? {
        None => write(link, registry, &["NX", "GET"]).await?,
        found => found,
    };
    match found {
        Some(schema) if schema < SCHEMA_VERSION => Err(Error::new(
            ErrorKind::StoreOlder,
            format!("the store has schema {schema}, this Windlass needs {SCHEMA_VERSION}"),
            "stop the programs of the older Windlass, then run `windlass store migrate --store URL`, \
             or use a separate prefix: ?prefix=NAME",
        )),
        _ => Ok(()),
    }
}

/// The schema version of the store; `None` if it has none yet. Rejects a store of a newer Windlass.
pub(crate) async fn read(link: &Link, registry: &Keys) -> Result<Option<u64>> {
    let key = registry.one("schema");
    let mut get = redis::cmd("GET");
    get.arg(&key[..]);
    parse(&key, link.ask(&key, &get).await?)
}

/// Writes the current version; `options` are options of SET. Returns the version before, if they ask
/// for it.
pub(crate) async fn write(link: &Link, registry: &Keys, options: &[&str]) -> Result<Option<u64>> {
    let key = registry.one("schema");
    let mut set = redis::cmd("SET");
    set.arg(&key[..]).arg(SCHEMA_VERSION).arg(options);
    let before = link.ask(&key, &set).await?;
    if before == redis::Value::Okay {
        return Ok(None);
    }
    parse(&key, before)
}

fn parse(key: &[u8], found: redis::Value) -> Result<Option<u64>> {
    if found == redis::Value::Nil {
        return Ok(None);
    }
    match reply::text(found)?.parse::<u64>() {
        Ok(schema) if schema <= SCHEMA_VERSION => Ok(Some(schema)),
        Ok(schema) => Err(Error::new(
            ErrorKind::StoreNewer,
            format!("the store has schema {schema}, this Windlass supports up to {SCHEMA_VERSION}"),
            "use the newer Windlass that wrote it, or a separate prefix: ?prefix=NAME",
        )),
        Err(_) => Err(Error::new(
            ErrorKind::StoreForeign,
            format!(
                "the key {} was not written by Windlass",
                String::from_utf8_lossy(key)
            ),
            "use a separate prefix: ?prefix=NAME, or delete the key if nothing needs it",
        )),
    }
}
