//! A raw handler that leaves what is not bytes.

use serde::{Deserialize, Serialize};
use windlass::{Client, Context, JobError, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "mail.send", output = u32)]
struct Mail;

async fn send(_: Context) -> Result<Mail, JobError> {
    Ok(Mail)
}

fn main() {}

fn worker(client: Client) -> Worker {
    Worker::new(client).handle_raw("mail.send", send)
}
