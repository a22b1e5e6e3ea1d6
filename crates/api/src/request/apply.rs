//! `apply_schedules`: the schedules of a file, in any number of queues.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use windlass_core::limits::{PAGE, SCHEDULES_MAX};
use windlass_core::store::{ScheduleChange, ScheduleRecord};
use windlass_core::{Error as CoreError, QueueName, Result, Schedule, ScheduleName, Store};

use super::schedule::put_result;
use super::{ApiResult, StoreRequest};
use crate::error::Error;
use crate::fields;
use crate::schedule::PutSchedule;
use crate::word::{self, Word};

/// Puts a list of schedules, and optionally deletes the others of their set. All of them are checked before
/// any is put. A repeated call changes nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplySchedules {
    /// The schedules, each with its field `queue`.
    #[serde(deserialize_with = "read_each")]
    pub schedules: Vec<PutSchedule>,
    /// The set that they belong to, such as the name of the service that applies them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// Whether to delete schedules of the set that the list does not have (default: false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prune: Option<bool>,
}

/// The reply to `apply_schedules`.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ApplyReply {
    /// How many schedules are new.
    pub created: u64,
    /// How many schedules changed.
    pub changed: u64,
    /// How many schedules were the same already.
    pub unchanged: u64,
    /// How many schedules were deleted.
    pub deleted: u64,
    /// What happened to each schedule.
    pub schedules: Vec<AppliedSchedule>,
}

/// What happened to a schedule.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AppliedSchedule {
    /// The queue.
    pub queue: String,
    /// The schedule.
    pub name: String,
    /// `created`, `changed`, `unchanged` or `deleted`.
    #[serde(deserialize_with = "word::read")]
    pub result: Word,
}

impl ApplyReply {
    fn add(&mut self, queue: &QueueName, name: &ScheduleName, result: Word) {
        let count = match result {
            "created" => &mut self.created,
            "changed" => &mut self.changed,
            "deleted" => &mut self.deleted,
            _ => &mut self.unchanged,
        };
        *count += 1;
        self.schedules.push(AppliedSchedule {
            queue: queue.to_string(),
            name: name.to_string(),
            result,
        });
    }
}

/// The checked schedules, by queue and name.
type Checked = BTreeMap<QueueName, BTreeMap<ScheduleName, (Schedule, Option<bool>)>>;

impl ApplySchedules {
    /// Checks all schedules.
    pub fn check(&self) -> ApiResult<()> {
        if self.prune == Some(true) && self.set.is_none() {
            let help = "name the set of these schedules, such as the service that applies them";
            return Err(CoreError::invalid("prune", "missing set", help).into());
        }
        self.clone().checked().map(drop)
    }

    fn checked(self) -> ApiResult<Checked> {
        let mut checked = Checked::new();
        for (index, mut schedule) in self.schedules.into_iter().enumerate() {
            let what = format!("schedule {}", schedule_name(&schedule.name, index));
            let add = || -> Result<()> {
                let queue = schedule.queue.take().ok_or_else(|| {
                    CoreError::invalid("schedule", "missing field queue", "name its queue")
                })?;
                let queue = QueueName::new(queue)?;
                schedule.set = schedule.set.take().or_else(|| self.set.clone());
                let (schedule, is_paused) = schedule.into_schedule()?;
                let name = schedule.name.clone();
                let others = checked.entry(queue).or_default();
                if others.insert(name, (schedule, is_paused)).is_some() {
                    let help = "use each name once per queue";
                    return Err(CoreError::invalid("schedule", "listed twice", help));
                }
                Ok(())
            };
            add().map_err(|error| {
                let mut error = Error::from(error);
                error.message = format!("{what}: {}", error.message);
                error
            })?;
        }
        Ok(checked)
    }
}

