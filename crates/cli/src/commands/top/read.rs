//! Reads snapshots and pages from the store, and carries out actions, in the background.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use tokio::sync::{mpsc, watch};
use windlass::store::Stats;
use windlass::{QueueName, Store};
use windlass_api::request::{
    ChangesReply, Get, JobSelector, List, QueueRequest, StoreRequest, Workers,
};
use windlass_api::{Code, Error, QueueReply};

use super::failures::FailureReader;
use super::model::{Action, Detail, Page, QueueNumbers, Snapshot};

/// How many queues are read at the same time.
const QUEUES_AT_ONCE: usize = 8;

/// How many jobs a page shows.
const JOBS_MAX: usize = 100;

/// What arrives from the background.
#[derive(Debug)]
pub(super) enum News {
    Snapshot(Result<Snapshot, Error>),
    Detail(Page, Result<Detail, Error>),
    /// The outcome of an action.
    Done(String),
}

/// What the screen shows, and how often it asked for a refresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) page: Page,
    pub(super) refreshes: u64,
}

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) store: Arc<dyn Store>,
    failures: FailureReader,
    last: Option<(Instant, Snapshot)>,
}

impl Reader {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            failures: FailureReader::default(),
            last: None,
        }
    }

    /// Reads the numbers of all queues, the workers and the newest failures.
    pub(super) async fn snapshot(&mut self) -> Result<Snapshot, Error> {
        let store = self.store.as_ref();
        let names = store.queues().await?;
        let stats = names.into_iter().map(|name| stats_of(store, name));
        let stats: Vec<_> = stream::iter(stats).buffered(QUEUES_AT_ONCE).collect().await;
        let mut queues = Vec::new();
        for (name, stats) in stats {
            // A queue may have been deleted since.
            queues.extend(stats?.map(|stats| QueueReply::new(&name, &stats)));
        }
        let workers = Workers {}.execute(store).await?;
        let failures = self.failures.read(store, &queues).await?;
        let queues = queues
            .into_iter()
            .map(|queue| QueueNumbers::new(queue, &workers));
        let mut snapshot = Snapshot {
            queues: queues.collect(),
            workers,
            failures,
            ..Snapshot::default()
        };
        let now = Instant::now();
        if let Some((at, last)) = &self.last {
            snapshot.set_rates(last, now - *at);
        }
        snapshot.set_total();
        self.last = Some((now, snapshot.clone()));
        Ok(snapshot)
    }

    /// Reads the page that is shown, and every so often a snapshot, until the screen is gone.
    pub(super) async fn run(
        mut self,
        every: Duration,
        mut wanted: watch::Receiver<Wanted>,
        news: mpsc::UnboundedSender<News>,
    ) {
        let mut due = tokio::time::Instant::now() + every;
        let mut refreshes = wanted.borrow().refreshes;
        loop {
            let Wanted {
                page,
                refreshes: asked,
            } = wanted.borrow_and_update().clone();
            let detail = read_page(self.store.as_ref(), &page).await;
            let _ = news.send(News::Detail(page, detail));
            if tokio::time::Instant::now() >= due || refreshes != asked {
                let _ = news.send(News::Snapshot(self.snapshot().await));
                due = tokio::time::Instant::now() + every;
                refreshes = asked;
            }
            tokio::select! {
                () = tokio::time::sleep_until(due) => {}
                changed = wanted.changed() => if changed.is_err() { return },
            }
        }
    }
}

async fn stats_of(
    store: &dyn Store,
    name: QueueName,
) -> (QueueName, windlass::Result<Option<Stats>>) {
    let stats = store.stats(&name).await;
    (name, stats)
}

async fn read_page(store: &dyn Store, page: &Page) -> Result<Detail, Error> {
    match page {
        Page::Overview => Ok(Detail::Empty),
        Page::Jobs(queue, state) => {
            let mut list = List {
                state: Some(state.as_str().to_owned()),
                limit: Some(JOBS_MAX),
                ..List::default()
            };
            let mut jobs = Vec::new();
            // Pages may be short, or empty, before the last.
            while jobs.len() < JOBS_MAX {
                let page = list.clone().execute(store, queue).await?;
                jobs.extend(page.jobs);
                list.cursor = page.next;
                if list.cursor.is_none() {
                    break;
                }
            }
            Ok(Detail::Jobs(jobs, list.cursor.is_some()))
        }
        Page::Job(queue, id) => {
            let get = Get {
                id: id.clone(),
                full: None,
            };
            match get.execute(store, queue).await {
                Ok(job) => Ok(Detail::Job(Some(Box::new(job)))),
                Err(error) if error.code == Code::NotFound => Ok(Detail::Job(None)),
                Err(error) => Err(error),
            }
        }
    }
}

/// Carries out an action and describes its outcome.
pub(super) async fn perform(store: &dyn Store, action: Action) -> String {
    let done = match action {
        Action::SetPaused(queue, is_paused) => set_paused(store, &queue, is_paused).await,
        Action::One(change, queue, id) => {
            let selector = JobSelector {
                id: Some(id.clone()),
                ..JobSelector::default()
            };
            let changed = selector.change(store, &queue, change, false).await;
            changed.map(|_| format!("{id} {}", change.past_tense()))
        }
        Action::AllDead(change, queue) => {
            let selector = JobSelector {
                all: Some(true),
                state: Some("dead".to_owned()),
                ..JobSelector::default()
            };
            let changed = selector.change(store, &queue, change, false).await;
            changed.map(|reply| match reply {
                ChangesReply::Many { counts, .. } => {
                    format!("{} jobs of {queue} {}", counts.done, change.past_tense())
                }
                _ => change.past_tense().to_owned(),
            })
        }
        Action::Quit => Ok(String::new()),
    };
    done.unwrap_or_else(|error| error.message)
}

async fn set_paused(
    store: &dyn Store,
    queue: &QueueName,
    is_paused: bool,
) -> Result<String, Error> {
    store.set_paused(queue, is_paused).await?;
    let state = if is_paused { "paused" } else { "resumed" };
    Ok(format!("{queue} {state}"))
}
