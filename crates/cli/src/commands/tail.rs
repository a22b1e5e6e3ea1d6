//! `windlass tail`: what happens to jobs, as it happens. Notifier only: some may be lost, and then it
//! says so.

use clap::Args;
use serde::Serialize;
use tokio::time::{Duration, timeout};
use windlass::store::{Clock, Notification, SystemClock, Watch};
use windlass::{QueueName, Store, Timestamp};
use windlass_api::{Error, timestamp};

use crate::exit::{Exit, Failure, Result};
use crate::output::Output;
use crate::session::Session;

/// How often new queues are looked for where none was named.
const LOOK: Duration = Duration::from_secs(1);

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "It goes on until Ctrl-C. Under load, and of a queue that is new, some events may be lost; then it says so.\n\n\
    Example:\n  windlass tail mail --json"
)]
pub(crate) struct Arguments {
    /// The queues [default: all]
    queue: Vec<String>,
}

/// One thing that happened.
#[derive(Debug, Serialize)]
struct Line<'a> {
    at: String,
    /// `job`, `cancel` or `resync`: what came between was lost.
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
}

/// Prints events until it is interrupted, or nobody reads them.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let named = arguments.queue.iter().map(QueueName::new);
    let named: Vec<QueueName> = named.collect::<windlass::Result<_>>()?;
    let store = session.store().await?;
    for queue in &named {
        if store.stats(queue).await?.is_none() {
            return Err(Failure::from(Error::queue_not_found(queue)));
        }
    }
    session.output.talk("listening; end it with Ctrl-C");
    let mut queues: Option<Vec<QueueName>> = None;
    let mut watch = None;
    loop {
        let wanted = if named.is_empty() {
            store.queues().await?
        } else {
            named.clone()
        };
        if queues.as_ref() != Some(&wanted) {
            watch = listen(store.as_ref(), &wanted).await?;
            // What happened in a queue before it was listened to gave no hint.
            if queues.is_some() {
                print(&mut session.output, &Notification::Resync);
            }
            queues = Some(wanted);
        }
        hear(watch.as_mut(), &mut session.output).await;
        if session.output.unheard().is_some() {
            return Ok(Exit::Ok);
        }
    }
}

async fn listen(store: &dyn Store, queues: &[QueueName]) -> Result<Option<Box<dyn Watch>>> {
    if queues.is_empty() {
        return Ok(None);
    }
    Ok(Some(store.watch(queues).await?))
}

/// Prints what is heard until it is time to look for new queues.
async fn hear(watch: Option<&mut Box<dyn Watch>>, output: &mut Output) {
    let Some(watch) = watch else {
        return tokio::time::sleep(LOOK).await;
    };
    let heard = async {
        while let Some(hint) = watch.next().await {
            print(output, &hint);
            if output.unheard().is_some() {
                return;
            }
        }
        // No hints will ever come again from this one.
        std::future::pending::<()>().await;
    };
    let _ = timeout(LOOK, heard).await;
}

fn print(output: &mut Output, hint: &Notification) {
    let (event, queue, id, state) = match hint {
        Notification::Event(queue, id, state) => {
            ("job", Some(queue), Some(id), Some(state.as_str()))
        }
        Notification::Cancel(queue, id) => ("cancel", Some(queue), Some(id), None),
        Notification::Resync => ("resync", None, None, None),
        // Work without a name is told by the job that brought it.
        _ => return,
    };
    let line = Line {
        at: timestamp::format(Timestamp::from_ms(SystemClock.now_us() / 1000)),
        event,
        queue: queue.map(QueueName::as_str),
        id: id.map(windlass::JobId::as_str),
        state,
    };
    output.result(&line, |output| {
        let words = [Some(line.at.as_str()), line.queue, line.id, line.state];
        let mut words: Vec<_> = words.into_iter().flatten().collect();
        if event != "job" {
            words.push(match event {
                "cancel" => "asked to stop",
                _ => "events were lost",
            });
        }
        output.line(&words.join("  "));
    });
}
