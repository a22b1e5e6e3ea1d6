//! `windlass queue set`: prints or changes the settings of a queue.

use clap::Args;
use windlass::QueueName;
use windlass::store::{Setting, Settings};
use windlass_api::SettingsReply;

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
        format!("  {pair:<27} {}\n", describe(setting.name()))
    };
    let lines: String = settings.iter().map(line).collect();
    format!(
        "Settings and their defaults (`all` and `none` mean no limit):\n{lines}\n\
         Examples:\n  windlass queue set mail\n  windlass queue set mail dead_age=7d dead_count=all"
    )
}

/// Describes a setting.
fn describe(name: &str) -> &'static str {
    match name {
        "dedup_for" => "how long caller-chosen ids stay reserved after their job ends",
        "dedup_max" => "maximum number of such ids",
        "requeue" => "where released and rescued jobs are added: front, back",
        "poison_after" => "number of expired leases in a row at which a job becomes dead",
        "keep_succeeded" => "which succeeded jobs to keep: with_result, all, nothing",
        "succeeded_age" => "how long to keep succeeded jobs",
        "succeeded_count" | "dead_count" | "cancelled_count" => "maximum number of them to keep",
        "succeeded_bytes" | "dead_bytes" | "cancelled_bytes" => {
            "maximum total size of them, in bytes"
        }
        "dead_age" => "how long to keep dead jobs",
        "cancelled_age" => "how long to keep cancelled jobs",
        "max_running" => "jobs that run at the same time",
        "rate" => "jobs handed out in any period, such as 100/1m",
        "burst" => "jobs that may start at once although the rate spreads them",
        "group_max_running" => "jobs of each group that run at the same time",
        "group_rate" => "jobs of each group handed out in any period",
        "group_burst" => "like burst, for the rate of each group",
        "group_slot" => "until when a job counts for its group: run, job, success",
        "partitions" => "number of partitions in Redis: 1 to 128, auto",
        "partition_at" => "waiting jobs in a partition above which auto adds partitions",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_described_in_the_help() {
        for setting in Settings::default().all() {
            assert_ne!(describe(setting.name()), "", "{}", setting.name());
        }
    }
}
