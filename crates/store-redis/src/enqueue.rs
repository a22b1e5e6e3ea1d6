//! enqueue: encodes jobs as script arguments and decodes the reply.

use bytes::Bytes;
use redis::Value;
use windlass_core::setting::PARTITIONS_MAX;
use windlass_core::store::DurabilityLevel;
use windlass_core::{Enqueued, Error, JobId, JobState, NewJob, Result};
use windlass_redis_link::Call;
use windlass_redis_link::reply::{self, is_text, unexpected_reply};
use windlass_redis_link::script::REFUSED;

use crate::call_slots::CallSlot;
use crate::codec::names::{
    DUPLICATE, NOT_FOUND, ONLY_EXISTING, OWN_SPECS, POSTPONED, REPLACED, STORED_READY,
    STORED_SCHEDULED,
};
use crate::codec::{inline, opts};
use crate::partition::{Partition, number_arg, text_arg};
use crate::script::Script;

/// The most bytes of payload that are sent to the fast script, which may refuse them.
const FAST_BYTES_MAX: usize = 256 * 1024;

/// The reply of one partition to a batch.
#[derive(Debug, Default)]
pub(crate) struct StoreReply {
    /// The results of the jobs stored, which are the first of the batch.
    pub(crate) results: Vec<Enqueued>,
    /// Whether the partition is so large that the queue should grow.
    pub(crate) is_large: bool,
    /// The queue has this other number of partitions: the other jobs must be distributed again.
    pub(crate) moved: Option<u32>,
}

impl Partition {
    /// Stores the jobs of some pages, one script call each, in this partition. `partitions` is the number
    /// that the caller knows of. Returns with an error the results of the pages before it.
    pub(crate) async fn enqueue(
        &self,
        pages: &[&[NewJob]],
        partitions: u32,
    ) -> Result<StoreReply, (Vec<Enqueued>, Error)> {
        let (mut calls, mut slots) = (Vec::new(), Vec::new());
        // The pages are sent together, and one whose script is refused or not loaded is sent again after the
        // others. So if one amends jobs, all use the script that can.
        let amends = pages.iter().any(|jobs| jobs.iter().any(opts::amends));
        for jobs in pages {
            let (call, slot) = self.enqueue_call(jobs, partitions, amends, slots.last());
            calls.push(call);
            slots.extend(slot);
        }
        let (mut replies, mut level, mut is_created) =
            (Vec::new(), Ok(DurabilityLevel::Memory), false);
        // The pages before it were sent earlier, perhaps on another connection.
        let mut resumed_at = 0;
        while replies.len() < calls.len() {
            let more;
            resumed_at = replies.len();
            (more, level) = Box::pin(self.link().run_durable(&calls[resumed_at..])).await;
            replies.extend(more);
            let Some(last) = replies.last() else { break };
            let (is_refused, is_absent) = (is_text(last, REFUSED), is_text(last, b"absent"));
            self.mode.tried(self.fast_enqueues.tried(is_refused));
            if is_refused {
                replies.pop();
                let at = replies.len();
                calls[at] = self.redirect(&calls[at], self.full_script(amends));
            } else if is_absent && !is_created {
                replies.pop();
                is_created = true;
                self.create().await.map_err(|error| (Vec::new(), error))?;
            } else {
                break;
            }
        }
        let nothing = |error| (Vec::new(), error);
        let moved = replies.last().map_or(Ok(None), moved_to).map_err(nothing)?;
        if moved.is_some() {
            replies.pop();
            if resumed_at > 0 && replies.len() == resumed_at {
                // The last connection wrote nothing, so it has not waited for these pages. They are
                // remembered: sent again, they only wait.
                let stored = calls[..resumed_at].iter();
                let stored = stored.map(|call| self.redirect(call, self.full_script(amends)));
                let stored: Vec<_> = stored.collect();
                (replies, level) = Box::pin(self.link().run_durable(&stored)).await;
            }
        }
        let (level, failure) = match level {
            Ok(level) => (level, None),
            Err(error) => (DurabilityLevel::Memory, Some(error)),
        };
        let (mut results, mut is_large) = (Vec::new(), false);
        for (reply, jobs) in replies.into_iter().zip(pages) {
            match read_results(reply, jobs, level) {
                Ok((stored, large)) => {
                    results.extend(stored);
                    is_large |= large;
                }
                Err(error) => return Err((results, error)),
            }
        }
        match failure {
            Some(failure) => Err((results, failure)),
            None => Ok(StoreReply {
                results,
                is_large,
                moved,
            }),
        }
    }
}

