//! Schedules in one partition: put, refill, run, change and read them.

use bytes::Bytes;
use redis::Value;
use windlass_core::limits::SCHEDULES_MAX;
use windlass_core::store::{
    DurabilityLevel, Ran, Refill, RefillRequest, Rule, Run, ScheduleChange, SchedulePut,
    ScheduleRecord,
};
use windlass_core::{
    Enqueued, Error, ErrorKind, JobId, JobState, Priority, Result, Schedule, ScheduleName,
    Timestamp,
};
use windlass_redis_link::reply::{Reply, is_text, unexpected_reply};

use crate::codec::names::{OVERLAP, STORED_PENDING, STORED_READY, STORED_SCHEDULED};
use crate::codec::schedule::{definition, instants, read_definition, read_record};
use crate::codec::{damaged, text};
use crate::enqueue::{existing, moved_to};
use crate::partition::{Partition, number_arg, text_arg};
use crate::script::Script;

/// The reply to a put.
#[derive(Debug)]
pub(crate) enum PutReply {
    Done(SchedulePut),
    /// The queue has this other number of partitions.
    Moved(u32),
}

/// A page of the schedules of one partition.
#[derive(Debug)]
pub(crate) struct SchedulePage {
    /// The number of partitions as this one knows it.
    pub(crate) partitions: u32,
    pub(crate) has_more: bool,
    pub(crate) records: Vec<ScheduleRecord>,
}

impl Partition {
    pub(crate) async fn put_schedule(
        &self,
        schedule: &Schedule,
        is_paused: Option<bool>,
        partitions: u32,
    ) -> Result<PutReply> {
        let paused = is_paused.map(|is_paused| number_arg(u8::from(is_paused)));
        let args = vec![
            text_arg(schedule.name.as_str()),
            definition(schedule),
            paused.unwrap_or_default(),
            number_arg(partitions),
        ];
        let script = &self.scripts().schedule_put;
        let (reply, _) = self.run_durable(script, args).await?;
        match moved_to(&reply)? {
            Some(partitions) => Ok(PutReply::Moved(partitions)),
            None => read_put(schedule, Reply::list(reply)?).map(PutReply::Done),
        }
    }

    pub(crate) async fn refill_schedules(&self, refills: &[Refill]) -> Result<()> {
        let mut args = Vec::with_capacity(refills.len() * 7);
        for refill in refills {
            args.push(text_arg(refill.name.as_str()));
            args.extend([
                number_arg(refill.revision),
                number_arg(refill.after.as_ms()),
                number_arg(refill.missed),
                number_arg(refill.missed_until.as_ms()),
                number_arg(refill.known_until.as_ms()),
            ]);
            args.push(Bytes::from(instants(&refill.instants)));
        }
        self.run(&self.scripts().schedule_refill, args).await?;
        Ok(())
    }

    pub(crate) async fn run_schedule(
        &self,
        name: &ScheduleName,
        run: &Run,
    ) -> Result<Option<Vec<Ran>>> {
        let mut args = vec![text_arg(name.as_str())];
        let ids: Vec<JobId> = match run {
            Run::Now { nonce, is_forced } => {
                args.extend([Bytes::from_static(b"now"), text_arg(nonce)]);
                args.push(number_arg(u8::from(*is_forced)));
                vec![JobId::of_run(name, nonce)]
            }
            Run::Instants(instants) => {
                args.extend([Bytes::from_static(b"instants"), number_arg(instants.len())]);
                args.extend(instants.iter().map(|at| number_arg(at.as_ms())));
                let ids = instants.iter().map(|at| JobId::at_instant(name, *at));
                ids.collect()
            }
        };
        let script = &self.scripts().schedule_run;
        let (reply, level) = self.run_durable(script, args).await?;
        let mut reply = Reply::list(reply)?;
        if reply.is_empty() {
            return Ok(None);
        }
        let _found = reply.text()?;
        let ran = ids
            .into_iter()
            .map(|id| read_ran(&reply.text()?, id, level));
        ran.collect::<Result<_>>().map(Some)
    }

    pub(crate) async fn change_schedule(
        &self,
        name: &ScheduleName,
        change: ScheduleChange,
    ) -> Result<bool> {
        let args = vec![text_arg(name.as_str()), text_arg(change.as_str())];
        let script = &self.scripts().schedule_change;
        Ok(self.run_list(script, args).await?.count()? == 1)
    }

    /// Reads one schedule.
    pub(crate) async fn schedule(&self, name: &ScheduleName) -> Result<SchedulePage> {
        let args = vec![Bytes::from_static(b"one"), text_arg(name.as_str())];
        read_page(self.run_list(&self.scripts().schedule_list, args).await?)
    }

