//! One partition of a queue: its keys, which share a hash slot, and the script calls on them.
//!
//! A queue has one partition unless it is partitioned. Every script call works on one partition.

use std::collections::HashSet;
use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use bytes::Bytes;
use redis::Value;
use windlass_core::store::{Claimer, Completion, Settings};
use windlass_core::{
    ClaimRequest, Clock, Error, NewJob, OutcomeStatus, Priority, QueueName, Result,
};
use windlass_redis_link::reply::{self, Reply};
use windlass_redis_link::script::REFUSED;
use windlass_redis_link::{Call, Link, Resend};

use crate::batcher::Batcher;
use crate::call_slots::{CallSlot, CallSlots};
use crate::codec::names::STATS_FIELD;
use crate::fast_path::{FastPath, Mode, ScriptChoice};
use crate::keys::Keys;
use crate::maintenance::CONFLICT;
use crate::queue::EnqueueReply;
use crate::queue::enqueue::{batched, complete_batched, enqueue_batched, result_bytes, weight};
use crate::script::{Script, Scripts};

/// Help for a claim that is not the same claim when it is repeated.
const CLAIM_AGAIN: &str =
    "repeat the call; jobs that it may have claimed return when their lease expires";

/// Corrects the advice of an unknown outcome for a single claim.
pub(crate) fn claim_error(error: Error, claimer: &Claimer) -> Error {
    match claimer {
        Claimer::Single { .. } if error.is_unknown() => error.with_help(CLAIM_AGAIN),
        _ => error,
    }
}

/// Whether a claim may be sent again.
pub(crate) fn resend_of(claimer: &Claimer) -> Resend {
    match claimer {
        Claimer::Worker { .. } => Resend::Safe,
        Claimer::Single { .. } => Resend::Never,
    }
}

/// The reply to a claim, unless the limits of the queue do not allow it.
pub(crate) fn claim_reply(reply: Value, request: &ClaimRequest) -> Result<Reply> {
    if reply::is_text(&reply, CONFLICT) {
        // The error that such a claim has in every store.
        let mut limited = Settings::default();
        limited.max_running = Some(1);
        limited.check_claim(request.mode)?;
    }
    Reply::list(reply)
}

/// State shared by all partitions of all queues.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) link: Link,
    pub(crate) scripts: &'static Scripts,
    /// Set in tests, where scripts read the time from an argument.
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) choice: ScriptChoice,
}

impl Shared {
    pub(crate) fn call(&self, keys: &Keys, script: &'static Script, args: Vec<Bytes>) -> Call {
        self.call_in(keys, script, Priority::default(), args)
    }

    /// A call that may write the ready list of one priority.
    fn call_in(
        &self,
        keys: &Keys,
        script: &'static Script,
        lane: Priority,
        mut args: Vec<Bytes>,
    ) -> Call {
        if let Some(clock) = &self.clock {
            args.push(Bytes::from(clock.now_us().to_string()));
        }
        Call {
            script: &script.sent,
            keys: keys.declared_in(&script.keys, lane),
            args,
        }
    }
}

/// One partition of a queue.
pub(crate) struct Partition {
    pub(crate) queue: QueueName,
    pub(crate) number: u32,
    pub(crate) keys: Keys,
    /// The number of partitions in the latest claim reply.
    pub(crate) partitions_seen: AtomicU32,
    /// Whether an enqueue found the partition large, so that the queue should grow.
    pub(crate) is_large: AtomicBool,
    /// Each job comes with the number of partitions its caller knows of.
    pub(crate) enqueues: Batcher<(u32, NewJob), EnqueueReply>,
    pub(crate) completes: Batcher<Completion, OutcomeStatus>,
    pub(crate) fast_enqueues: FastPath,
    pub(crate) fast_completes: FastPath,
    pub(crate) mode: Mode,
    slots: CallSlots,
    shared: Arc<Shared>,
}

