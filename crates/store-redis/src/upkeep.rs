//! maintain, take back, settings: what keeps a queue moving, and the rules it follows.

use bytes::Bytes;
use redis::Value;
use windlass_core::{Maintained, Owner, Result, Setting, Settings};

use crate::codec::{rules, value};
use crate::part::{Part, number, words};

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

    /// Takes back all that an owner holds, page after page. A page that was begun is finished by
    /// any later claim or clean, should this process end here.
    pub(crate) async fn take_back(&self, owner: &Owner, is_lost: bool) -> Result<u64> {
        let flag = Bytes::from_static(if is_lost { b"1" } else { b"0" });
        let mut taken = 0;
        loop {
            let args = vec![words(owner.as_str()), flag.clone()];
            let mut reply = self.list(&self.scripts().take_back, args).await?;
            taken += reply.count()?;
            if reply.count()? == 1 {
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
