//! `windlass schedules apply`: puts the schedules of a file, as a deploy does.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value};
use windlass_api::request::{ApplyReply, ApplySchedules, StoreRequest};
use windlass_api::{Error as ApiError, Fields};

use crate::exit::{CliError, Exit, Result};
use crate::session::Session;

const EXAMPLE: &str = "see `windlass schedules apply --help` for an example";

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "The file is TOML, or JSON if its name ends with .json:\n\n  \
    set = \"billing\"\n\n  \
    [[schedules]]\n  \
    queue = \"reports\"\n  \
    name = \"nightly\"\n  \
    cron = \"30 2 * * *\"\n  \
    zone = \"Europe/Berlin\"\n  \
    job = { payload = \"daily report\", priority = 2 }\n\n\
    The fields of a schedule are the flags of `windlass schedules put`, with _ for -, and job has those of a job. \
    All schedules are checked before any is put. One that was paused by hand stays paused, unless it has the field \
    paused. --prune deletes schedules of the same set that the file does not have.\n\n\
    Example:\n  windlass schedules apply schedules.toml --prune"
)]
pub(crate) struct Arguments {
    /// File of schedules; `-` reads stdin
    file: PathBuf,

    /// Delete schedules of the same set that the file does not have
    #[arg(long)]
    prune: bool,
}

/// Applies the file, and prints what changed.
pub(super) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let text = read(&arguments)?;
    let mut apply = parse(&arguments, &text)?;
    if arguments.prune {
        apply.prune = Some(true);
    }
    apply.check()?;
    let store = session.store_or_create().await?;
    let reply = apply.execute(store.as_ref()).await?;
    session.output.result(&reply, |output| {
        for schedule in &reply.schedules {
            if schedule.result != "unchanged" {
                let (queue, name) = (&schedule.queue, &schedule.name);
                output.line(&format!("{} {queue} {name}", schedule.result));
            }
        }
    });
    let ApplyReply {
        created,
        changed,
        unchanged,
        deleted,
        ..
    } = reply;
    session.output.note(&if created + changed + deleted == 0 {
        format!("nothing changed: {unchanged} schedules are as in the file")
    } else {
        format!("{created} created, {changed} changed, {deleted} deleted, {unchanged} unchanged")
    });
    Ok(Exit::Ok)
}

fn read(arguments: &Arguments) -> Result<String> {
    let file = &arguments.file;
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(file).map(|read| text = read)
    };
    let what = file.display().to_string();
    read.map_err(|error| CliError::unreadable(&what, &error))?;
    Ok(text)
}

/// Parses TOML or JSON. Both become JSON, so that a field has one meaning.
fn parse(arguments: &Arguments, text: &str) -> Result<ApplySchedules> {
    let extension = arguments.file.extension();
    let is_stdin_json = arguments.file.as_os_str() == "-" && text.trim_start().starts_with('{');
    if is_stdin_json || extension.is_some_and(|extension| extension == "json") {
        return from_json(text);
    }
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.unwrap_or_default().matches('\n').count() + 1;
        CliError::usage(
            format!("invalid TOML at line {line}: {}", error.message()),
            EXAMPLE,
        )
    })?;
    from_json(&to_json(toml::Value::Table(table)).to_string())
}

fn from_json(text: &str) -> Result<ApplySchedules> {
    let read = || Fields::parse(text)?.read();
    Ok(read().map_err(|error: windlass::Error| {
        let mut error = ApiError::from(error);
        EXAMPLE.clone_into(&mut error.help);
        error
    })?)
}

fn to_json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(is_true) => is_true.into(),
        toml::Value::Datetime(time) => Value::String(time.to_string()),
        toml::Value::Array(items) => Value::Array(items.into_iter().map(to_json).collect()),
        toml::Value::Table(table) => {
            let fields = table
                .into_iter()
                .map(|(name, value)| (name, to_json(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}
