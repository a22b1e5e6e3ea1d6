//! A handler that returns another type than its job promises.

use serde::{Deserialize, Serialize};
use windlass::{Client, Context, JobError, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "mail.send", output = u32)]
struct Mail;

async fn send(_: Mail, _: Context) -> Result<String, JobError> {
    Ok(String::new())
}

fn main() {}

fn worker(client: Client) -> Worker {
    Worker::new(client).handle(send)
}
