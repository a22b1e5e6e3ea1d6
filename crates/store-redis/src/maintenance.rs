//! maintain, take back, settings: what keeps a queue moving, and the rules it follows.

use std::collections::BTreeSet;

use bytes::Bytes;
use redis::Value;
use windlass_core::{BootId, Maintained, Owner, Result, Setting, Settings, Token};

use crate::codec::{rules, value};
use crate::partition::{Part, number, words};

impl Part {
    pub(crate) async fn maintain(&self, limit: usize) -> Result<Maintained> {
        let mut reply = self
            .list(&self.scripts().maintain, vec![number(limit)])
            .await?;
        Ok(Maintained {
            promoted: reply.count()?,
            reaped: reply.count()?,
            expired: reply.count()?,
            pruned: reply.count()?,
            forgotten: reply.count()?,
        })
    }

    /// Takes back what single claims took for a worker.
    pub(crate) async fn take_back_singles(&self, boot: &BootId, is_lost: bool) -> Result<u64> {
        let mut taken = 0;
        for token in self.single_claims_of(boot).await? {
            taken += self.take_back(&Owner::token(token), is_lost).await?;
        }
        Ok(taken)
    }

    /// The single claims that hold jobs for a worker, in the order they are taken back in: those
    /// that go to the front newest first.
    async fn single_claims_of(&self, boot: &BootId) -> Result<Vec<Token>> {
        let mut tokens = BTreeSet::new();
        let mut cursor = "0".to_owned();
        let is_newest_first = loop {
            let args = vec![words(boot.as_str()), words(&cursor)];
            let mut reply = self.list(&self.scripts().single_claims, args).await?;
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

    /// Takes back all that is under a lease, page after page. A page that was begun is finished by
    /// any later claim or clean, should this process end here.
    pub(crate) async fn take_back(&self, owner: &Owner, is_lost: bool) -> Result<u64> {
        let flag = Bytes::from_static(if is_lost { b"1" } else { b"0" });
        let mut taken = 0;
        loop {
            let args = vec![words(owner.as_str()), flag.clone()];
            let mut reply = self.list(&self.scripts().take_back, args).await?;
            let (page, is_whole) = (reply.count()?, reply.count()? == 1);
            taken += page;
            // Where nothing came of a page, claims are open that hold nothing: that is for an audit.
            if is_whole || page == 0 {
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
        self.run_made(script, Vec::new()).await?;
        Ok(())
    }

    pub(crate) async fn settings(&self) -> Result<Settings> {
        let key = self.keys.one("settings");
        let mut all = redis::cmd("HGETALL");
        all.arg(&key[..]);
        read_settings(self.link().ask(&key, &all).await?)
    }

    pub(crate) async fn set(&self, settings: &[Setting]) -> Result<Settings> {
        let mut args = Vec::with_capacity(settings.len() * 4);
        for setting in settings {
            let (place, value) = rules::rule_of(setting)?;
            args.extend([words(setting.name()), words(setting.value())]);
            args.extend([number(place), number(value)]);
        }
        read_settings(self.run_made(&self.scripts().set, args).await?)
    }
}

fn read_settings(value: Value) -> Result<Settings> {
    rules::settings(&value::pairs(value)?)
}
