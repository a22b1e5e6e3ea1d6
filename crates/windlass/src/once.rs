//! Effects that must happen once, however often a job runs.

use windlass_core::Token;

/// An effect that must happen once, however often its job runs.
///
/// With at-least-once delivery, an attempt can crash after its effect and before its completion; the
/// next attempt must not repeat the effect. The only safe way to record it is **in the database of the
/// effect, in the same transaction**: either both are committed or neither is.
///
/// ```
/// use windlass::{JobError, Once};
///
/// fn pay(database: &mut rusqlite::Connection, once: &Once, amount: i64) -> Result<bool, JobError> {
///     let transaction = database.transaction()?;
///     let rows = transaction.execute(Once::RECORD, (once.key(), once.fence()))?;
///     if once.is_first(rows as u64) {
///         transaction.execute("UPDATE account SET balance = balance - ?1", [amount])?;
///     }
///     transaction.commit()?; // the effect and its record, or neither
///     Ok(once.is_first(rows as u64))
/// }
///
/// # let mut database = rusqlite::Connection::open_in_memory().unwrap();
/// # database.execute(Once::CREATE, ()).unwrap();
/// # database.execute_batch("CREATE TABLE account (balance); INSERT INTO account VALUES (100)").unwrap();
/// # let once = Once::new("mail/1/pay", "7-00000001".parse().unwrap());
/// assert!(pay(&mut database, &once, 30).unwrap());
/// assert!(!pay(&mut database, &once, 30).unwrap());
/// # let left: i64 = database.query_row("SELECT balance FROM account", (), |row| row.get(0)).unwrap();
/// # assert_eq!(left, 70);
/// ```
///
/// The SQL statements work with SQLite and Postgres.
///
/// # Retention
///
/// Keep a record for as long as its job can run again; otherwise the effect may happen twice. With the
/// default retry policy (20 attempts, at most an hour apart) that is less than a day after the job was
/// due. Add the time you snooze it and, if you retry dead jobs manually, how long those are kept.
/// Thirty days suit most programs; [`FORGET`](Self::FORGET) deletes older records. A job enqueued
/// again with the same id is the same job: its effects count as done while their records exist.
///
/// # Without a transaction
///
/// If the effect is a single write to a row, a fence rejects stale writes, from an attempt that lost its
/// lease, continued, and writes after its successor.
///
/// ```sql
/// UPDATE report SET text = $1, fence = $2 WHERE id = $3 AND fence < $2
/// ```
///
/// If no row changes, a later attempt has already written: stop. The fence of each attempt is higher than
/// that of the one before. This orders attempts but does not prevent repeats: use it for idempotent
/// writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    key: String,
    token: Token,
}

impl Once {
    /// Creates the table of records.
    pub const CREATE: &str = "CREATE TABLE IF NOT EXISTS windlass_once (key TEXT PRIMARY KEY, \
        fence BIGINT NOT NULL, at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)";

    /// Records an effect by its key and fence, in the transaction of the effect. Pass the number of
    /// changed rows to [`is_first`](Self::is_first).
    pub const RECORD: &str =
        "INSERT INTO windlass_once (key, fence) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING";

    /// Deletes records older than a time.
    pub const FORGET: &str = "DELETE FROM windlass_once WHERE at < $1";

    /// Creates the record of an effect with a custom key: jobs with the same key share one effect.
    /// [`Context::once`](crate::Context::once) derives the key from the job.
    pub fn new(key: impl Into<String>, token: Token) -> Self {
        let key = key.into();
        Self { key, token }
    }

    /// Returns the key of the effect.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the number of the claim, which grows with every claim of the queue.
    pub fn fence(&self) -> i64 {
        // Numbers stay below 2^53.
        i64::try_from(self.token.number).unwrap_or(i64::MAX)
    }

    /// Returns whether this attempt must perform the effect, given the rows that
    /// [`RECORD`](Self::RECORD) changed.
    #[must_use = "perform the effect only if this returns true"]
    pub fn is_first(&self, rows_changed: u64) -> bool {
        rows_changed > 0
    }
}
