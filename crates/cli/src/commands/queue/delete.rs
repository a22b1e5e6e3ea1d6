//! `windlass queue delete`: deletes all jobs of a queue, then the queue.

use clap::Args;
use serde::Serialize;
use windlass::store::{Change, Changed, Filter, QueueDeletion, Target};
use windlass::{QueueName, Store};
use windlass_api::{Code, Error};

use crate::commands::confirm::{ConfirmArgs, Plan};
use crate::exit::{Exit, Result};
use crate::session::Session;

/// How often to start again if other processes add jobs meanwhile.
const ROUNDS_MAX: usize = 20;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Deletes all jobs of the queue, its settings, stats and remembered ids. Refused while jobs run, or if it has schedules. \
    The next job creates the queue again, with default settings.\n\n\
    Example:\n  windlass queue delete mail --dry-run"
)]
pub(crate) struct Arguments {
    /// Queue name
    queue: QueueName,

    #[command(flatten)]
    confirm: ConfirmArgs,
}

#[derive(Debug, Serialize)]
struct DeleteReply<'a> {
    queue: &'a str,
    deleted: bool,
    jobs: u64,
}

/// Deletes the queue if no job runs and the user agrees.
pub(super) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let Arguments { queue, confirm } = arguments;
    let store = session.store().await?;
    let store = store.as_ref();
    let stats = store.stats(&queue).await?;
    let stats = stats.ok_or_else(|| Error::queue_not_found(&queue))?;
    check_running(&queue, stats.running)?;
    if stats.schedules > 0 {
        return Err(Error::queue_has_schedules(&queue).into());
    }
    let plan = Plan {
        verb: "delete",
        which: "stored".to_owned(),
        kind: None,
        is_filtered: false,
        counts: vec![(queue.clone(), stats.jobs())],
        all_queues: false,
        and: ", and the queue",
    };
    if let Some(exit) = confirm.stops(&plan, session)? {
        return Ok(exit);
    }
    // No job starts meanwhile. If this process is killed, repeating the command finishes the work.
    store.set_paused(&queue, true).await?;
    let deleted = delete(store, &queue).await;
    if deleted.is_err() && !stats.is_paused {
        store.set_paused(&queue, false).await?;
    }
    let jobs = deleted?;
    let reply = DeleteReply {
        queue: queue.as_str(),
        deleted: true,
        jobs,
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{jobs} jobs and queue {queue} deleted"));
    });
    note_workers(store, &queue, session).await;
    Ok(Exit::Ok)
}

/// Deletes the jobs and the queue. Returns the number of jobs.
async fn delete(store: &dyn Store, queue: &QueueName) -> Result<u64> {
    let mut jobs = 0;
    for _ in 0..ROUNDS_MAX {
        jobs += delete_jobs(store, queue).await?;
        match store.delete_queue(queue).await? {
            QueueDeletion::Deleted | QueueDeletion::NotFound => return Ok(jobs),
            QueueDeletion::HasSchedules => return Err(Error::queue_has_schedules(queue).into()),
            QueueDeletion::HasJobs => {
                let stats = store.stats(queue).await?.unwrap_or_default();
                check_running(queue, stats.running)?;
            }
        }
    }
    Err(Error::queue_has_jobs(queue).into())
}

async fn delete_jobs(store: &dyn Store, queue: &QueueName) -> Result<u64> {
    let mut jobs = 0;
    loop {
        match store.purge(queue).await? {
            0 => break,
            page => jobs += page,
        }
    }
    let all = Target::Filter(Filter::default());
    let mut from = None;
    loop {
        let page = store.change(queue, Change::Delete, &all, from).await?;
        let done = page.items.iter().filter(|job| job.changed == Changed::Done);
        jobs += done.count() as u64;
        from = page.next;
        if from.is_none() {
            return Ok(jobs);
        }
    }
}

fn check_running(queue: &QueueName, running: u64) -> Result<()> {
    if running == 0 {
        return Ok(());
    }
    Err(Error::new(
        Code::Conflict,
        format!("queue {queue} has running jobs ({running}), so it cannot be deleted"),
        format!(
            "wait until they end, or ask them to stop with `windlass job cancel {queue} --all --state running`, then repeat"
        ),
    )
    .into())
}

/// Notes workers that still claim from the queue.
async fn note_workers(store: &dyn Store, queue: &QueueName, session: &mut Session) {
    // The queue is deleted, so an error here is not reported.
    let workers = store.workers().await.unwrap_or_default();
    let is_its = |worker: &&_| is_worker_of(worker, queue);
    let count = workers.iter().filter(is_its).count();
    if count > 0 {
        let note = format!(
            "workers that still claim from queue {queue}: {count}; the next job creates it again"
        );
        session.output.note(&note);
    }
}

fn is_worker_of(worker: &windlass::store::WorkerRecord, queue: &QueueName) -> bool {
    !worker.is_silent() && worker.new.queues.contains(queue)
}
