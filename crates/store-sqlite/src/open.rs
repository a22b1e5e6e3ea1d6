//! Opens the store: identifies or creates the file, then opens a writing and a reading connection.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use windlass_core::store::{DurabilityLevel, Limits};
use windlass_core::{Clock, Error, ErrorKind, Result, SystemClock};

use crate::error::{self, TxError, TxResult};
use crate::file::{self, APPLICATION_ID, FileKind, SCHEMA_VERSION, with_suffix};
use crate::mount;
use crate::owner::{self, Trusted};
use crate::reader::Reader;
use crate::schema;
use crate::space;
use crate::time_limit::TimeLimit;
use crate::wakeup::Wakeups;
use crate::write_lock::WriteLock;
use crate::writer::{Writer, WriterState};

/// Older versions of SQLite can corrupt a file written by several connections (the WAL-reset bug).
const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// Maximum wait for an SQLite lock held by a program that does not use the write lock.
const BUSY_TIMEOUT_MAX: Duration = Duration::from_secs(5);

/// When a committed change survives a power loss (`PRAGMA synchronous`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synchronous {
    /// Before the call returns: every commit syncs the log.
    Full,
    /// Some time after the call returns; for data that may be lost.
    Normal,
    /// Whenever the operating system writes it; for tests.
    Off,
}

impl Synchronous {
    /// The durability level an enqueue reports.
    pub(crate) const fn level(self) -> DurabilityLevel {
        match self {
            Self::Full => DurabilityLevel::Synced,
            Self::Normal | Self::Off => DurabilityLevel::Memory,
        }
    }

    const fn as_pragma(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Normal => "NORMAL",
            Self::Off => "OFF",
        }
    }
}

/// Options for opening a store.
#[derive(Debug, Clone)]
pub struct Options {
    /// Create the file if it is missing (default: true).
    pub create: bool,
    /// The clock (default: the system clock).
    pub clock: Arc<dyn Clock>,
    /// Limits on payloads, batches and results.
    pub limits: Limits,
    /// Timeout of a call, including the wait for other processes (default: 10s).
    pub call_deadline: Duration,
    /// When a committed change survives a power loss (default: `Full`).
    pub synchronous: Synchronous,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            create: true,
            clock: Arc::new(SystemClock),
            limits: Limits::default(),
            call_deadline: Duration::from_secs(10),
            synchronous: Synchronous::Full,
        }
    }
}

/// A queue store in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    pub(crate) path: PathBuf,
    pub(crate) options: Options,
    pub(crate) writer: Writer,
    pub(crate) reader: Reader,
    pub(crate) trusted: Trusted,
    pub(crate) wakeups: Arc<Wakeups>,
}

impl SqliteStore {
    /// Opens the store at `path`; creates it if it is missing and `options.create` is set.
    pub fn open(path: &Path, options: Options) -> Result<Self> {
        refuse_old_sqlite(rusqlite::version_number())?;
        let given = file::absolute(path)?;
        mount::refuse_network(given.parent().unwrap_or(&given))?;
        let path =
            file::ensure(&given, options.create).map_err(|error| error.into_error(&given))?;
        Self::open_file(&given, &path, options).map_err(|error| error.into_error(&path))
    }

    /// Opens the file at `path`, which has its links resolved.
    fn open_file(given: &Path, path: &Path, options: Options) -> TxResult<Self> {
        mount::refuse_network(path)?;
        let trusted = owner::check_store(given, path)?;
        let kind = file::kind(path)?;
        if kind == FileKind::Empty {
            file::prepare_empty(path, options.create)?;
        }
        let write_lock = WriteLock::open(path, trusted)?;
        let wakeups = Arc::new(Wakeups::new(with_suffix(path, "-wakeups"), trusted)?);
        let existing = match kind {
            // No lock needed: a store can be read even while its writers are blocked.
            FileKind::Store => Some(connect(path, &options)?),
            FileKind::Unclear => Some(connect(path, &options)?).filter(has_schema),
            FileKind::Empty => None,
        };
        let deadline = options.call_deadline;
        let (write_lock, mut writing) = match existing {
            Some(db) => (write_lock, db),
            None => write_lock.locked(path, deadline, || create_store(path, &options))?,
        };
        schema::refuse_different(&writing)?;
        let (write_lock, ()) = if schema::is_old(&writing)? {
            write_lock.locked(path, deadline, || Ok(schema::upgrade(&mut writing)?))?
        } else {
            (write_lock, ())
        };
        let mut reading = connect(path, &options)?;
        // Half the deadline, so that a call queued behind a slow one is also answered in time.
        let time_limit = TimeLimit::new(&mut reading, deadline / 2)?;
        let reader = Reader::start(reading, time_limit, path.to_owned(), deadline)?;
        let state = WriterState {
            time_limit: TimeLimit::new(&mut writing, deadline / 2)?,
            db: writing,
            write_lock,
            wakeups: wakeups.clone(),
            notifications: Vec::new(),
            clock: options.clock.clone(),
        };
        Ok(Self {
            writer: Writer::start(state, path.to_owned(), deadline)?,
            reader,
            path: path.to_owned(),
            options,
            trusted,
            wakeups,
        })
    }