impl Partition {
    /// The call that stores a page of jobs: of the fast script if it may be. `after` is the slot of the page
    /// before.
    fn enqueue_call(
        &self,
        jobs: &[NewJob],
        partitions: u32,
        amends: bool,
        after: Option<&CallSlot<'_>>,
    ) -> (Call, Option<CallSlot<'_>>) {
        let after = after.map(|slot| slot.args().join(&b" "[..]));
        let (args, fast) = args(jobs, partitions, after.unwrap_or_default());
        self.mode.seen(jobs.iter().any(|job| job.group.is_some()));
        let uses_groups = self.mode.uses_groups();
        let can_be_fast = !amends
            && if uses_groups {
                fast.grouped
            } else {
                fast.plain
            };
        let script = match (can_be_fast && self.fast_enqueues.may_try(), uses_groups) {
            (false, _) => self.full_script(amends),
            (true, false) => &self.scripts().fast_enqueue,
            (true, true) => &self.scripts().fast_group_enqueue,
        };
        // The jobs with a group are in no list.
        let listed = jobs.iter().find(|job| job.group.is_none());
        let lane = listed.map(|job| job.priority).unwrap_or_default();
        self.repeatable_call(script, lane, args)
    }

    /// The script that can store any job, and amend existing ones if some jobs do.
    fn full_script(&self, amends: bool) -> &'static Script {
        if amends {
            &self.scripts().amend
        } else {
            &self.scripts().enqueue
        }
    }

    /// Replaces or postpones the job that exists in this partition, which does not store new jobs with that id
    /// and unique key any more. Returns `None` if it does not exist any more, or belongs to another partition.
    pub(crate) async fn amend_existing(
        &self,
        job: &NewJob,
        partitions: u32,
    ) -> Result<Option<Enqueued>> {
        let (mut args, _) = args(std::slice::from_ref(job), partitions, Vec::new());
        args[SPEC] = Bytes::from(format!("{}{ONLY_EXISTING}\n", opts::spec(job)));
        let (call, _slot) = self.repeatable_call(&self.scripts().amend, job.priority, args);
        let (replies, level) = Box::pin(self.link().run_durable(std::slice::from_ref(&call))).await;
        let (level, reply) = (level?, replies.into_iter().next().unwrap_or(Value::Nil));
        if moved_to(&reply)?.is_some() || is_text(&reply, b"absent") {
            return Ok(None);
        }
        let mut reply = reply::Reply::list(reply)?;
        let text = reply.text()?;
        (text != NOT_FOUND)
            .then(|| existing(&text, level))
            .transpose()
    }
}

/// Where the arguments of [`args`] have the spec of all jobs.
const SPEC: usize = 4;

/// The result of each job, and whether the partition is large.
fn read_results(
    reply: Value,
    jobs: &[NewJob],
    level: DurabilityLevel,
) -> Result<(Vec<Enqueued>, bool)> {
    let Value::Array(mut items) = reply else {
        return Err(unexpected_reply("it is not a list"));
    };
    let is_large = items.pop_if(|last| is_text(last, b"grow")).is_some();
    if let [all] = items.as_slice()
        && is_text(all, STORED_READY.as_bytes())
    {
        let ready = jobs.iter().map(|job| accepted(job, JobState::Ready, level));
        return Ok((ready.collect(), is_large));
    }
    if items.len() != jobs.len() {
        let (expected, got) = (jobs.len(), items.len());
        return Err(unexpected_reply(&format!(
            "expected {expected} replies, got {got}"
        )));
    }
    let results = items.into_iter().zip(jobs);
    let results = results.map(|(item, job)| result(&reply::text(item)?, job, level));
    Ok((results.collect::<Result<_>>()?, is_large))
}

