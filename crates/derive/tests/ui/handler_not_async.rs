//! A handler that is not async.

use serde::{Deserialize, Serialize};
use windlass::{Client, Context, JobError, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "mail.send", output = u32)]
struct Mail;

fn send(_: Mail, _: Context) -> Result<u32, JobError> {
    Ok(1)
}

fn main() {}

fn worker(client: Client) -> Worker {
    Worker::new(client).handle(send)
}