    /// Returns facts about the file and SQLite, for operators.
    pub async fn info(&self) -> Result<Info> {
        let read = |db: &Connection| {
            let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            let journal_mode = db.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
            let (synchronous, schema) = (number("synchronous")?, number("user_version")?);
            Ok((journal_mode, synchronous, schema, space::free_bytes(db)?))
        };
        let (journal_mode, synchronous, schema_version, free_bytes) =
            self.reader.read(read).await?;
        let file = self
            .path
            .metadata()
            .map_err(|error| error::from_io(error, &self.path))?;
        Ok(Info {
            sqlite_version: rusqlite::version().to_owned(),
            schema_version: u32::try_from(schema_version).unwrap_or_default(),
            file_bytes: file.len(),
            free_bytes,
            journal_mode,
            synchronous: ["off", "normal", "full", "extra"]
                [usize::try_from(synchronous).unwrap_or_default().min(3)]
            .to_owned(),
            mode: file.mode() & 0o7777,
        })
    }

    /// Checks every page of the file with `PRAGMA quick_check`. Slow on a large store.
    pub async fn check_file(&self) -> Result<Vec<String>> {
        self.long_read(|db| {
            let mut statement = db.prepare("PRAGMA quick_check(20)")?;
            let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
            let lines: Vec<_> = lines.collect::<Result<_, _>>()?;
            Ok(lines.into_iter().filter(|line| line != "ok").collect())
        })
        .await
    }
}

/// Facts about the file and SQLite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// The version of the bundled SQLite.
    pub sqlite_version: String,
    /// The schema version of the file.
    pub schema_version: u32,
    /// The size of the main file.
    pub file_bytes: u64,
    /// Bytes inside the file that new jobs can reuse.
    pub free_bytes: u64,
    /// Expected: `wal`.
    pub journal_mode: String,
    /// `full` by default.
    pub synchronous: String,
    /// Permission bits of the file (expected: 0600).
    pub mode: u32,
}

fn refuse_old_sqlite(version: i32) -> Result<()> {
    if version >= SQLITE_VERSION_MIN {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::StoreUnsupported,
        format!("SQLite {version} can corrupt files that several processes write"),
        "build Windlass with its bundled SQLite (3.51.3 or later)",
    ))
}

/// Creates the store in an empty file, unless another process did so first.
fn create_store(path: &Path, options: &Options) -> TxResult<Connection> {
    let mut db = identify(path, options)?;
    // Its free pages can be given back later, which has to be chosen before anything is written.
    db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    set_up(&db, options)?;
    create_schema(&mut db)?;
    Ok(db)
}

/// Connects to a store.
pub(crate) fn connect(path: &Path, options: &Options) -> TxResult<Connection> {
    let db = identify(path, options)?;
    set_up(&db, options)?;
    Ok(db)
}

/// A hostile file must not run code.
pub(crate) fn distrust(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    Ok(())
}

fn set_up(db: &Connection, options: &Options) -> rusqlite::Result<()> {
    db.set_prepared_statement_cache_capacity(256);
    // One plan per statement: otherwise some are re-prepared for every bound value.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    db.pragma_update(None, "synchronous", options.synchronous.as_pragma())?;
    db.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    db.pragma_update(None, "cache_size", -16 * 1024)?;
    db.pragma_update(None, "temp_store", "MEMORY")
}

/// Opens the file and checks that it is a store, or empty.
fn identify(path: &Path, options: &Options) -> TxResult<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    distrust(&db)?;
    #[cfg(test)]
    let db = crate::plans::record_statements(db);
    // Half the deadline, so that a call queued behind a waiting one is also answered in time.
    db.busy_timeout(BUSY_TIMEOUT_MAX.min(options.call_deadline / 2))?;
    // Identify the file before anything is written to it.
    refuse_foreign(&db, path)?;
    if db.is_readonly("main")? {
        return Err(error::read_only(path).into());
    }
    Ok(db)
}

/// Rejects files of other programs and of newer versions of Windlass, reading the log as well.
fn refuse_foreign(db: &Connection, path: &Path) -> TxResult<()> {
    let number = |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    // Closing another program's database must not checkpoint its log.
    let no_checkpoint = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    db.set_db_config(no_checkpoint, true)?;
    let version = number("user_version")?;
    match number("application_id")? {
        APPLICATION_ID if version == 0 => {
            return Err(TxError::Damaged("it has no schema version".to_owned()));
        }
        APPLICATION_ID => {}
        0 if version == 0 && number("schema_version")? == 0 => {}
        _ => return Err(error::foreign(path).into()),
    }
    if version > SCHEMA_VERSION {
        return Err(error::newer(path, version).into());
    }
    db.set_db_config(no_checkpoint, false)?;
    Ok(())
}

/// Whether the tables exist; false while another process is creating them.
fn has_schema(db: &Connection) -> bool {
    let version = db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    version.is_ok_and(|version| version > 0)
}

/// Creates the tables in one transaction, unless another process did so first.
fn create_schema(db: &mut Connection) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version == 0 {
        tx.execute_batch(schema::SCHEMA)?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    }
    tx.commit()?;
    // Checkpoint into the file itself, so that its header identifies it.
    db.pragma_query(None, "wal_checkpoint", |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sqlite_with_the_wal_reset_bug_is_refused() {
        assert!(refuse_old_sqlite(3_051_002).is_err());
        assert!(refuse_old_sqlite(rusqlite::version_number()).is_ok());
    }
}