/// Parses the schedules one by one, so that an error says which one it is about.
fn read_each<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PutSchedule>, D::Error> {
    let schedules = Vec::<Box<RawValue>>::deserialize(from)?;
    let read = |(index, raw): (usize, &RawValue)| {
        fields::read(raw.get()).map_err(|error| {
            let name =
                fields::read::<Named>(raw.get()).map_or_else(|_| String::new(), |it| it.name);
            let name = schedule_name(&name, index);
            let error = error.to_string();
            let why = error.strip_prefix("invalid request: ").unwrap_or(&error);
            serde::de::Error::custom(format_args!("schedule {name}: {why}"))
        })
    };
    let schedules = schedules.iter().map(AsRef::as_ref);
    schedules.enumerate().map(read).collect()
}

/// The name of a schedule that may have invalid fields.
#[derive(Deserialize)]
struct Named {
    name: String,
}

fn schedule_name(name: &str, index: usize) -> String {
    if name.is_empty() {
        format!("number {}", index + 1)
    } else {
        format!("{name:?}")
    }
}

impl StoreRequest for ApplySchedules {
    const OP: &'static str = "apply_schedules";
    type Reply = ApplyReply;

    async fn execute(self, store: &dyn Store) -> ApiResult<ApplyReply> {
        self.check()?;
        let pruned = self.set.clone().filter(|_| self.prune == Some(true));
        let checked = self.checked()?;
        check_room(store, &checked).await?;
        let mut reply = ApplyReply::default();
        for (queue, schedules) in &checked {
            for (name, (schedule, is_paused)) in schedules {
                let put =
                    windlass_schedule::put(store, queue, schedule.clone(), *is_paused).await?;
                reply.add(queue, name, put_result(put.changed));
            }
        }
        if let Some(set) = pruned {
            prune_set(store, &set, &checked, &mut reply).await?;
        }
        Ok(reply)
    }
}

/// Rejects a list that does not fit, before any of it is put.
async fn check_room(store: &dyn Store, checked: &Checked) -> ApiResult<()> {
    for (queue, schedules) in checked {
        let stored = store.stats(queue).await?.map_or(0, |stats| stats.schedules);
        let stored = usize::try_from(stored).unwrap_or(usize::MAX);
        if stored.saturating_add(schedules.len()) <= SCHEDULES_MAX {
            continue;
        }
        let mut names: BTreeSet<_> = schedules.keys().cloned().collect();
        each(store, queue, |record| {
            names.insert(record.schedule.name);
        })
        .await?;
        if names.len() > SCHEDULES_MAX {
            let why = format!(
                "queue {queue} would have {} schedules; maximum {SCHEDULES_MAX}",
                names.len()
            );
            return Err(Error::new(
                crate::Code::Conflict,
                why,
                "delete schedules, or use another queue",
            ));
        }
    }
    Ok(())
}

/// Deletes the schedules of the set that were not applied.
async fn prune_set(
    store: &dyn Store,
    set: &str,
    checked: &Checked,
    reply: &mut ApplyReply,
) -> ApiResult<()> {
    for queue in store.queues().await? {
        if store
            .stats(&queue)
            .await?
            .is_none_or(|stats| stats.schedules == 0)
        {
            continue;
        }
        let applied = checked.get(&queue);
        let mut others = Vec::new();
        each(store, &queue, |record| {
            let is_applied =
                applied.is_some_and(|applied| applied.contains_key(&record.schedule.name));
            if record.schedule.set.as_deref() == Some(set) && !is_applied {
                others.push(record.schedule.name);
            }
        })
        .await?;
        for name in others {
            if store
                .change_schedule(&queue, &name, ScheduleChange::Delete)
                .await?
            {
                reply.add(&queue, &name, "deleted");
            }
        }
    }
    Ok(())
}

/// Calls a function with each schedule of a queue.
async fn each(
    store: &dyn Store,
    queue: &QueueName,
    mut visit: impl FnMut(ScheduleRecord) + Send,
) -> Result<()> {
    let mut from = None;
    loop {
        let page = store.schedules(queue, from, PAGE).await?;
        page.items.into_iter().for_each(&mut visit);
        from = page.next;
        if from.is_none() {
            return Ok(());
        }
    }
}
