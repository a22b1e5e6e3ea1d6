//! Finds the tasks of dead listeners, all of them, and gives each one place.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep;
use windlass_core::Result;

use super::survey::{Held, Survey};
use super::verdict::{Judge, Life, Verdict};
use super::{Queue, encode, scripts};
use crate::reply;

/// Why a task failed whose listener died while it ran.
const WORKER_LOST: &str = "worker_lost";

/// Long against the moment between two commands of an original, short for whoever waits.
const SETTLE_DEFAULT: Duration = Duration::from_secs(2);

/// Who counts as dead, and what becomes of what they started.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CleanOptions {
    /// Tasks that were started go to the front again; otherwise they are failed with `worker_lost`.
    pub retry_lost: bool,
    /// Listeners that somebody knows to be dead, on whatever machine.
    pub lost: Vec<String>,
    /// Tasks of originals on other machines are lost when nothing was heard of them for so long. A
    /// task that runs is silent: this must be longer than the longest.
    pub silence: Option<Duration>,
    /// Further names of this machine, by which originals here call themselves.
    pub hosts: Vec<String>,
    /// Numbers of processes tell nothing here: originals of the same host name run elsewhere, for
    /// example in containers of their own.
    pub ignores_pids: bool,
    /// How long nothing must happen to a task that an original may just be claiming.
    pub settle: Duration,
}

impl Default for CleanOptions {
    fn default() -> Self {
        Self {
            retry_lost: false,
            lost: Vec::new(),
            silence: None,
            hosts: Vec::new(),
            ignores_pids: false,
            settle: SETTLE_DEFAULT,
        }
    }
}

/// What was found and mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Cleaned {
    /// Tasks that are at the front of the queue again.
    pub requeued: u64,
    /// Tasks that were running, and are failed with `worker_lost`.
    pub failed: u64,
    /// Traces of tasks that have ended or are gone.
    pub stale: u64,
    /// Listeners that were declared lost.
    pub listeners: u64,
    /// Whether the number of listeners was wrong.
    pub is_recounted: bool,
}

/// What is lost.
#[derive(Debug, Default)]
pub(super) struct Lost {
    pub(super) tasks: Vec<Held>,
    listeners: BTreeSet<String>,
}

impl Queue {
    /// Brings back what dead listeners held: reserved tasks to the front, those that were started as
    /// the options say. Several may do this at once.
    pub async fn clean(&self, options: &CleanOptions) -> Result<Cleaned> {
        let miscounted = self.miscounted().await?;
        let mut lost = self.lost(options).await?;
        let mut cleaned = Cleaned::default();
        for held in &lost.tasks {
            match self.rescue(held, options).await?.as_str() {
                "requeued" => cleaned.requeued += 1,
                "failed" => cleaned.failed += 1,
                "stale" => cleaned.stale += 1,
                // Somebody was faster: it is looked at again next time.
                _ => {
                    lost.listeners.remove(&held.listener);
                }
            }
        }
        for listener in &lost.listeners {
            let args = vec![Bytes::from(listener.clone())];
            let forgotten = self.run(&scripts::FORGET, args).await?;
            cleaned.listeners += u64::try_from(reply::number(&forgotten)?).unwrap_or_default();
        }
        if let Some(before) = miscounted {
            cleaned.is_recounted = self.recount(&before, options).await?;
        }
        Ok(cleaned)
    }

