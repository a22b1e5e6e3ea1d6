//! Opening the store: two connections to a file that is known to be a store, or made one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use windlass_core::{Clock, DurabilityLevel, Error, ErrorKind, Limits, Result, SystemClock};

use crate::bell::Bell;
use crate::fault::{self, Db, Fault};
use crate::mount;
use crate::place::{self, APPLICATION_ID, SCHEMA_VERSION, Whose, beside};
use crate::reader::Reader;
use crate::turnstile::Turnstile;
use crate::writer::Writer;

/// Below this, SQLite may damage a file that several connections write (the WAL-reset fault).
const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// How long a statement waits at most for a lock that somebody outside the turnstile holds.
const BUSY_TIMEOUT_MAX: Duration = Duration::from_secs(5);

/// When an answered change is safe from a loss of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synchronous {
    /// Before it is answered: the log is synced with every commit.
    Full,
    /// Some time after it is answered; for data that may be lost.
    Normal,
    /// When the system likes; for tests.
    Off,
}

impl Synchronous {
    /// What the answer to an enqueue may promise.
    const fn level(self) -> DurabilityLevel {
        match self {
            Self::Full => DurabilityLevel::Synced,
            Self::Normal | Self::Off => DurabilityLevel::Memory,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Normal => "NORMAL",
            Self::Off => "OFF",
        }
    }
}

/// How to open a store.
#[derive(Debug, Clone)]
pub struct Options {
    /// Make the file when it is missing.
    pub create: bool,
    /// Where time is read.
    pub clock: Arc<dyn Clock>,
    /// The sizes taken.
    pub limits: Limits,
    /// How long a call may take, waiting for other processes included.
    pub call_deadline: Duration,
    /// When an answered change is safe.
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
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
    /// How safe a job is once its enqueue was answered.
    pub(crate) level: DurabilityLevel,
    pub(crate) writer: Writer,
    pub(crate) reader: Reader,
    pub(crate) bell: Arc<Bell>,
}

impl SqliteStore {
    /// Opens the store at `path`, and makes it where it is missing and that is wanted.
    pub fn open(path: &Path, options: Options) -> Result<Self> {
        refuse_old_sqlite(rusqlite::version_number())?;
        let path = place::absolute(path)?;
        mount::refuse_network(path.parent().unwrap_or(&path))?;
        let path = place::make_file(&path, options.create)?;
        mount::refuse_network(&path)?;
        let whose = place::whose(&path)?;
        if whose == Whose::Nobodys {
            place::claim_file(&path, options.create)?;
        }
        let turnstile = Turnstile::open(&beside(&path, "-turnstile"))
            .map_err(|error| fault::from_io(error, &path))?;
        let made = match whose {
            // Nothing to make: a store can be looked at even while somebody blocks its writers.
            Whose::Ours => Some(connect(&path, &options)?),
            Whose::Unclear => Some(connect(&path, &options)?).filter(is_made),
            Whose::Nobodys => None,
        };
        let (writing, turnstile) = match made {
            Some(db) => (db, turnstile),
            None => make_store(turnstile, &path, &options)?,
        };
        let reading = connect(&path, &options)?;
        let bell = Arc::new(Bell::new(beside(&path, "-bells")));
        Ok(Self {
            writer: Writer::start(
                crate::writer::Engine {
                    db: writing,
                    turnstile,
                    bell: bell.clone(),
                },
                path.clone(),
                options.call_deadline,
            )
            .map_err(|error| fault::from_io(error, &path))?,
            reader: Reader::start(reading, path.clone(), options.call_deadline)
                .map_err(|error| fault::from_io(error, &path))?,
            path,
            clock: options.clock,
            limits: options.limits,
            level: options.synchronous.level(),
            bell,
        })
    }

    /// Facts about the file and the engine, for people who look after it.
    pub async fn info(&self) -> Result<Info> {
        let text =
            |db: &Connection, pragma: &str| db.pragma_query_value(None, pragma, |row| row.get(0));
        let (journal_mode, synchronous, schema_version) = self
            .reader
            .read(move |db| {
                let synchronous: i64 =
                    db.pragma_query_value(None, "synchronous", |row| row.get(0))?;
                let schema: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
                Ok((text(db, "journal_mode")?, synchronous, schema))
            })
            .await?;
        let file =
            std::fs::metadata(&self.path).map_err(|error| fault::from_io(error, &self.path))?;
        Ok(Info {
            sqlite_version: rusqlite::version().to_owned(),
            schema_version: u32::try_from(schema_version).unwrap_or_default(),
            file_bytes: file.len(),
            journal_mode,
            synchronous: ["off", "normal", "full", "extra"]
                [usize::try_from(synchronous).unwrap_or_default().min(3)]
            .to_owned(),
            mode: mode_of(&file),
        })
    }

    /// Reads every page of the file and checks that it is whole; takes long on a large store.
    pub async fn check_file(&self) -> Result<Vec<String>> {
        self.long_look(|db| {
            let mut statement = db.prepare("PRAGMA quick_check(20)")?;
            let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
            let lines: Vec<_> = lines.collect::<Result<_, _>>()?;
            Ok(lines.into_iter().filter(|line| line != "ok").collect())
        })
        .await
    }