    /// Reads a page of schedules, ordered by name.
    pub(crate) async fn schedules(
        &self,
        from: Option<&ScheduleName>,
        limit: usize,
    ) -> Result<SchedulePage> {
        let from = from.map_or_else(Bytes::new, |from| text_arg(from.as_str()));
        let args = vec![Bytes::from_static(b"page"), from, number_arg(limit)];
        read_page(self.run_list(&self.scripts().schedule_list, args).await?)
    }

    /// Runs a script that stores something, and waits for the durability that the URL requests. Creates
    /// the queue if it does not exist.
    async fn run_durable(
        &self,
        script: &'static Script,
        args: Vec<Bytes>,
    ) -> Result<(Value, DurabilityLevel)> {
        let (call, _slot) = self.repeatable_call(script, Priority::default(), args);
        let calls = std::slice::from_ref(&call);
        let mut is_created = false;
        loop {
            let (mut replies, level) = Box::pin(self.link().run_durable(calls)).await;
            let reply = replies.pop().unwrap_or(Value::Nil);
            if !is_text(&reply, b"absent") || is_created {
                return Ok((reply, level?));
            }
            self.create().await?;
            is_created = true;
        }
    }
}

fn read_put(schedule: &Schedule, mut reply: Reply) -> Result<SchedulePut> {
    let changed = match reply.text()?.as_str() {
        "created" => None,
        "changed" => Some(true),
        "same" => Some(false),
        "full" => {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("the queue has {SCHEDULES_MAX} schedules, which is the maximum"),
                "delete schedules, or use another queue",
            ));
        }
        _ => return Err(unexpected_reply("it has an unknown status")),
    };
    let mut refill = None;
    if !reply.is_empty() {
        refill = Some(RefillRequest {
            name: schedule.name.clone(),
            revision: number(&mut reply)?,
            rule: schedule.rule.clone(),
            after: Timestamp::from_ms(number(&mut reply)?),
            now: Timestamp::from_ms(number(&mut reply)?),
        });
    }
    Ok(SchedulePut { changed, refill })
}

/// A number in a remembered reply, which is text.
fn number(reply: &mut Reply) -> Result<u64> {
    let text = reply.text()?;
    text.parse()
        .map_err(|_| unexpected_reply("it has an invalid number"))
}

/// The schedules that need instants, at the end of the reply to a maintenance.
pub(crate) fn read_requests(reply: &mut Reply) -> Result<Vec<RefillRequest>> {
    let now = Timestamp::from_ms(reply.count()?);
    let mut requests = Vec::new();
    while !reply.is_empty() {
        let name = schedule_name(&reply.bytes()?)?;
        let revision = number(reply)?;
        let rule = Rule::from_text(&reply.text()?);
        requests.push(RefillRequest {
            name,
            revision,
            rule: rule.ok_or_else(|| damaged("schedule", "invalid rule"))?,
            after: Timestamp::from_ms(reply.count()?),
            now,
        });
    }
    Ok(requests)
}

fn read_ran(text: &str, id: JobId, level: DurabilityLevel) -> Result<Ran> {
    if let Some(current) = text.strip_prefix(OVERLAP) {
        return Ok(Ran::Overlap(JobId::new(current)?));
    }
    let state = match text {
        STORED_READY => JobState::Ready,
        STORED_SCHEDULED => JobState::Scheduled,
        STORED_PENDING => JobState::Pending,
        _ => return existing(text, level).map(Ran::Enqueued),
    };
    Ok(Ran::Enqueued(Enqueued::Accepted { id, state, level }))
}

fn read_page(mut reply: Reply) -> Result<SchedulePage> {
    let partitions = u32::try_from(reply.count()?).unwrap_or(1).max(1);
    let has_more = reply.count()? == 1;
    let mut records = Vec::new();
    while !reply.is_empty() {
        let name = schedule_name(&reply.bytes()?)?;
        let schedule = read_definition(&name, &reply.bytes()?);
        let record = schedule.and_then(|schedule| read_record(schedule, &reply.bytes()?));
        records.push(record.map_err(|error| of_schedule(&name, &error))?);
    }
    Ok(SchedulePage {
        partitions,
        has_more,
        records,
    })
}

pub(crate) fn schedule_name(bytes: &[u8]) -> Result<ScheduleName> {
    const KIND: &str = "name of a schedule";
    ScheduleName::new(text(KIND, bytes)?).map_err(|_| damaged(KIND, "invalid"))
}

/// Adds the name of the schedule to an error.
fn of_schedule(name: &ScheduleName, error: &Error) -> Error {
    let message = format!("schedule {:?}: {error}", name.as_str());
    Error::new(error.kind(), message, error.help().to_owned())
}