    /// The tasks that are lost. Their listeners are condemned first, so that no original claims
    /// from them any more; what one may be claiming already is looked at twice.
    pub(super) async fn lost(&self, options: &CleanOptions) -> Result<Lost> {
        let survey = self.survey(&options.lost).await?;
        let judge = Judge::new(self.name(), &survey, options);
        let condemned = self.condemn(&survey, &judge, options).await?;
        let mut lost = Lost::default();
        let mut doubtful = BTreeSet::new();
        for held in &survey.held {
            match (judge.of(held), condemned.get(held.listener.as_str())) {
                (Verdict::Leave, _) | (_, Some(Condemned::Alive)) => {}
                (Verdict::Doubtful, _) | (_, Some(Condemned::Gone)) => {
                    doubtful.insert(held.clone());
                }
                (Verdict::Lost, _) => lost.tasks.push(held.clone()),
            }
        }
        let ours = condemned
            .iter()
            .filter(|(_, answer)| **answer == Condemned::Ours);
        lost.listeners = ours.map(|(name, _)| (*name).to_owned()).collect();
        if !doubtful.is_empty() {
            sleep(options.settle).await;
            let again = self.survey(&options.lost).await?;
            let judge = Judge::new(self.name(), &again, options);
            let is_settled =
                |held: &&Held| doubtful.contains(*held) && judge.of(held) != Verdict::Leave;
            lost.tasks
                .extend(again.held.iter().filter(is_settled).cloned());
        }
        Ok(lost)
    }

    async fn condemn<'a>(
        &self,
        survey: &'a Survey,
        judge: &Judge<'_>,
        options: &CleanOptions,
    ) -> Result<BTreeMap<&'a str, Condemned>> {
        let mut condemned = BTreeMap::new();
        for listener in survey.listeners() {
            if judge.life(listener) != Life::Lost {
                continue;
            }
            let is_told = options.lost.iter().any(|told| told == listener);
            let told = if is_told { "told" } else { "" };
            let args = vec![Bytes::from(listener.to_owned()), Bytes::from(told)];
            let word = reply::text(self.run(&scripts::CONDEMN, args).await?)?;
            let answer = match word.as_str() {
                "ours" => Condemned::Ours,
                "alive" => Condemned::Alive,
                _ => Condemned::Gone,
            };
            condemned.insert(listener, answer);
        }
        Ok(condemned)
    }

    async fn rescue(&self, held: &Held, options: &CleanOptions) -> Result<String> {
        let mut args = held.as_seen();
        let word = if options.retry_lost { "retry" } else { "fail" };
        args.push(Bytes::from_static(word.as_bytes()));
        args.push(encode(self.blueque.layout, WORKER_LOST));
        reply::text(self.run(&scripts::RESCUE, args).await?)
    }

    /// The figure of this queue and the number of its listeners, where they differ.
    async fn miscounted(&self) -> Result<Option<(String, u64)>> {
        let figures = self.figures().await?;
        let figure = figures.figure.unwrap_or_default();
        let is_right = match figure.parse::<f64>() {
            #[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 listeners")]
            Ok(number) => (number - figures.listeners as f64).abs() < 0.5,
            Err(_) => figures.listeners == 0,
        };
        Ok((!is_right).then_some((figure, figures.listeners)))
    }

    /// An original that removes a listener needs two commands: only what is wrong for longer is
    /// mended.
    async fn recount(&self, before: &(String, u64), options: &CleanOptions) -> Result<bool> {
        let Some(at_first) = self.miscounted().await? else {
            return Ok(false);
        };
        sleep(options.settle).await;
        // By the change we made ourselves both may have moved, but not apart.
        let Some(now) = self.miscounted().await? else {
            return Ok(false);
        };
        if now != at_first && now != *before {
            return Ok(false);
        }
        let (figure, listeners) = now;
        let args = vec![Bytes::from(figure), Bytes::from(listeners.to_string())];
        Ok(reply::number(&self.run(&scripts::COUNT, args).await?)? == 1)
    }
}

/// What came of declaring a listener lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condemned {
    Ours,
    /// It gave a sign of life meanwhile.
    Alive,
    /// An original removed it first.
    Gone,
}

impl Held {
    /// What a script compares, so that it changes only what was judged.
    pub(super) fn as_seen(&self) -> Vec<Bytes> {
        let seen = [
            &self.id,
            &self.listener,
            &self.entry,
            &self.status,
            &self.updated,
            &self.reclaimed,
        ];
        seen.map(|text| Bytes::from(text.clone())).to_vec()
    }
}
