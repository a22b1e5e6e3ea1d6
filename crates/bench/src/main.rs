//! Load on the real worker, beside the bare engine in the same run.
//!
//! `cargo run --release -p windlass-bench -- process|pickup|http [JOBS]`

#![expect(clippy::print_stdout, reason = "a program that prints its figures")]
#![expect(
    clippy::cast_precision_loss,
    reason = "counts of jobs stay far below 2^53"
)]

mod bare_redis;
#[path = "../../store-sqlite/benches/bare.rs"]
mod bare_sqlite;
mod cpu;
mod http;
mod pickup;
mod process;
mod sample;

use std::process::ExitCode;

/// What the bare engine stores for each job.
const PAYLOAD: [u8; 100] = [7; 100];

#[tokio::main]
async fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let scenario = words.next().unwrap_or_default();
    let jobs = words.next().and_then(|word| word.parse().ok());
    match scenario.as_str() {
        "process" => process::run(jobs.unwrap_or(200_000)).await,
        "http" => http::run(jobs.unwrap_or(64_000)).await,
        "pickup" => pickup::run(jobs.unwrap_or(2_000)).await,
        _ => {
            println!("usage: windlass-bench process|pickup|http [JOBS]");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
