//! A handler whose first argument is not a job: its derive was forgotten.

use serde::{Deserialize, Serialize};
use windlass::{Client, Context, JobError, Worker};

#[derive(Serialize, Deserialize)]
struct Mail;

async fn send(_: Mail, _: Context) -> Result<(), JobError> {
    Ok(())
}

fn main() {}

fn worker(client: Client) -> Worker {
    Worker::new(client).handle(send)
}