    /// Looks at one snapshot for as long as it takes, on a thread and a connection of its own, so
    /// that nobody waits for it.
    pub(crate) async fn long_look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Connection) -> Db<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = tokio::sync::oneshot::channel();
        let path = self.path.clone();
        let run = move || {
            let snapshot = || {
                let db = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
                let snapshot = db.unchecked_transaction()?;
                look(&snapshot)
            };
            // A caller that went away needs no answer.
            let _ = reply.send(snapshot().map_err(|fault: Fault| fault.into_error(&path)));
        };
        std::thread::Builder::new()
            .name("windlass-look".to_owned())
            .spawn(run)
            .map_err(|error| fault::from_io(error, &self.path))?;
        answer.await.map_err(|_| fault::closed(&self.path))?
    }
}

/// Facts about the file and the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// The version of the SQLite compiled in.
    pub sqlite_version: String,
    /// The version of the file's shape.
    pub schema_version: u32,
    /// The size of the main file.
    pub file_bytes: u64,
    /// `wal` on a sound store.
    pub journal_mode: String,
    /// `full` unless opened otherwise.
    pub synchronous: String,
    /// Permission bits of the file; 0600 on a sound store, 0 where there are none.
    pub mode: u32,
}

fn refuse_old_sqlite(version: i32) -> Result<()> {
    if version >= SQLITE_VERSION_MIN {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::StoreUnsupported,
        format!("SQLite {version} may damage files that several processes write"),
        "build Windlass with its bundled SQLite (3.51.3 or later)",
    ))
}

/// Makes the store in a file that has none yet, unless another process was quicker.
fn make_store(
    turnstile: Turnstile,
    path: &Path,
    options: &Options,
) -> Result<(Connection, Turnstile)> {
    let turnstile = turnstile.enter_within(options.call_deadline);
    let turnstile = turnstile
        .map_err(|error| fault::from_io(error, path))?
        .ok_or_else(|| fault::held(path, options.call_deadline))?;
    let made = connect(path, options).and_then(|mut db| {
        make_schema(&mut db, path)?;
        Ok(db)
    });
    turnstile.leave();
    Ok((made?, turnstile))
}

fn connect(path: &Path, options: &Options) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let set_up = |db: &Connection| {
        db.set_prepared_statement_cache_capacity(256);
        // One plan per statement: else some are prepared anew for every value bound to them.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // A hostile file must not run code of its own.
        db.pragma_update(None, "trusted_schema", false)?;
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        db.pragma_update(None, "synchronous", options.synchronous.word())?;
        db.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
        db.pragma_update(None, "cache_size", -16 * 1024)?;
        db.pragma_update(None, "temp_store", "MEMORY")
    };
    let db = Connection::open_with_flags(path, flags)
        .map_err(|error| fault::from_sqlite(error, path))?;
    #[cfg(test)]
    let db = crate::plans::noted(db);
    // Twice within the deadline, so that whoever waits behind one waiting call is answered too.
    db.busy_timeout(BUSY_TIMEOUT_MAX.min(options.call_deadline / 2))
        .map_err(|error| fault::from_sqlite(error, path))?;
    // Whose file it is must be known before anything is written to it.
    refuse_foreign(&db, path)?;
    if db
        .is_readonly("main")
        .map_err(|error| fault::from_sqlite(error, path))?
    {
        return Err(fault::read_only(path));
    }
    set_up(&db).map_err(|error| fault::from_sqlite(error, path))?;
    Ok(db)
}

/// Refuses files of other programs and of newer versions of this one, the log included.
fn refuse_foreign(db: &Connection, path: &Path) -> Result<()> {
    let sqlite = |error| fault::from_sqlite(error, path);
    let number = |name: &str| -> Result<i64> {
        db.pragma_query_value(None, name, |row| row.get(0))
            .map_err(sqlite)
    };
    // Closing a foreign database must not copy its log into it.
    let no_checkpoint = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    db.set_db_config(no_checkpoint, true).map_err(sqlite)?;
    let version = number("user_version")?;
    match number("application_id")? {
        APPLICATION_ID if version == 0 => {
            return Err(fault::damaged(path, "it does not say its schema"));
        }
        APPLICATION_ID => {}
        0 if version == 0 && number("schema_version")? == 0 => {}
        _ => return Err(fault::foreign(path)),
    }
    if version > SCHEMA_VERSION {
        return Err(fault::newer(path, version));
    }
    db.set_db_config(no_checkpoint, false).map_err(sqlite)?;
    Ok(())
}

/// Whether a store has its tables; one that another process is just making has not.
fn is_made(db: &Connection) -> bool {
    let version = db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    version.is_ok_and(|version| version > 0)
}

/// Makes the tables in one transaction, unless another process was quicker.
fn make_schema(db: &mut Connection, path: &Path) -> Result<()> {
    let make = |db: &mut Connection| -> rusqlite::Result<()> {
        let step = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version: i64 = step.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version == 0 {
            step.execute_batch(include_str!("schema.sql"))?;
            step.pragma_update(None, "application_id", APPLICATION_ID)?;
            step.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        }
        step.commit()?;
        // Into the file itself, where its first bytes tell at once whose it is.
        db.pragma_query(None, "wal_checkpoint", |_| Ok(()))
    };
    make(db).map_err(|error| fault::from_sqlite(error, path))
}

#[cfg(unix)]
fn mode_of(file: &std::fs::Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o7777
}

#[cfg(not(unix))]
fn mode_of(_: &std::fs::Metadata) -> u32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sqlite_with_the_wal_reset_fault_is_refused() {
        assert!(refuse_old_sqlite(3_051_002).is_err());
        assert!(refuse_old_sqlite(rusqlite::version_number()).is_ok());
    }
}
