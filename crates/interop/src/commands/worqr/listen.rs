//! Prints the events of queues. Prints `missed` if the connection was interrupted, because messages may be lost.

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

use super::{Target, task};
use crate::commands::print::{Object, shown};
use crate::worqr::{DoneMessage, WorqrEvent};

/// Arguments of `listen`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Queue names
    #[arg(required = true)]
    queue: Vec<String>,

    #[command(flatten)]
    target: Target,
}

/// One event.
#[derive(Debug, Default, Serialize)]
struct EventLine<'a> {
    /// `listening`, `work`, `done`, `cancel`, `delete` or `missed`.
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    #[serde(flatten)]
    task: Option<Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
}

/// Prints events until interrupted, or until stdout is closed.
pub(super) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.target.open(session).await?;
    let mut listener = worqr.listen(&arguments.queue).await?;
    let listening = EventLine {
        event: "listening",
        ..EventLine::default()
    };
    // Programs can wait for this line: all later events are received.
    session.output.result(&listening, |output| {
        output.note("listening; press Ctrl-C to stop");
    });
    while session.output.undelivered().is_none() {
        let event = listener.next().await;
        let line = line(&event);
        session.output.result(&line, |output| {
            let count = line.count.map(|count| count.to_string());
            let task = line.task.as_ref().map(|task| shown(&task.0[0]));
            let columns = [
                line.queue,
                Some(line.event),
                count.as_deref(),
                line.worker.as_deref(),
                task.as_deref(),
                line.result.as_deref().map(RawValue::get),
            ];
            let columns: Vec<_> = columns.into_iter().flatten().collect();
            output.line(&columns.join("  "));
        });
    }
    Ok(Exit::Ok)
}

fn line(event: &WorqrEvent) -> EventLine<'_> {
    let mut line = EventLine::default();
    match event {
        WorqrEvent::Work { queue, count } => {
            line.event = "work";
            line.queue = Some(queue);
            line.count = Some(*count);
        }
        WorqrEvent::Done { queue, message } => {
            line.event = "done";
            line.queue = Some(queue);
            if let Some(done) = DoneMessage::parse(message) {
                line.worker = Some(done.worker_id);
                line.task = done.task.map(|done| Object(vec![task(done.as_bytes())]));
                line.result = done.result;
            }
        }
        WorqrEvent::Cancel {
            queue,
            task: cancelled,
        } => {
            line.event = "cancel";
            line.queue = Some(queue);
            line.task = Some(Object(vec![task(cancelled)]));
        }
        WorqrEvent::Delete { queue } => {
            line.event = "delete";
            line.queue = Some(queue);
        }
        WorqrEvent::Missed => line.event = "missed",
    }
    line
}
