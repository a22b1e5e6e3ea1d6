//! Shows a task, the listeners of a queue, or all queues.

use clap::Subcommand;
use serde_json::Value;
use windlass::{Error, ErrorKind};
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::session::Session;

use super::Target;
use crate::blueque::{ListenerInfo, Task};
use crate::commands::print::{self, Field, Object, content, shown};

/// Commands that only read.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show a task
    Get {
        /// Task id
        id: String,

        #[command(flatten)]
        target: Target,
    },
    /// List the listeners of a queue
    Listeners {
        /// Queue name
        queue: String,

        #[command(flatten)]
        target: Target,
    },
    /// List all queues
    Queues {
        #[command(flatten)]
        target: Target,
    },
}

/// The columns of the table of queues.
const QUEUE: [&str; 7] = [
    "queue",
    "listeners",
    "pending",
    "scheduled",
    "started",
    "complete",
    "failed",
];

impl Command {
    pub(super) async fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Self::Get { id, target } => {
                let task = target.open(session).await?.get_task(&id).await?;
                print_task(session, Some(&task.ok_or_else(|| no_task(&id))?));
                Ok(Exit::Ok)
            }
            Self::Listeners { queue, target } => {
                let queue = target.queue(&queue, session).await?;
                let listeners = queue.listeners().await?;
                let header = ["listener", "tasks", "state"];
                print::table(session, &listeners, "no listeners", &header, listener_row)
            }
            Self::Queues { target } => queues(&target, session).await,
        }
    }
}

/// The task does not exist.
pub(super) fn no_task(id: &str) -> CliError {
    Error::new(
        ErrorKind::NotFound,
        format!("task {id} not found"),
        "check the id and --layout; the task may have been deleted",
    )
    .into()
}

fn listener_row(one: &ListenerInfo) -> Vec<String> {
    let state = match one.is_alive {
        Some(true) => "alive",
        Some(false) => "expired",
        None => "unknown",
    };
    vec![one.name.clone(), one.tasks.to_string(), state.to_owned()]
}

async fn queues(target: &Target, session: &mut Session) -> Result<Exit> {
    let blueque = target.open(session).await?;
    let mut queues = Vec::new();
    for name in blueque.queues().await? {
        let stats = blueque.queue(&name)?.stats().await?;
        let counts = [
            stats.listeners,
            stats.pending,
            stats.scheduled,
            stats.started,
            stats.complete,
            stats.failed,
        ];
        let values = [Value::from(name)]
            .into_iter()
            .chain(counts.map(Value::from));
        queues.push(Object(QUEUE.into_iter().zip(values).collect()));
    }
    let row = |one: &Object| one.0.iter().map(shown).collect();
    print::table(session, &queues, "no queues", &QUEUE, row)
}

/// Prints a task, or a note that no task is available.
pub(super) fn print_task(session: &mut Session, task: Option<&Task>) {
    let reply = task.map(|task| Object(fields(task)));
    session.output.result(&reply, |output| {
        let Some(Object(fields)) = &reply else {
            return output.note("no task available");
        };
        let mut rows = Vec::new();
        for field in fields.iter().filter(|(_, value)| !value.is_null()) {
            match field {
                ("others", Value::Object(others)) => {
                    let others = others.iter();
                    let text = |value: &Value| value.as_str().map(str::to_owned);
                    rows.extend(others.map(|(name, value)| (name.as_str(), text(value))));
                }
                ("reclaimed_node", _) => rows.push(("reclaimed node", Some(shown(field)))),
                (name, _) => {
                    let name = name.strip_suffix("_base64").unwrap_or(name);
                    rows.push((name, Some(shown(field))));
                }
            }
        }
        output.fields(rows);
    });
}

/// The JSON form of a task. Bytes that are not UTF-8 are in separate base64 fields, next to null.
fn fields(task: &Task) -> Vec<Field> {
    let text = |bytes: &[u8]| Value::from(String::from_utf8_lossy(bytes));
    let mut fields = vec![
        ("id", task.id.as_str().into()),
        ("status", task.status.as_str().into()),
        ("queue", task.queue.clone().into()),
    ];
    for (name, base64, bytes) in [
        ("parameters", "parameters_base64", &task.parameters),
        ("result", "result_base64", &task.result),
    ] {
        let field = bytes.as_deref().map(|bytes| content(name, base64, bytes));
        match field {
            Some((is, value)) if is == base64 => fields.extend([(name, Value::Null), (is, value)]),
            field => fields.push(field.unwrap_or((name, Value::Null))),
        }
    }
    fields.extend([
        ("error", task.error.as_deref().map(text).into()),
        ("node", task.node.clone().into()),
        ("pid", task.pid.into()),
        ("created", task.created.into()),
        ("updated", task.updated.into()),
    ]);
    fields.extend(task.eta.map(|eta| ("eta", eta.into())));
    let reclaimed = task.reclaimed_node.clone();
    fields.extend(reclaimed.map(|node| ("reclaimed_node", node.into())));
    if !task.others.is_empty() {
        let others = task.others.iter();
        let others = others.map(|(name, value)| (name.clone(), text(value)));
        fields.push(("others", Value::Object(others.collect())));
    }
    fields
}
