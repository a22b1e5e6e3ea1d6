//! `windlass queue set`: prints or changes the settings of a queue.

use clap::Args;
use windlass::QueueName;
use windlass::store::{Setting, Settings};
use windlass_api::SettingsReply;
use windlass_api::queue::describe_setting;

use super::note_if_new;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(after_help = settings_help())]
pub(crate) struct Arguments {
    /// Queue name; changing a setting creates the queue if missing
    queue: QueueName,

    /// Settings to change; if omitted, the current settings are printed
    #[arg(value_name = "NAME=VALUE")]
    pairs: Vec<Setting>,
}

/// Changes the given settings, and prints all.
pub(super) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let Arguments { queue, pairs } = arguments;
    let settings = if pairs.is_empty() {
        session.store().await?.settings(&queue).await?
    } else {
        let store = session.store_or_create().await?;
        let is_new = store.stats(&queue).await?.is_none();
        let settings = store.set(&queue, pairs).await?;
        note_if_new(store.as_ref(), &queue, is_new, session).await;
        settings
    };
    let reply = SettingsReply::new(&queue, &settings);
    session.output.result(&reply, |output| {
        let row = |setting: Setting| vec![setting.name().to_owned(), setting.value().to_owned()];
        output.table(&["setting", "value"], settings.all().into_iter().map(row));
    });
    Ok(Exit::Ok)
}

/// Lists every setting with its default.
fn settings_help() -> String {
    let settings = Settings::default().all();
    let line = |setting: &Setting| {
        let pair = format!("{}={}", setting.name(), setting.value());
        format!("  {pair:<27} {}\n", describe_setting(setting.name()))
    };
    let lines: String = settings.iter().map(line).collect();
    format!(
        "Settings and their defaults (`all` and `none` mean no limit):\n{lines}\n\
         Examples:\n  windlass queue set mail\n  windlass queue set mail dead_age=7d dead_count=all"
    )
}
