//! `windlass tail`: prints job events as they happen. Notifications may be lost; a resync event is then
//! printed.

use clap::Args;
use serde::Serialize;
use tokio::time::{Duration, timeout};
use windlass::store::{Clock, Notification, SystemClock, Watch};
use windlass::{QueueName, Store, Timestamp};
use windlass_api::{Error, timestamp};

use crate::exit::{CliError, Exit, Result};
use crate::output::Output;
use crate::session::Session;

/// How often to look for new queues if none was given.
const QUEUE_REFRESH: Duration = Duration::from_secs(1);

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Runs until Ctrl-C. Events may be lost under load or just after a queue is created; a resync event is then printed.\n\n\
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
}

/// Prints events until interrupted or stdout is closed.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let named = arguments.queue;
    let store = session.store().await?;
    for queue in &named {
        if store.stats(queue).await?.is_none() {
            return Err(CliError::from(Error::queue_not_found(queue)));
        }
    }
    session
        .output
        .note("listening for events; press Ctrl-C to stop");
    let mut queues: Option<Vec<QueueName>> = None;
    let mut watch = None;
    loop {
        let wanted = if named.is_empty() {
            store.queues().await?
        } else {
            named.clone()
        };
        if queues.as_ref() != Some(&wanted) {
            watch = watch_queues(store.as_ref(), &wanted).await?;
            // Events of a new queue before this point are lost.
            if queues.is_some() {
                print(&mut session.output, &Notification::Resync);
            }
            queues = Some(wanted);
        }
        print_events(watch.as_mut(), &mut session.output).await;
        if session.output.undelivered().is_some() {
            return Ok(Exit::Ok);
        }
    }
}

async fn watch_queues(store: &dyn Store, queues: &[QueueName]) -> Result<Option<Box<dyn Watch>>> {
    if queues.is_empty() {
        return Ok(None);
    }
    Ok(Some(store.watch(queues).await?))
}

/// Prints events until it is time to look for new queues.
async fn print_events(watch: Option<&mut Box<dyn Watch>>, output: &mut Output) {
    let Some(watch) = watch else {
        return tokio::time::sleep(QUEUE_REFRESH).await;
    };
    let printing = async {
        while let Some(notification) = watch.next().await {
            print(output, &notification);
            if output.undelivered().is_some() {
                return;
            }
        }
        // The watch has ended.
        std::future::pending::<()>().await;
    };
    let _ = timeout(QUEUE_REFRESH, printing).await;
}

fn print(output: &mut Output, notification: &Notification) {
    let (event, queue, id, state) = match notification {
        Notification::Event(queue, id, state) => {
            ("job", Some(queue), Some(id), Some(state.as_str()))
        }
        Notification::Cancel(queue, id) => ("cancel", Some(queue), Some(id), None),
        Notification::Resync => ("resync", None, None, None),
        // A ready notification has no job id; the job event covers it.
        _ => return,
    };
    let line = EventLine {
        at: timestamp::format(Timestamp::from_ms(SystemClock.now_us() / 1000)),
        event,
        queue: queue.map(QueueName::as_str),
        id: id.map(windlass::JobId::as_str),
        state,
    };
    output.result(&line, |output| {
        let columns = [Some(line.at.as_str()), line.queue, line.id, line.state];
        let mut columns: Vec<_> = columns.into_iter().flatten().collect();
        if event != "job" {
            columns.push(match event {
                "cancel" => "stop requested",
                _ => "events were lost",
            });
        }
        output.line(&columns.join("  "));
    });
}
