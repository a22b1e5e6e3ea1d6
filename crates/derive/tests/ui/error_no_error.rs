//! A handler whose error is not an error.

use serde::{Deserialize, Serialize};
use windlass::{Client, Context, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "mail.send", output = u32)]
struct Mail;

async fn send(_: Mail, _: Context) -> Result<u32, String> {
    Ok(1)
}

fn main() {}

fn worker(client: Client) -> Worker {
    Worker::new(client).handle(send)
}
