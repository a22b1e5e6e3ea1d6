//! Reads changes from an input and writes the changed file.

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::template::FILE;

/// The most changes of one input.
const CHANGES_MAX: usize = 32;

const TABLES: [&str; 10] = [
    "queue",
    "job",
    "large_payload",
    "lease",
    "claim",
    "claim_ids",
    "departure",
    "tombstone",
    "worker",
    "registry",
];

/// Writes the file with the changes in `data`.
pub(super) fn write(path: &Path, data: &[u8]) {
    let mut bytes = Input(data);
    let mut file = FILE.clone();
    let mut cells = Vec::new();
    for _ in 0..CHANGES_MAX {
        match bytes.next() {
            None => break,
            Some(kind) if kind % 2 == 0 => {
                let offset = bytes.number(3) % file.len();
                file[offset] ^= bytes.next().unwrap_or(1);
            }
            Some(_) => cells.push(Cell::read(&mut bytes)),
        }
    }
    std::fs::write(path, file).expect("the file can be written");
    if cells.is_empty() {
        return;
    }
    // A change of bytes may make it unreadable, and a cell may refuse a value.
    let Ok(db) = Connection::open(path) else {
        return;
    };
    for cell in cells {
        let _ = cell.write(&db);
    }
}

/// A new value of one cell.
struct Cell {
    table: usize,
    column: usize,
    row: usize,
    value: Value,
}

impl Cell {
    fn read(bytes: &mut Input<'_>) -> Self {
        Self {
            table: bytes.number(1),
            column: bytes.number(1),
            row: bytes.number(1),
            value: bytes.value(),
        }
    }

    fn write(&self, db: &Connection) -> rusqlite::Result<()> {
        let table = TABLES[self.table % TABLES.len()];
        let columns = db
            .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))?
            .query_map([], |row| row.get::<_, String>(0))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let keys = db
            .prepare(&format!(
                "SELECT name FROM pragma_table_info('{table}') WHERE pk > 0"
            ))?
            .query_map([], |row| row.get::<_, String>(0))?
            .collect::<rusqlite::Result<Vec<_>>>()?
            .join(", ");
        let count: usize = db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
            row.get(0)
        })?;
        let column = &columns[self.column % columns.len().max(1)];
        let row = self.row % count.max(1);
        db.execute(
            &format!(
                "UPDATE {table} SET {column} = ?1 WHERE ({keys}) IN \
                 (SELECT {keys} FROM {table} LIMIT 1 OFFSET {row})"
            ),
            params_from_iter([&self.value]),
        )?;
        Ok(())
    }
}

/// The rest of an input; 0 after its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self, bytes: usize) -> usize {
        (0..bytes).fold(0, |number, _| {
            number << 8 | usize::from(self.next().unwrap_or_default())
        })
    }

    fn integer(&mut self) -> i64 {
        i64::from_be_bytes(std::array::from_fn(|_| self.next().unwrap_or_default()))
    }

    fn value(&mut self) -> Value {
        match self.number(1) % 6 {
            0 => Value::Null,
            1 => Value::Integer(i64::from(self.next().unwrap_or_default())),
            2 => Value::Integer(self.integer()),
            3 => Value::Integer(-i64::from(self.next().unwrap_or_default())),
            kind => {
                let length = self.number(1).min(self.0.len());
                let (bytes, rest) = self.0.split_at(length);
                self.0 = rest;
                if kind == 4 {
                    Value::Text(String::from_utf8_lossy(bytes).into_owned())
                } else {
                    Value::Blob(bytes.to_vec())
                }
            }
        }
    }
}
