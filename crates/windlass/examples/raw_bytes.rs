//! Jobs without types: bytes in, bytes out, with a handler per kind and a fallback for all others.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use windlass::{Bytes, Client, JobError, Json, NewJob, RawJob, Worker};

async fn reverse(payload: Bytes) -> Result<Vec<u8>, JobError> {
    Ok(payload.iter().rev().copied().collect())
}

async fn sum(Json(numbers): Json<Vec<u64>>) -> Result<Json<u64>, JobError> {
    Ok(Json(numbers.iter().sum()))
}

async fn any(job: RawJob) -> Result<String, JobError> {
    Ok(format!("{} bytes of {:?}", job.payload.len(), job.kind))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("memory:").await?;
    let bytes = vec![1, 0, 255];
    client
        .enqueue_raw("raw", bytes)
        .kind("reverse")
        .id("a")
        .await?;
    client
        .enqueue_raw("raw", "[1,2,3]")
        .kind("sum")
        .id("b")
        .await?;
    client.enqueue_raw("raw", "?").id("c").await?;
    let many = (0..3).map(|_| NewJob::new("x")).collect();
    let results = client.enqueue_many_raw("raw", many).await?;
    assert!(results.iter().all(|result| result.is_ok()));

    let worker = Worker::new(client.clone())
        .queue("raw")
        .handle_raw("reverse", reverse)
        .handle_raw("sum", sum)
        .fallback(any);
    let summary = worker.burst().run().await?;

    assert_eq!(summary.succeeded, 6);
    for (id, expected) in [
        ("a", &[255, 0, 1][..]),
        ("b", b"6"),
        ("c", b"1 bytes of None"),
    ] {
        let result = client
            .wait_raw("raw", id, None)
            .await?
            .ok_or("the job has no result")?;
        println!("{id}: {result:?}");
        assert_eq!(result, expected);
    }
    Ok(())
}