/// Which fast scripts may store a page that is not too large to be sent twice.
struct CanBeFast {
    /// All jobs share a spec that is stored in their values.
    plain: bool,
    /// All specs are stored in the values, once those of groups have their places in the line.
    grouped: bool,
}

/// The arguments of a page, and which fast scripts may store it.
fn args(jobs: &[NewJob], partitions: u32, after: Vec<u8>) -> (Vec<Bytes>, CanBeFast) {
    let (mut earliest, mut latest) = (u64::MAX, 0);
    for job in jobs.iter().filter(|job| !job.is_named) {
        // If an id contains no time, the script stores the time of every job.
        let ms = opts::ulid_ms(&job.id, false).unwrap_or_default();
        (earliest, latest) = (earliest.min(ms), latest.max(ms));
    }
    let is_shared = jobs.windows(2).all(|two| two[0].has_options_of(&two[1]));
    let shared = jobs.first().filter(|_| is_shared).map(opts::spec);
    let bytes: usize = jobs.iter().map(|job| job.payload.len()).sum();
    let mut fast = CanBeFast {
        plain: shared.is_some() && bytes <= FAST_BYTES_MAX,
        grouped: bytes <= FAST_BYTES_MAX,
    };
    let earliest = earliest.min(latest);
    let mut args = Vec::with_capacity(7 + 3 * jobs.len());
    args.push(Bytes::from(after));
    args.push(number_arg(earliest));
    args.push(number_arg(latest - earliest));
    args.push(number_arg(partitions));
    args.push(text_arg(shared.as_deref().unwrap_or(OWN_SPECS)));
    for job in jobs {
        let own = shared.is_none().then(|| opts::spec(job));
        let spec = own.as_ref().or(shared.as_ref()).map_or("", String::as_str);
        let value = inline::encode(spec, &job.payload);
        fast.plain = fast.plain && value.len() == spec.len() + 1 + job.payload.len();
        fast.grouped = fast.grouped && inline::is_inline_when_ready(spec, &job.payload);
        args.push(text_arg(job.id.as_str()));
        args.push(value);
        args.extend(own.map(Bytes::from));
    }
    (args, fast)
}

/// The number of partitions in the reply `moved N`.
pub(crate) fn moved_to(reply: &Value) -> Result<Option<u32>> {
    let text = match reply {
        Value::BulkString(bytes) => bytes.as_slice(),
        Value::SimpleString(text) => text.as_bytes(),
        _ => return Ok(None),
    };
    let Some(count) = text.strip_prefix(b"moved ") else {
        return Ok(None);
    };
    let count = str::from_utf8(count)
        .ok()
        .and_then(|text| text.parse().ok());
    let count = count.filter(|count| *count <= PARTITIONS_MAX);
    count
        .map(Some)
        .ok_or_else(|| unexpected_reply("it has an invalid number of partitions"))
}

fn accepted(job: &NewJob, state: JobState, level: DurabilityLevel) -> Enqueued {
    Enqueued::Accepted {
        id: job.id.clone(),
        state,
        level,
    }
}

fn result(text: &str, job: &NewJob, level: DurabilityLevel) -> Result<Enqueued> {
    match text {
        STORED_READY => Ok(accepted(job, JobState::Ready, level)),
        STORED_SCHEDULED => Ok(accepted(job, JobState::Scheduled, level)),
        _ => existing(text, level),
    }
}

/// Decodes the reply about an existing job: what was done to it, its state, a space and its id.
pub(crate) fn existing(text: &str, level: DurabilityLevel) -> Result<Enqueued> {
    let unknown = |what: &str| unexpected_reply(&format!("it has an unknown {what}"));
    let split = text.split_at_checked(1);
    let (code, rest) = split.ok_or_else(|| unknown("status"))?;
    let (state, id) = rest.split_once(' ').ok_or_else(|| unknown("status"))?;
    let state = JobState::from_text(state).ok_or_else(|| unknown("state"))?;
    let id = JobId::new(id)?;
    match code {
        DUPLICATE => Ok(Enqueued::Duplicate { id, state, level }),
        REPLACED => Ok(Enqueued::Replaced { id, state, level }),
        POSTPONED => Ok(Enqueued::Postponed { id, state, level }),
        _ => Err(unknown("status")),
    }
}
