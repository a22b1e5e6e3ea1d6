//! What happens at queues, as it happens; messages may be lost with a connection, and then it says so.

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use windlass::Bytes;
use windlass_interop::worqr::{Done, Event};

use super::place::Place;
use super::reply::TaskReply;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Listen {
    /// The queues
    #[arg(required = true)]
    queue: Vec<String>,

    #[command(flatten)]
    place: Place,
}

/// One thing that happened.
#[derive(Debug, Default, Serialize)]
struct Line<'a> {
    /// `listening`, `work`, `done`, `cancel`, `delete` or `missed`.
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    #[serde(flatten)]
    task: Option<TaskReply>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
}

/// Prints events until it is interrupted, or nobody reads them.
pub(crate) async fn run(arguments: Listen, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.place.open(session).await?;
    let mut listener = worqr.listen(&arguments.queue).await?;
    let listening = Line {
        event: "listening",
        ..Line::default()
    };
    // A program can wait for this line: what happens after it is heard.
    session.output.result(&listening, |output| {
        output.note("listening; end it with Ctrl-C");
    });
    while session.output.undelivered().is_none() {
        let event = listener.next().await;
        let line = line(&event);
        session.output.result(&line, |output| {
            let count = line.count.map(|count| count.to_string());
            let task = line.task.as_ref().map(TaskReply::shown);
            let words = [
                line.queue,
                Some(line.event),
                count.as_deref(),
                line.worker.as_deref(),
                task,
                line.result.as_deref().map(RawValue::get),
            ];
            let words: Vec<_> = words.into_iter().flatten().collect();
            output.line(&words.join("  "));
        });
    }
    Ok(Exit::Ok)
}

fn line(event: &Event) -> Line<'_> {
    let mut line = Line::default();
    match event {
        Event::Work { queue, count } => {
            line.event = "work";
            line.queue = Some(queue);
            line.count = Some(*count);
        }
        Event::Done { queue, message } => {
            line.event = "done";
            line.queue = Some(queue);
            if let Some(done) = Done::parse(message) {
                line.worker = Some(done.worker_id);
                line.task = done.task.map(|task| TaskReply::new(&Bytes::from(task)));
                line.result = done.result;
            }
        }
        Event::Cancel { queue, task } => {
            line.event = "cancel";
            line.queue = Some(queue);
            line.task = Some(TaskReply::new(task));
        }
        Event::Delete { queue } => {
            line.event = "delete";
            line.queue = Some(queue);
        }
        Event::Missed => line.event = "missed",
    }
    line
}
