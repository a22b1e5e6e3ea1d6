//! `windlass tail`: prints job events as they happen. Notifications may be lost; a resync event is then
//! printed.

mod details;

use std::collections::HashSet;

use clap::Args;
use futures_util::FutureExt;
use serde::Serialize;
use tokio::time::{Duration, Instant, sleep_until, timeout_at};
use windlass::store::{Clock, Filter, Notification, SystemClock, Watch};
use windlass::{Job, JobId, JobState, QueueName, Store, Timestamp};
use windlass_api::{Error, timestamp};

use self::details::{DetailReader, Details};
use crate::commands::hint;
use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::session::Session;

/// How often to check for new queues.
const QUEUE_REFRESH: Duration = Duration::from_secs(1);

/// Events that arrive within this time are printed together, so that a job is read once for all its events.
const BATCH_WINDOW: Duration = Duration::from_millis(100);

const BATCH_MAX: usize = 1_000;

/// How many jobs of a new queue are printed.
const NEW_QUEUE_JOBS_MAX: usize = 100;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Runs until Ctrl-C. A queue may be named before it exists. Events may be lost under load; a resync event is \
    then printed. Above 200 events per second, lines have the state and the id only.\n\n\
    Example:\n  windlass tail mail --json"
)]
pub(crate) struct Arguments {
    /// Queue names [default: all]
    queue: Vec<QueueName>,
}

/// One event.
#[derive(Debug, Serialize)]
struct EventLine<'a> {
    at: String,
    /// `job`, `cancel`, or `resync` if events were lost.
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    #[serde(flatten)]
    details: Details,
}

/// Prints events until interrupted or stdout is closed.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let store = session.store().await?;
    hint::note_unused(store.as_ref(), &arguments.queue, session).await;
    let mut tail = Tail {
        store: store.as_ref(),
        output: session.output.clone(),
        named: arguments.queue,
        existing: None,
        watch: None,
        watched: Vec::new(),
        started_at: Instant::now(),
        seen: HashSet::new(),
        listed: HashSet::new(),
        details: DetailReader::default(),
        is_away: false,
    };
    loop {
        let next_refresh = Instant::now() + QUEUE_REFRESH;
        match tail.refresh().await {
            Ok(()) => tail.set_away(None),
            Err(error) if error.is_transient() && tail.existing.is_some() => {
                tail.set_away(Some(&error));
            }
            Err(error) => return Err(error.into()),
        }
        tail.print_events(next_refresh).await;
        if tail.output.undelivered().is_some() {
            return Ok(Exit::Ok);
        }
    }
}

struct Tail<'a> {
    store: &'a dyn Store,
    output: Output,
    named: Vec<QueueName>,
    /// The queues that existed at the last refresh.
    existing: Option<Vec<QueueName>>,
    watch: Option<Box<dyn Watch>>,
    watched: Vec<QueueName>,
    started_at: Instant,
    /// Jobs of queues that were new at the last refresh or later, whose events were printed.
    seen: HashSet<(QueueName, JobId)>,
    /// Jobs that were listed at the last refresh: their events may still arrive.
    listed: HashSet<(QueueName, JobId, JobState)>,
    details: DetailReader,
    is_away: bool,
}

