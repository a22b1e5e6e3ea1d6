//! Compares the schema of a file with `schema.sql`: a store contains no code, and no tables or indexes
//! that Windlass did not create. Upgrades the file of an older version.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{TxError, TxResult};
use crate::file::SCHEMA_VERSION;

/// What creates the tables of a store.
pub(crate) const SCHEMA: &str = concat!(
    include_str!("schema.sql"),
    include_str!("schedule.sql"),
    include_str!("group.sql"),
    include_str!("history.sql"),
    include_str!("error_group.sql"),
    include_str!("holder.sql"),
    include_str!("action.sql")
);

/// What each version adds to the one before, and what removes it again: first version 2.
const UPGRADES: [(&str, &str); 2] = [
    (
        concat!(
            "ALTER TABLE queue ADD COLUMN fires_at INTEGER;
             ALTER TABLE queue ADD COLUMN rate_next_us INTEGER NOT NULL DEFAULT 0;
             ALTER TABLE job ADD COLUMN unique_for_ms INTEGER;
             ALTER TABLE tombstone ADD COLUMN job TEXT;
             ALTER TABLE tombstone ADD COLUMN reply TEXT;
             ALTER TABLE job ADD COLUMN group_name TEXT;
             DROP INDEX job_ready;
             UPDATE job SET lane = lane + 2 * (priority - 5) WHERE state = 1 AND priority <> 5;
             CREATE INDEX job_ready ON job (queue, group_name, lane, position) WHERE state = 1;",
            include_str!("schedule.sql"),
            include_str!("group.sql"),
        ),
        "ALTER TABLE queue DROP COLUMN fires_at;
         ALTER TABLE queue DROP COLUMN rate_next_us;
         ALTER TABLE job DROP COLUMN unique_for_ms;
         ALTER TABLE tombstone DROP COLUMN job;
         ALTER TABLE tombstone DROP COLUMN reply;
         DROP INDEX job_ready;
         ALTER TABLE job DROP COLUMN group_name;
         CREATE INDEX job_ready ON job (queue, priority, lane, position) WHERE state = 1;
         DROP TABLE schedule;
         DROP TABLE job_group;",
    ),
    (
        concat!(
            include_str!("history.sql"),
            include_str!("error_group.sql"),
            include_str!("holder.sql"),
            include_str!("action.sql")
        ),
        "DROP TABLE history;
         DROP TABLE open_minute;
         DROP TABLE error_group;
         DROP INDEX job_holder;
         DROP TABLE action;",
    ),
];

/// The definition of each object, by type and name.
type Schema = BTreeMap<(String, String), String>;

/// Whether the store has an older version of the schema.
pub(crate) fn is_old(db: &Connection) -> rusqlite::Result<bool> {
    Ok(version(db)? < SCHEMA_VERSION)
}

/// Upgrades a store in one transaction, unless another process did so first. Older versions of Windlass refuse it
/// from then on.
pub(crate) fn upgrade(db: &mut Connection) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (upgrade, _) in &UPGRADES[upgraded(version(&tx)?)..] {
        tx.execute_batch(upgrade)?;
    }
    tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    tx.commit()
}

fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Rejects a store whose schema is not that of Windlass, in its version.
pub(crate) fn refuse_different(db: &Connection) -> TxResult<()> {
    // One snapshot: another process may upgrade the store meanwhile.
    let snapshot = db.unchecked_transaction()?;
    let found = read(&snapshot)?;
    let expected = expected(version(&snapshot)?)?;
    if found == *expected {
        return Ok(());
    }
    let differs = |object: &&(String, String)| found.get(object) != expected.get(object);
    let objects = found.keys().chain(expected.keys());
    let what = match objects.into_iter().find(differs) {
        Some(object @ (kind, name)) if !expected.contains_key(object) => {
            format!("the {kind} {name:?} is not part of a store")
        }
        Some(object @ (kind, name)) if !found.contains_key(object) => {
            format!("the {kind} {name:?} is missing")
        }
        Some((kind, name)) => format!("the {kind} {name:?} is not that of a store"),
        None => "its schema is not that of a store".to_owned(),
    };
    Err(TxError::Damaged(what))
}

/// How many upgrades a version contains. Callers refuse newer versions.
fn upgraded(version: i64) -> usize {
    let upgrades = usize::try_from(version - 1).unwrap_or_default();
    upgrades.min(UPGRADES.len())
}

/// The schema of a version.
fn expected(version: i64) -> rusqlite::Result<&'static Schema> {
    static EXPECTED: [OnceLock<Schema>; UPGRADES.len() + 1] =
        [const { OnceLock::new() }; UPGRADES.len() + 1];
    let upgraded = upgraded(version);
    let expected = &EXPECTED[upgraded];
    if let Some(schema) = expected.get() {
        return Ok(schema);
    }
    let db = Connection::open_in_memory()?;
    db.execute_batch(SCHEMA)?;
    for (_, downgrade) in UPGRADES[upgraded..].iter().rev() {
        db.execute_batch(downgrade)?;
    }
    let schema = read(&db)?;
    Ok(expected.get_or_init(|| schema))
}

/// Reads the schema. Statistics of `ANALYZE` may be present.
fn read(db: &Connection) -> rusqlite::Result<Schema> {
    let mut statement = db.prepare(
        "SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT GLOB 'sqlite_stat*'",
    )?;
    let rows = statement.query_map([], |row| {
        let sql: String = row.get(2)?;
        Ok(((row.get(0)?, row.get(1)?), normalized(&sql)))
    })?;
    rows.collect()
}

/// The definition without comments, which may change, and with single spaces: also around punctuation, since
/// SQLite writes an added column in its own way.
fn normalized(sql: &str) -> String {
    let code = sql
        .lines()
        .map(|line| line.split_once("--").map_or(line, |(code, _)| code));
    let code = code.collect::<Vec<_>>().join("\n");
    let spaced = |code: String, mark| code.replace(mark, &format!(" {mark} "));
    let code = ["(", ")", ","].into_iter().fold(code, spaced);
    let words: Vec<_> = code.split_whitespace().collect();
    words.join(" ")
}
