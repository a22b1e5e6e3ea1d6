//! Enqueues jobs from NDJSON in batches, and puts exported schedules. Invalid lines are reported with their
//! number and skipped.

use std::ffi::OsStr;
use std::sync::Arc;

use indicatif::ProgressBar;
use tokio::fs::File;
use tokio::io::AsyncRead;
use windlass::store::{
    DurabilityLevel, {Enqueued, Limits},
};
use windlass::{Error as CoreError, ErrorKind, NewJob, QueueName, Store};
use windlass_api::lines::{InputLine, LineReader};
use windlass_api::{
    Code, EnqueueReply, EnqueueRequest, Error, ImportLine, ImportedSchedule, PutSchedule,
    TraceHeaders,
};

use super::{enqueue, note_durability};
use crate::exit::{CliError, Exit, Result};
use crate::output::Output;
use crate::session::Session;

/// Maximum number of jobs per batch.
const BATCH_JOBS_MAX: usize = 1000;
/// Maximum payload bytes per batch, well below the limit of a store.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest line: a payload of 1 MiB with every byte escaped, plus the other fields.
const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Size of the read buffer.
const BUFFER_BYTES: usize = 1024 * 1024;

/// Enqueues every line of a file, or of stdin if it is `-`.
pub(super) async fn run(
    queue: &QueueName,
    file: &OsStr,
    trace: Option<TraceHeaders>,
    session: &mut Session,
) -> Result<Exit> {
    let (input, bytes) = open(file).await?;
    let store = session.store_or_create().await?;
    let mut importer = Importer {
        store,
        lowest: session.persistent_store_url()?.durability(),
        queue: queue.clone(),
        trace,
        bar: Output::bar(bytes),
        output: session.output.clone(),
        batch: Vec::new(),
        batch_bytes: 0,
        counts: Counts::default(),
    };

    let lines = LineReader::with_buffer(BUFFER_BYTES, input, LINE_BYTES_MAX);
    let result = importer.run(lines).await;

    importer.bar.finish_and_clear();
    let bad = importer.counts.bad;
    importer.output.note(&importer.counts.summary());
    note_durability(importer.lowest, session)?;
    result?;
    Ok(if bad > 0 { Exit::Failed } else { Exit::Ok })
}

/// Any input.
type Input = Box<dyn AsyncRead + Send + Unpin>;

async fn open(file: &OsStr) -> Result<(Input, Option<u64>)> {
    if file == "-" {
        return Ok((Box::new(tokio::io::stdin()), None));
    }
    let opened = async {
        let file = File::open(file).await?;
        let data = file.metadata().await?;
        std::io::Result::Ok((file, data.is_file().then_some(data.len())))
    };
    let name = file.to_string_lossy();
    let opened = opened.await;
    let (file, bytes) = opened.map_err(|error| CliError::unreadable(&name, &error))?;
    Ok((Box::new(file), bytes))
}

#[derive(Debug, Default)]
struct Counts {
    accepted: u64,
    duplicates: u64,
    replaced: u64,
    postponed: u64,
    bad: u64,
}

impl Counts {
    fn add(&mut self, enqueued: &Enqueued) {
        let count = match enqueued {
            Enqueued::Duplicate { .. } => &mut self.duplicates,
            Enqueued::Replaced { .. } => &mut self.replaced,
            Enqueued::Postponed { .. } => &mut self.postponed,
            _ => &mut self.accepted,
        };
        *count += 1;
    }

    /// Describes the counts. Most inputs replace and postpone nothing.
    fn summary(&self) -> String {
        let mut text = format!("{} accepted, {} duplicates", self.accepted, self.duplicates);
        for (count, what) in [(self.replaced, "replaced"), (self.postponed, "postponed")] {
            if count > 0 {
                text = format!("{text}, {count} {what}");
            }
        }
        format!("{text}, {} invalid lines", self.bad)
    }
}

/// Reads lines and enqueues them in batches.
struct Importer {
    store: Arc<dyn Store>,
    /// The lowest durability of the jobs.
    lowest: DurabilityLevel,
    queue: QueueName,
    trace: Option<TraceHeaders>,
    bar: ProgressBar,
    output: Output,
    /// Jobs with their line numbers.
    batch: Vec<(u64, NewJob)>,
    batch_bytes: usize,
    counts: Counts,
}

