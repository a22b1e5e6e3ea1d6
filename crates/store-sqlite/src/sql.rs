//! Runs one statement, through the connection's cache of prepared statements.

use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row};

use crate::error::TxResult;

pub(crate) trait Sql {
    /// Returns the number of rows that a statement changed.
    fn run(&self, sql: &str, params: impl Params) -> TxResult<usize>;

    /// Returns whether there is a row.
    fn has(&self, sql: &str, params: impl Params) -> TxResult<bool>;

    /// Reads every row.
    fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> TxResult<T>,
    ) -> TxResult<Vec<T>>;

    /// Reads the first row.
    fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> TxResult<T>,
    ) -> TxResult<Option<T>>;

    /// Reads the first column of the first row.
    fn value<T: FromSql>(&self, sql: &str, params: impl Params) -> TxResult<Option<T>> {
        self.first(sql, params, |row| Ok(row.get(0)?))
    }
}

impl Sql for Connection {
    fn run(&self, sql: &str, params: impl Params) -> TxResult<usize> {
        Ok(self.prepare_cached(sql)?.execute(params)?)
    }

    fn has(&self, sql: &str, params: impl Params) -> TxResult<bool> {
        Ok(self.prepare_cached(sql)?.exists(params)?)
    }

    fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> TxResult<T>,
    ) -> TxResult<Vec<T>> {
        let mut statement = self.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(row)?);
        }
        Ok(found)
    }

    fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> TxResult<T>,
    ) -> TxResult<Option<T>> {
        let mut statement = self.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        rows.next()?.map(read).transpose()
    }
}