impl Partition {
    pub(crate) fn new(shared: Arc<Shared>, queue: QueueName, number: u32) -> Arc<Self> {
        let keys = Keys::of_queue(&shared.link.address().prefix, &queue, number);
        Arc::new_cyclic(|weak_self| Self {
            queue,
            number,
            keys,
            partitions_seen: AtomicU32::new(1),
            is_large: AtomicBool::new(false),
            enqueues: batched(
                &shared.link,
                weak_self,
                |(_, job)| weight(job),
                enqueue_batched,
            ),
            completes: batched(&shared.link, weak_self, result_bytes, complete_batched),
            fast_enqueues: FastPath::new(shared.choice),
            fast_completes: FastPath::new(shared.choice),
            mode: Mode::default(),
            slots: CallSlots::new(),
            shared,
        })
    }

    pub(crate) fn scripts(&self) -> &'static Scripts {
        self.shared.scripts
    }

    pub(crate) fn link(&self) -> &Link {
        &self.shared.link
    }

    pub(crate) fn call(&self, script: &'static Script, args: Vec<Bytes>) -> Call {
        self.shared.call(&self.keys, script, args)
    }

    /// The call of another script, with the same arguments.
    pub(crate) fn redirect(&self, call: &Call, script: &'static Script) -> Call {
        Call {
            script: &script.sent,
            keys: self.keys.declared(&script.keys),
            args: call.args.clone(),
        }
    }

    /// A script call that may be sent again, and the slot it occupies until it is answered. `lane` is the
    /// priority whose ready list the script may write.
    pub(crate) fn repeatable_call(
        &self,
        script: &'static Script,
        lane: Priority,
        mut args: Vec<Bytes>,
    ) -> (Call, Option<CallSlot<'_>>) {
        let slot = script.is_remembered.then(|| self.slots.take());
        if let Some(slot) = &slot {
            args.splice(0..0, slot.args());
        }
        let call = self.shared.call_in(&self.keys, script, lane, args);
        (call, slot)
    }

    /// Runs a script and repeats it after a lost connection: every verb is idempotent, or its script
    /// remembers the call.
    pub(crate) async fn run(&self, script: &'static Script, args: Vec<Bytes>) -> Result<Value> {
        let (call, _slot) = self.repeatable_call(script, Priority::default(), args);
        // Boxed: the future is large, and every verb has one.
        Box::pin(self.shared.link.run_idempotent(&call)).await
    }

    /// Completes jobs and claims more. Only a worker's claim, which has a sequence number, may be
    /// repeated: others would claim more jobs each time, so a lost reply is an unknown outcome. Returns
    /// the statuses, the rest of the reply, and the error to return instead of jobs if too few replicas
    /// confirm the claim.
    pub(crate) async fn hand_out(
        &self,
        args: Vec<Bytes>,
        request: &ClaimRequest,
        can_be_fast: bool,
    ) -> Result<(String, (Reply, Option<Error>))> {
        let claimer = &request.claimer;
        let settled = self.settle(args, resend_of(claimer), can_be_fast).await;
        let (reply, unconfirmed) = settled.map_err(|error| claim_error(error, claimer))?;
        let mut reply = claim_reply(reply, request)?;
        Ok((reply.text()?, (reply, unconfirmed)))
    }

    /// Runs the script `complete`, the fast one if it may be.
    pub(crate) async fn settle(
        &self,
        args: Vec<Bytes>,
        resend: Resend,
        can_be_fast: bool,
    ) -> Result<(Value, Option<Error>)> {
        if !can_be_fast || !self.fast_completes.may_try() {
            let call = self.call(&self.scripts().complete, args);
            return Box::pin(self.link().run_confirmed(&call, resend)).await;
        }
        let call = self.call(self.fast_complete(), args);
        let tried = Box::pin(self.link().run_confirmed(&call, resend)).await?;
        self.complete_if_refused(&call, tried, resend).await
    }

    /// The fast script for this partition.
    pub(crate) fn fast_complete(&self) -> &'static Script {
        if self.mode.uses_groups() {
            &self.scripts().fast_group_complete
        } else {
            &self.scripts().fast_complete
        }
    }

    /// Repeats a call that the fast script refused with the full one.
    pub(crate) async fn complete_if_refused(
        &self,
        call: &Call,
        tried: (Value, Option<Error>),
        resend: Resend,
    ) -> Result<(Value, Option<Error>)> {
        let is_refused = reply::is_text(&tried.0, REFUSED);
        self.mode.tried(self.fast_completes.tried(is_refused));
        if !is_refused {
            return Ok(tried);
        }
        let call = self.redirect(call, &self.scripts().complete);
        Box::pin(self.link().run_confirmed(&call, resend)).await
    }

    /// Runs a script that ends or renews claims. With `replicated:N`, it is an error if fewer replicas
    /// confirm that.
    pub(crate) async fn run_confirmed(
        &self,
        script: &'static Script,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        let call = self.call(script, args);
        let confirmed = Box::pin(self.shared.link.run_confirmed(&call, Resend::Safe)).await?;
        match confirmed {
            (reply, None) => Ok(reply),
            (_, Some(error)) => Err(error),
        }
    }

    /// Runs a script that replies with a list.
    pub(crate) async fn run_list(
        &self,
        script: &'static Script,
        args: Vec<Bytes>,
    ) -> Result<Reply> {
        Reply::list(self.run(script, args).await?)
    }

    /// Creates the queue if it does not exist. It is added to the list of queues first, so that no job
    /// is ever in an unlisted queue. Reads before it writes: a full server rejects all writes, and
    /// workers must still be able to register.
    pub(crate) async fn create(&self) -> Result<()> {
        self.add_to_list().await?;
        if !self
            .has("HEXISTS", &self.keys.one("state"), STATS_FIELD)
            .await?
        {
            self.run(&self.scripts().create, Vec::new()).await?;
            // Another process may have deleted the queue, and removed it from the list, in between.
            self.add_to_list().await?;
        }
        Ok(())
    }

    /// Removes a deleted queue from the list of queues, unless it was created again in the meantime.
    pub(crate) async fn remove_from_list(&self) -> Result<()> {
        let list = Keys::of_registry(&self.shared.link.address().prefix).one("queues");
        self.has("SREM", &list, self.queue.as_str()).await?;
        let state = self.keys.one("state");
        if self.has("HEXISTS", &state, STATS_FIELD).await? {
            self.add_to_list().await?;
        }
        Ok(())
    }

    /// Adds the queue to the list of queues. Returns whether it was missing.
    pub(crate) async fn add_to_list(&self) -> Result<bool> {
        let list = Keys::of_registry(&self.shared.link.address().prefix).one("queues");
        let name = self.queue.as_str();
        Ok(!self.has("SISMEMBER", &list, name).await? && self.has("SADD", &list, name).await?)
    }

    /// Runs `command`, which replies with 1 if a key has a member, or did not have the one it adds.
    async fn has(&self, command: &str, key: &[u8], member: &str) -> Result<bool> {
        let mut ask = redis::cmd(command);
        ask.arg(key).arg(member);
        Ok(reply::int(&Box::pin(self.shared.link.ask(key, &ask)).await?)? == 1)
    }

    /// Runs a script that replies `absent` if the queue does not exist; then creates it and runs again.
    pub(crate) async fn run_or_create(
        &self,
        script: &'static Script,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        let reply = self.run(script, args.clone()).await?;
        if !reply::is_text(&reply, b"absent") {
            return Ok(reply);
        }
        self.create().await?;
        self.run(script, args).await
    }
}

pub(crate) fn number_arg(value: impl Display) -> Bytes {
    Bytes::from(value.to_string())
}

pub(crate) fn text_arg(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

pub(crate) fn count_of(value: &Value) -> Result<u64> {
    Ok(u64::try_from(reply::int(value)?).unwrap_or_default())
}

/// Splits a batch into consecutive runs without repeated ids, since a script call takes each id once.
/// Usually there is one run.
pub(crate) fn distinct_runs<'a>(ids: impl Iterator<Item = &'a str> + Clone) -> Vec<Range<usize>> {
    // Generated ids ascend.
    if ids.clone().is_sorted_by(|a, b| a < b) {
        let all = 0..ids.count();
        return (!all.is_empty()).then_some(all).into_iter().collect();
    }
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut seen = HashSet::with_capacity(ids.size_hint().0);
    for (at, id) in ids.enumerate() {
        if !seen.insert(id) {
            seen.clear();
            seen.insert(id);
            runs.push(at..at + 1);
        } else if let Some(run) = runs.last_mut() {
            run.end = at + 1;
        } else {
            runs.push(0..1);
        }
    }
    runs
}
