//! An effect that happens once although its job runs twice: the effect and its record are written in one
//! transaction.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use windlass::{Client, Context, Data, JobError, Once, RetryPolicy, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "payment.charge")]
struct Charge {
    amount: i64,
}

async fn charge(
    job: Charge,
    context: Context,
    database: Data<Mutex<Connection>>,
) -> Result<(), JobError> {
    let once = context.once("charge");
    {
        let mut database = database.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = database.transaction()?;
        let rows = transaction.execute(Once::RECORD, (once.key(), once.fence()))?;
        if once.is_first(u64::try_from(rows)?) {
            transaction.execute("UPDATE account SET balance = balance - ?1", [job.amount])?;
        }
        transaction.commit()?;
    }
    if context.attempt() == 1 {
        return Err(JobError::new("connection lost after the effect"));
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("accounts.db");
    let database = Connection::open(&path)?;
    database.execute(Once::CREATE, ())?;
    database.execute_batch("CREATE TABLE account (balance); INSERT INTO account VALUES (100)")?;

    let client = Client::connect("memory:").await?;
    let quick = RetryPolicy::fixed(Duration::from_millis(10));
    client.enqueue(Charge { amount: 30 }).retry(quick).await?;
    let worker = Worker::new(client)
        .handle(charge)
        .data(Mutex::new(database));
    let summary = worker.burst().run().await?;

    let balance: i64 =
        Connection::open(&path)?.query_row("SELECT balance FROM account", (), |row| row.get(0))?;
    println!(
        "{} attempts, balance {balance}",
        summary.failed + summary.succeeded
    );
    assert_eq!((summary.failed, summary.succeeded, balance), (1, 1, 70));
    Ok(())
}