impl Tail<'_> {
    /// Watches queues that are new, and prints the jobs that they got before they were watched.
    async fn refresh(&mut self) -> windlass::Result<()> {
        let existing = self.existing_queues().await?;
        let wanted = if self.named.is_empty() {
            existing.clone()
        } else {
            self.named.clone()
        };
        if self.watch.is_none() || wanted != self.watched {
            let watch = match wanted.as_slice() {
                [] => None,
                queues => Some(self.store.watch(queues).await?),
            };
            self.watched = wanted;
            // The new watch is active: what is left in the old one came before it.
            self.print_pending().await;
            self.watch = watch;
        }
        self.listed.clear();
        let Some(known) = self.existing.replace(existing.clone()) else {
            for queue in self.named.iter().filter(|queue| !existing.contains(queue)) {
                let note = format!("queue {queue} does not exist yet; waiting for its first job");
                self.output.note(&note);
            }
            self.output
                .note("listening for events; press Ctrl-C to stop");
            return Ok(());
        };
        for queue in existing.iter().filter(|queue| !known.contains(queue)) {
            self.print_jobs(queue).await?;
        }
        self.seen.clear();
        Ok(())
    }

    async fn existing_queues(&mut self) -> windlass::Result<Vec<QueueName>> {
        if self.named.is_empty() {
            return self.store.queues().await;
        }
        let mut existing = Vec::new();
        for queue in &self.named {
            let is_known = self.existing.as_ref().is_some_and(|it| it.contains(queue));
            if is_known || self.store.stats(queue).await?.is_some() {
                existing.push(queue.clone());
            }
        }
        Ok(existing)
    }

    /// Prints the jobs of a new queue, except those that were printed already.
    async fn print_jobs(&mut self, queue: &QueueName) -> windlass::Result<()> {
        let stats = self.store.stats(queue).await?.unwrap_or_default();
        let page = self
            .store
            .list(queue, &Filter::default(), None, NEW_QUEUE_JOBS_MAX)
            .await?;
        let count = page.items.len();
        for job in page.items {
            let key = (queue.clone(), job.id.clone());
            if !self.seen.contains(&key) {
                self.listed.insert((key.0, key.1, job.state));
                self.print_job(queue, &job.id, job.state, Some(&job));
            }
        }
        // Others are on the next page, or have finished already.
        if stats.total.enqueued > count as u64 {
            self.print("resync", None, None, Details::default());
        }
        Ok(())
    }

    /// Prints events until it is time for the next refresh.
    async fn print_events(&mut self, until: Instant) {
        loop {
            let Some(watch) = &mut self.watch else {
                return sleep_until(until).await;
            };
            let Ok(first) = timeout_at(until, watch.next()).await else {
                break;
            };
            let Some(first) = first else {
                // The store closed the watch; the next refresh opens another.
                self.watch = None;
                continue;
            };
            let mut batch = vec![first];
            let end = Instant::now() + BATCH_WINDOW;
            while batch.len() < BATCH_MAX
                && let Ok(Some(next)) = timeout_at(end, watch.next()).await
            {
                batch.push(next);
            }
            self.print_batch(batch).await;
            if self.output.undelivered().is_some() {
                return;
            }
        }
        if let Some(count) = self.details.take_skipped() {
            let limit = "at most 200 jobs and 10 MiB per second";
            let note = format!("jobs that were not read for details: {count} ({limit})");
            self.output.note(&note);
        }
    }

    /// Prints what the watch has received.
    async fn print_pending(&mut self) {
        let mut batch = Vec::new();
        if let Some(watch) = &mut self.watch {
            while let Some(Some(next)) = watch.next().now_or_never() {
                batch.push(next);
            }
        }
        self.print_batch(batch).await;
    }

    async fn print_batch(&mut self, mut batch: Vec<Notification>) {
        // One resync is enough.
        batch.dedup();
        let jobs = self.details.read(self.store, &batch).await;
        for notification in batch {
            match notification {
                Notification::Event(queue, id, state) => {
                    let event = (queue, id, state);
                    if self.listed.remove(&event) {
                        continue;
                    }
                    let (queue, id, _) = event;
                    let key = (queue, id);
                    self.print_job(&key.0, &key.1, state, jobs.get(&key));
                    let existing = self.existing.as_ref();
                    if existing.is_some_and(|existing| !existing.contains(&key.0)) {
                        self.seen.insert(key);
                    }
                }
                Notification::Cancel(queue, id) => {
                    let details = Details::default();
                    self.print("cancel", Some((&queue, &id)), None, details);
                }
                // A server sends one when it starts to listen for its first client.
                Notification::Resync if self.started_at.elapsed() < QUEUE_REFRESH => {}
                Notification::Resync => self.print("resync", None, None, Details::default()),
                // It has no job id; the job event covers it.
                _ => {}
            }
        }
    }

    fn print_job(&mut self, queue: &QueueName, id: &JobId, state: JobState, job: Option<&Job>) {
        let details = self.details.of(queue, id, state, job);
        self.print("job", Some((queue, id)), Some(state), details);
    }

    fn print(
        &mut self,
        event: &'static str,
        job: Option<(&QueueName, &JobId)>,
        state: Option<JobState>,
        details: Details,
    ) {
        let line = EventLine {
            at: timestamp::format(Timestamp::from_ms(SystemClock.now_us() / 1000)),
            event,
            queue: job.map(|(queue, _)| queue.as_str()),
            id: job.map(|(_, id)| id.as_str()),
            state: state.map(JobState::as_str),
            details,
        };
        self.output.result(&line, |output| {
            let details = match event {
                "cancel" => "stop requested".to_owned(),
                "resync" => "events were lost".to_owned(),
                _ => line.details.text(),
            };
            let word = line.state.unwrap_or(event);
            let word = format!("{word:<9}");
            let columns = [Some(line.at.as_str()), Some(&word), line.queue, line.id];
            let columns: Vec<_> = columns.into_iter().flatten().chain([&*details]).collect();
            output.line(columns.join("  ").trim_end());
        });
    }

    fn set_away(&mut self, error: Option<&windlass::Error>) {
        match error {
            Some(error) if !self.is_away => {
                let message = Error::from(error).message;
                self.output
                    .note(&format!("store away; retrying: {message}"));
            }
            None if self.is_away => self.output.note("store back"),
            _ => {}
        }
        self.is_away = error.is_some();
    }
}
