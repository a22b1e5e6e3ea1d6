//! The log of operator actions.

use rusqlite::{Connection, params};
use windlass_core::Timestamp;
use windlass_core::action::{ACTIONS_MAX, Action, ActionRecord};
use windlass_core::store::{Cursor, Page};

use crate::error::TxResult;
use crate::row::queue_name;
use crate::sql::Sql;
use crate::transaction::Tx;

impl Tx<'_> {
    /// Adds an action and removes the oldest.
    pub(crate) fn log_action(&mut self, action: &Action) -> TxResult<()> {
        let at = self.begin_registry()?;
        self.db.run(
            "INSERT INTO action (at, who, interface, op, queue, target, request)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                at,
                action.who,
                action.interface,
                action.op,
                action.queue.as_ref().map(|queue| queue.as_str()),
                action.target,
                action.request,
            ],
        )?;
        let sql = "DELETE FROM action WHERE number <= (SELECT max(number) FROM action) - ?1";
        self.db.run(sql, [ACTIONS_MAX])?;
        Ok(())
    }
}

/// A page, newest first, of the actions before a number.
pub(crate) fn list(
    db: &Connection,
    before: Option<u64>,
    limit: usize,
) -> TxResult<Page<ActionRecord>> {
    let sql = "SELECT number, at, who, interface, op, queue, target, request FROM action
         WHERE number < ?1 ORDER BY number DESC LIMIT ?2";
    let before = before.and_then(|before| i64::try_from(before).ok());
    let params = params![before.unwrap_or(i64::MAX), limit + 1];
    let mut items = db.rows(sql, params, |row| {
        let queue: Option<String> = row.get(5)?;
        Ok(ActionRecord {
            number: row.get(0)?,
            at: Timestamp::from_ms(row.get(1)?),
            action: Action {
                who: row.get(2)?,
                interface: row.get(3)?,
                op: row.get(4)?,
                queue: queue.map(|name| queue_name(&name)).transpose()?,
                target: row.get(6)?,
                request: row.get(7)?,
            },
        })
    })?;
    let has_more = items.len() > limit;
    items.truncate(limit);
    let last = items.last().filter(|_| has_more);
    let next = last.map(|record| Cursor(record.number.to_string()));
    Ok(Page { items, next })
}
