//! maintain, take back, pause, settings.

use std::collections::BTreeSet;

use bytes::Bytes;
use redis::Value;
use windlass_core::store::{GroupSlot, Maintained, Owner, Partitions, Setting, Settings};
use windlass_core::{BootId, Error, Mode, Result, Token};
use windlass_redis_link::reply;

use crate::codec::{rules, value};
use crate::group::burst_error;
use crate::partition::{Partition, number_arg, text_arg};
use crate::schedule::read_requests;

/// The reply of a script to a call that the limits of the queue do not allow.
pub(crate) const CONFLICT: &[u8] = b"conflict";

impl Partition {
    pub(crate) async fn maintain(&self, limit: usize) -> Result<Maintained> {
        let mut reply = self
            .run_list(&self.scripts().maintain, vec![number_arg(limit)])
            .await?;
        let mut maintained = Maintained {
            promoted: reply.count()?,
            reaped: reply.count()?,
            expired: reply.count()?,
            pruned: reply.count()?,
            forgotten: reply.count()?,
            stale: reply.count()?,
            ..Maintained::default()
        };
        if !reply.is_empty() {
            maintained.instants = reply.count()?;
            maintained.refills = read_requests(&mut reply)?;
        }
        Ok(maintained)
    }

    /// Requeues the jobs of single claims made for a worker.
    pub(crate) async fn take_back_singles(&self, boot: &BootId, is_lost: bool) -> Result<u64> {
        let mut taken = 0;
        for token in self.single_claims_of(boot).await? {
            taken += self.take_back(&Owner::token(token), is_lost).await?;
        }
        Ok(taken)
    }

    /// The open single claims made for a worker, in the order to requeue them: newest first if jobs go
    /// to the front.
    async fn single_claims_of(&self, boot: &BootId) -> Result<Vec<Token>> {
        let mut tokens = BTreeSet::new();
        let mut cursor = "0".to_owned();
        let is_newest_first = loop {
            let args = vec![text_arg(boot.as_str()), text_arg(&cursor)];
            let mut reply = self.run_list(&self.scripts().single_claims, args).await?;
            cursor = reply.text()?;
            let to_front = reply.count()? == 1;
            while !reply.is_empty() {
                tokens.insert(reply.text()?.parse::<Token>()?);
            }
            if cursor == "0" {
                break to_front;
            }
        };
        Ok(if is_newest_first {
            tokens.into_iter().rev().collect()
        } else {
            tokens.into_iter().collect()
        })
    }

    /// Requeues all jobs under a lease, page by page. If this process ends half-way, a later claim or
    /// maintenance continues.
    pub(crate) async fn take_back(&self, owner: &Owner, is_lost: bool) -> Result<u64> {
        let flag = Bytes::from_static(if is_lost { b"1" } else { b"0" });
        let mut taken = 0;
        loop {
            let args = vec![text_arg(owner.as_str()), flag.clone()];
            let mut reply = self.run_list(&self.scripts().take_back, args).await?;
            let (page, is_complete) = (reply.count()?, reply.count()? == 1);
            taken += page;
            // An empty page means open claims without jobs, which an audit repairs.
            if is_complete || page == 0 {
                return Ok(taken);
            }
        }
    }

    pub(crate) async fn set_paused(&self, is_paused: bool) -> Result<()> {
        let scripts = self.scripts();
        let script = if is_paused {
            &scripts.pause
        } else {
            &scripts.resume
        };
        self.run_or_create(script, Vec::new()).await?;
        Ok(())
    }

    pub(crate) async fn settings(&self) -> Result<Settings> {
        let key = self.keys.one("settings");
        let mut all = redis::cmd("HGETALL");
        all.arg(&key[..]);
        read_settings(self.link().ask(&key, &all).await?)
    }

    pub(crate) async fn set(&self, settings: &[Setting]) -> Result<Settings> {
        let mut args = vec![number_arg(settings.len())];
        let mut rules = Vec::new();
        for setting in settings {
            args.extend([text_arg(setting.name()), text_arg(setting.value())]);
            rules.extend(rules::rules_of(setting)?);
        }
        let rules = rules.into_iter();
        args.extend(rules.flat_map(|(position, value)| [number_arg(position), number_arg(value)]));
        let reply = self.run_or_create(&self.scripts().set, args).await?;
        match reply::text(reply.clone()) {
            Ok(refusal) => Err(refusal_of(&refusal)),
            Err(_) => read_settings(reply),
        }
    }

    /// Checks that the queue may be claimed from in this mode. Only for a call that is more than one script
    /// call: the script `complete` checks it too.
    pub(crate) async fn check_mode(&self, mode: Mode) -> Result<()> {
        match mode {
            Mode::AtMostOnce => self.settings().await?.check_claim(mode),
            Mode::AtLeastOnce | Mode::Dispatch => Ok(()),
        }
    }
}

/// The error that every store has for settings that the script refused.
fn refusal_of(refusal: &str) -> Error {
    let (old, mut new) = (Settings::default(), Settings::default());
    match refusal {
        "conflict" => (new.max_running, new.partitions) = (Some(1), Partitions::Fixed(2)),
        "jobs" => new.group_slot = GroupSlot::Job,
        "groups" => new.partitions = Partitions::Fixed(2),
        _ => return burst_error(refusal),
    }
    let checked = new.check_change(&old, true, true);
    checked.err().unwrap_or_else(|| burst_error(refusal))
}

fn read_settings(value: Value) -> Result<Settings> {
    rules::settings(&value::pairs(value)?)
}
