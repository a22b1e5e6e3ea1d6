//! Effects that must happen once, however often a job runs.

use windlass_core::Token;

/// An effect that must happen once, however often its job runs.
///
/// At least once means that an attempt can die after its effect and before its completion; the next
/// attempt then finds the effect done and must not repeat it. The only safe place to remember that is
/// **the database of the effect, in the same transaction**: either both are there or neither is.
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
/// The statements are written for SQLite and Postgres.
///
/// # How long records are kept
///
/// A record must outlive the last moment its job can run again, or the effect happens a second time.
/// With the default policy (20 attempts, at most an hour apart) that is under a day after the job
/// fell due. Add how long you snooze it, and, if you retry dead jobs by hand, how long those are kept.
/// Thirty days suit most; [`FORGET`](Self::FORGET) removes what is older. A job enqueued again under
/// an id of your own is the same job, and its effects count as done while their records are there.
///
/// # Without a transaction
///
/// Where the effect is one write to a row, a fence refuses whoever comes late: an attempt that lost
/// its lease, went on, and writes after its successor.
///
/// ```sql
/// UPDATE report SET text = $1, fence = $2 WHERE id = $3 AND fence < $2
/// ```
///
/// Changing no row means that a later attempt was faster: stop. The fence of each attempt is higher
/// than that of the one before, so this orders attempts and does not make them one: use it for writes
/// that may be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    key: String,
    token: Token,
}

impl Once {
    /// Makes the table of records.
    pub const CREATE: &str = "CREATE TABLE IF NOT EXISTS windlass_once (key TEXT PRIMARY KEY, \
        fence BIGINT NOT NULL, at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)";

    /// Records an effect by its key and fence, in the transaction of the effect. The number of rows
    /// it changed goes to [`is_first`](Self::is_first).
    pub const RECORD: &str =
        "INSERT INTO windlass_once (key, fence) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING";

    /// Forgets records from before a time.
    pub const FORGET: &str = "DELETE FROM windlass_once WHERE at < $1";

    /// An effect with a key of your own, by which it is known whichever job does it: two jobs
    /// with one key have one effect between them. [`Context::once`](crate::Context::once) makes the
    /// key of the job.
    pub fn new(key: impl Into<String>, token: Token) -> Self {
        let key = key.into();
        Self { key, token }
    }

    /// What the effect is known by.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The number of the claim, which grows with every claim of the queue.
    pub fn fence(&self) -> i64 {
        // Numbers stay below 2^53.
        i64::try_from(self.token.number).unwrap_or(i64::MAX)
    }

    /// Whether the effect is this attempt's to do, by the rows that [`RECORD`](Self::RECORD) changed.
    #[must_use = "do the effect only when it is the first"]
    pub fn is_first(&self, rows_changed: u64) -> bool {
        rows_changed > 0
    }
}
