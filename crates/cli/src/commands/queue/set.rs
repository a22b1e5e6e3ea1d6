//! `windlass queue set`: changes settings of a queue, or prints them.

use clap::Args;
use windlass::QueueName;
use windlass::store::{Setting, Settings};
use windlass_api::SettingsReply;

use super::talk_of_new;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(after_help = settings_help())]
pub(crate) struct Arguments {
    /// The queue; changing a setting makes it where it is not there
    queue: String,

    /// What to change; without any the settings are printed
    #[arg(value_name = "NAME=VALUE")]
    pairs: Vec<String>,
}

/// Changes what is named, and prints all settings.
pub(super) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    let settings: Result<Vec<Setting>, _> =
        arguments.pairs.iter().map(|pair| pair.parse()).collect();
    let settings = settings?;
    let settings = if settings.is_empty() {
        session.store().await?.settings(&queue).await?
    } else {
        let store = session.store_or_create().await?;
        let is_new = store.stats(&queue).await?.is_none();
        let settings = store.set(&queue, settings).await?;
        talk_of_new(&queue, is_new, session);
        settings
    };
    let reply = SettingsReply::new(&queue, &settings);
    session.output.result(&reply, |output| {
        let row = |setting: Setting| vec![setting.name().to_owned(), setting.value().to_owned()];
        output.table(
            &["setting", "value"],
            settings.all().into_iter().map(row).collect(),
        );
    });
    Ok(Exit::Ok)
}

/// Every setting with its default, from the one table there is of them.
fn settings_help() -> String {
    let settings = Settings::default().all();
    let line = |setting: &Setting| {
        let pair = format!("{}={}", setting.name(), setting.value());
        format!("  {pair:<27} {}\n", meaning(setting.name()))
    };
    let lines: String = settings.iter().map(line).collect();
    format!(
        "Settings with their defaults; a bound that is `all` is none:\n{lines}\n\
         Examples:\n  windlass queue set mail\n  windlass queue set mail dead_age=7d dead_count=all"
    )
}

/// What a setting is, in a few words.
fn meaning(name: &str) -> &'static str {
    match name {
        "dedup_for" => "how long ids that you chose are remembered after their jobs' end",
        "dedup_max" => "how many such ids at most",
        "requeue" => "where released and rescued jobs go: front, back",
        "poison_after" => "how many expired leases make a job dead",
        "keep_succeeded" => "which are kept: with_result, all, nothing",
        "succeeded_age" => "how long succeeded jobs are kept",
        "succeeded_count" | "dead_count" | "cancelled_count" => "how many of them at most",
        "succeeded_bytes" | "dead_bytes" | "cancelled_bytes" => "how many bytes of them at most",
        "dead_age" => "how long dead jobs are kept",
        "cancelled_age" => "how long cancelled jobs are kept",
        "partitions" => "over how many partitions Redis spreads the queue: 1 to 128, auto",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_its_line_in_the_help() {
        for setting in Settings::default().all() {
            assert_ne!(meaning(setting.name()), "", "{}", setting.name());
        }
    }
}
