//! Compares the schema of a file with `schema.sql`: a store contains no code, and no tables or indexes
//! that Windlass did not create.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rusqlite::Connection;

use crate::error::{TxError, TxResult};

/// What creates the tables of a store.
pub(crate) const SCHEMA: &str = include_str!("schema.sql");

/// The definition of each object, by type and name.
type Schema = BTreeMap<(String, String), String>;

/// Rejects a store whose schema is not that of Windlass.
pub(crate) fn refuse_different(db: &Connection) -> TxResult<()> {
    let found = read(db)?;
    let expected = expected()?;
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

/// The schema of a new store.
fn expected() -> rusqlite::Result<&'static Schema> {
    static EXPECTED: OnceLock<Schema> = OnceLock::new();
    if let Some(schema) = EXPECTED.get() {
        return Ok(schema);
    }
    let db = Connection::open_in_memory()?;
    db.execute_batch(SCHEMA)?;
    let schema = read(&db)?;
    Ok(EXPECTED.get_or_init(|| schema))
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

/// The definition without comments, which may change, and with single spaces.
fn normalized(sql: &str) -> String {
    let code = sql
        .lines()
        .map(|line| line.split_once("--").map_or(line, |(code, _)| code));
    let words: Vec<_> = code.flat_map(str::split_whitespace).collect();
    words.join(" ")
}
