//! An argument that cannot be taken from the context.

use serde::{Deserialize, Serialize};
use windlass::{Client, Context, JobError, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "mail.send", output = u32)]
struct Mail;

async fn send(_: Mail, _: Context, _: String) -> Result<u32, JobError> {
    Ok(1)
}

fn main() {}

fn worker(client: Client) -> Worker {
    Worker::new(client).handle(send)
}