impl Importer {
    async fn run(&mut self, mut lines: LineReader<Input>) -> Result<()> {
        let mut number = 0;
        loop {
            // Before waiting for input, send what there is: a slow writer is served line by line, a
            // fast one in batches.
            let is_full = self.batch.len() >= BATCH_JOBS_MAX || self.batch_bytes >= BATCH_BYTES_MAX;
            if is_full || !lines.has_line() {
                self.send().await?;
            }
            let line = lines.next().await;
            let line = line.map_err(|error| CliError::unreadable("the input", &error))?;
            number += 1;
            match line {
                None => return self.send().await,
                Some(InputLine::Truncated(_)) => self.reject(number, &too_long()),
                Some(InputLine::Complete(line) | InputLine::Partial(line)) => {
                    self.add_line(number, &line).await?;
                }
            }
        }
    }

    /// Adds the job of one line to the batch, or puts its schedule. Blank lines are ignored.
    async fn add_line(&mut self, number: u64, line: &[u8]) -> Result<()> {
        self.bar.inc(line.len() as u64 + 1);
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let job = match parse(line) {
            Ok(ImportLine::Job(request)) => new_job(*request, self.trace.as_ref()),
            Ok(ImportLine::Schedule(schedule)) => return self.put(number, *schedule).await,
            Err(error) => Err(error),
        };
        match job {
            Ok(job) => {
                self.batch_bytes += job.payload.len();
                self.batch.push((number, job));
            }
            Err(error) => self.reject(number, &error),
        }
        Ok(())
    }

    /// Puts a schedule, after the jobs of the lines before it.
    async fn put(&mut self, number: u64, schedule: PutSchedule) -> Result<()> {
        self.send().await?;
        match ImportedSchedule::put(schedule, self.store.as_ref(), &self.queue).await {
            Ok(put) => {
                if put.result == "unchanged" {
                    self.counts.duplicates += 1;
                } else {
                    self.counts.accepted += 1;
                }
                let line = |put: &ImportedSchedule| format!("schedule {}", put.schedule);
                let bar = self.bar.clone();
                bar.suspend(|| self.output.results(&[put], line));
            }
            // Concerns this schedule only: the queue has too many.
            Err(error) if error.code == Code::Conflict => self.report(&error.at_line(number)),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Enqueues the batch and prints the ids.
    async fn send(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        let jobs = batch.iter().map(|(_, job)| job.clone()).collect();
        match enqueue(self.store.as_ref(), &self.queue, jobs).await {
            Ok(enqueued) => self.print(&enqueued),
            // At least one job is invalid: enqueue them one by one to find it.
            Err(error) if error.kind() == ErrorKind::Invalid => {
                for (number, job) in batch {
                    match enqueue(self.store.as_ref(), &self.queue, vec![job]).await {
                        Ok(enqueued) => self.print(&enqueued),
                        Err(error) if error.kind() == ErrorKind::Invalid => {
                            self.reject(number, &error);
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
        let levels = enqueued.iter().map(Enqueued::level);
        self.lowest = levels.fold(self.lowest, DurabilityLevel::min);
        for job in enqueued {
            self.counts.add(job);
        }
        self.bar
            .set_message(format!("{} accepted", self.counts.accepted));
        let replies = enqueued
            .iter()
            .map(|job| EnqueueReply::new(&self.queue, job));
        let replies: Vec<_> = replies.collect();
        let bar = self.bar.clone();
        bar.suspend(|| self.output.results(&replies, |reply| reply.id.clone()));
    }

    fn reject(&mut self, number: u64, error: &CoreError) {
        self.report(&Error::from(error).at_line(number));
    }

    fn report(&mut self, error: &Error) {
        self.counts.bad += 1;
        let bar = self.bar.clone();
        bar.suspend(|| self.output.error(error));
    }
}

fn parse(line: &[u8]) -> windlass::Result<ImportLine> {
    let text = std::str::from_utf8(line).map_err(|error| {
        CoreError::invalid(
            "line",
            error,
            "use UTF-8, and payload_base64 for binary data",
        )
    })?;
    ImportLine::parse(text)
}

fn new_job(mut request: EnqueueRequest, trace: Option<&TraceHeaders>) -> windlass::Result<NewJob> {
    if let Some(trace) = trace {
        trace.add_to(&mut request.headers);
    }
    let job = request.into_job()?;
    Limits::default().check_job(&job)?;
    Ok(job)
}

fn too_long() -> CoreError {
    let why = format!("it is longer than the limit of {LINE_BYTES_MAX} bytes");
    CoreError::invalid(
        "line",
        why,
        "store large data elsewhere and put a reference into the job",
    )
}
