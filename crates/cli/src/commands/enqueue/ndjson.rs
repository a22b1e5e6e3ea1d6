//! Jobs from lines of NDJSON: in batches, bad lines told with their number, the rest goes on.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, Read};
use std::sync::Arc;

use indicatif::ProgressBar;
use windlass::store::{Enqueued, Limits};
use windlass::{Error as CoreError, ErrorKind, NewJob, QueueName, Store};
use windlass_api::{EnqueueReply, EnqueueRequest, Error};

use super::enqueue;
use super::safety::Safety;
use crate::exit::{Exit, Failure, Result};
use crate::input::{LINE_BYTES_MAX, Line, next_line};
use crate::output::Output;
use crate::session::Session;

/// Jobs in one batch at most; a store takes them in one step.
const BATCH_JOBS_MAX: usize = 1000;
/// Bytes in one batch at most, well under what a store takes in one call.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How much is read at once.
const BUFFER_BYTES: usize = 1024 * 1024;

/// Enqueues every line of a file, or of standard input where it is `-`.
pub(super) async fn run(queue: &QueueName, file: &OsStr, session: &mut Session) -> Result<Exit> {
    let (input, bytes) = open(file)?;
    let store = session.store_or_create().await?;
    let mut feed = Feed {
        store,
        safety: Safety::new(session.lasting_store()?.durability()),
        queue: queue.clone(),
        bar: Output::bar(bytes),
        output: session.output.clone(),
        batch: Vec::new(),
        batch_bytes: 0,
        counts: Counts::default(),
    };

    let outcome = feed
        .run(BufReader::with_capacity(BUFFER_BYTES, input))
        .await;

    feed.bar.finish_and_clear();
    let Counts {
        accepted,
        duplicates,
        bad,
    } = feed.counts;
    feed.output.talk(&format!(
        "{accepted} accepted, {duplicates} duplicates, {bad} bad lines"
    ));
    feed.safety.tell(&mut feed.output);
    outcome?;
    Ok(if bad > 0 { Exit::Failed } else { Exit::Ok })
}

fn open(file: &OsStr) -> Result<(Box<dyn Read + Send>, Option<u64>)> {
    if file == "-" {
        return Ok((Box::new(std::io::stdin()), None));
    }
    let name = file.to_string_lossy();
    let opened = File::open(file).and_then(|file| {
        let data = file.metadata()?;
        Ok((file, data.is_file().then_some(data.len())))
    });
    let (file, bytes) = opened.map_err(|error| Failure::unreadable(&name, &error))?;
    Ok((Box::new(file), bytes))
}

#[derive(Debug, Default)]
struct Counts {
    accepted: u64,
    duplicates: u64,
    bad: u64,
}

/// Lines on their way into a queue.
struct Feed {
    store: Arc<dyn Store>,
    safety: Safety,
    queue: QueueName,
    bar: ProgressBar,
    output: Output,
    /// Jobs with the number of their line.
    batch: Vec<(u64, NewJob)>,
    batch_bytes: usize,
    counts: Counts,
}

impl Feed {
    async fn run(&mut self, mut input: BufReader<Box<dyn Read + Send>>) -> Result<()> {
        let mut number = 0;
        loop {
            // Whoever writes slowly has each line taken at once, whoever writes fast has batches.
            let must_wait = !input.buffer().contains(&b'\n');
            let is_full = self.batch.len() >= BATCH_JOBS_MAX || self.batch_bytes >= BATCH_BYTES_MAX;
            if must_wait || is_full {
                self.send().await?;
            }
            let line = tokio::task::block_in_place(|| next_line(&mut input, LINE_BYTES_MAX));
            let line = line.map_err(|error| Failure::unreadable("the input", &error))?;
            number += 1;
            match line {
                None => return self.send().await,
                Some(Line::TooLong) => self.refuse(number, &too_long()),
                Some(Line::Read(line)) => self.take(number, &line),
            }
        }
    }

    /// Adds the job of one line to the batch; blank lines are nothing.
    fn take(&mut self, number: u64, line: &[u8]) {
        self.bar.inc(line.len() as u64 + 1);
        if line.trim_ascii().is_empty() {
            return;
        }
        match parse(line) {
            Ok(job) => {
                self.batch_bytes += job.payload.len();
                self.batch.push((number, job));
            }
            Err(error) => self.refuse(number, &error),
        }
    }

    /// Enqueues the batch and prints what became of it.
    async fn send(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        let jobs = batch.iter().map(|(_, job)| job.clone()).collect();
        match enqueue(self.store.as_ref(), &self.queue, jobs).await {
            Ok(enqueued) => self.print(&enqueued),
            // The store refuses one of them: find out which, and take the others.
            Err(error) if error.kind() == ErrorKind::Invalid => {
                for (number, job) in batch {
                    match enqueue(self.store.as_ref(), &self.queue, vec![job]).await {
                        Ok(enqueued) => self.print(&enqueued),
                        Err(error) if error.kind() == ErrorKind::Invalid => {
                            self.refuse(number, &error);
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn print(&mut self, enqueued: &[Enqueued]) {
        self.safety.take(enqueued);
        let duplicates = enqueued.iter().filter(|one| one.is_duplicate()).count() as u64;
        self.counts.duplicates += duplicates;
        self.counts.accepted += enqueued.len() as u64 - duplicates;
        self.bar
            .set_message(format!("{} accepted", self.counts.accepted));
        let replies = enqueued
            .iter()
            .map(|one| EnqueueReply::new(&self.queue, one));
        let replies: Vec<_> = replies.collect();
        let bar = self.bar.clone();
        bar.suspend(|| self.output.results(&replies, |reply| reply.id.clone()));
    }

    fn refuse(&mut self, number: u64, error: &CoreError) {
        self.counts.bad += 1;
        let problem = Error::from(error).at_line(number);
        let bar = self.bar.clone();
        bar.suspend(|| self.output.problem(&problem));
    }
}

fn parse(line: &[u8]) -> windlass::Result<NewJob> {
    let text = std::str::from_utf8(line).map_err(|error| {
        CoreError::invalid(
            "line",
            error,
            "write UTF-8, and other bytes as payload_base64",
        )
    })?;
    let job = EnqueueRequest::from_json(text)?.into_job()?;
    Limits::default().check_job(&job)?;
    Ok(job)
}

fn too_long() -> CoreError {
    let why = format!("it is longer than the limit of {LINE_BYTES_MAX} bytes");
    CoreError::invalid(
        "line",
        why,
        "keep large data elsewhere and put a reference into the job",
    )
}
