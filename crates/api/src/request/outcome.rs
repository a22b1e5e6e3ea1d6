//! complete, fail, release, snooze: how a held job leaves its claim. Each takes one job, or many.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::{
    Completion, Due, Error as CoreError, Failure, JobId, JobLease, OutcomeStatus, QueueName,
    Result, Retry, Snooze as CoreSnooze, Store, duration,
};

use super::claim::hold;
use super::{Answer, Claim, QueueRequest};
use crate::claim::{ClaimReply, SettleReply};
use crate::content::{self, Text};
use crate::enqueue::due;
use crate::error::Error;

/// How one job answered, or each of many.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SettleAnswer {
    /// The one job that was named.
    One(SettleReply),
    /// Each of the jobs, in the order of the request; and what was claimed in the same step. Of one
    /// job too where a claim was asked for: a refusal would hide what was claimed.
    Many {
        /// `outcome` may be `lease_lost` or `gone`.
        jobs: Vec<SettleReply>,
        /// The next jobs, where they were asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        claimed: Option<Vec<ClaimReply>>,
    },
}

/// One job or many: what was named, and whether it was one. What is said `beside` many jobs would
/// be said of none.
fn items<T>(one: Option<T>, many: Option<Vec<T>>, beside: bool) -> Result<(Vec<T>, bool)> {
    let help = "set either id and token, or jobs";
    match (one, many) {
        (Some(one), None) => Ok((vec![one], true)),
        (None, Some(_)) if beside => Err(CoreError::invalid(
            "request",
            "result, error, permanent and delay belong to one job",
            "move them into each entry of jobs",
        )),
        (None, Some(many)) => Ok((many, false)),
        (None, None) => Err(CoreError::invalid("request", "no job selected", help)),
        (Some(_), Some(_)) => Err(CoreError::invalid(
            "request",
            "both a job and jobs are set",
            help,
        )),
    }
}

fn both<T>(
    id: Option<String>,
    token: Option<String>,
    of: impl FnOnce(String, String) -> T,
) -> Option<T> {
    match (id, token) {
        (None, None) => None,
        // An absent one is an empty one, and refused as such.
        (id, token) => Some(of(id.unwrap_or_default(), token.unwrap_or_default())),
    }
}

fn answer(
    queue: &QueueName,
    ids: &[JobId],
    settled: &[OutcomeStatus],
    is_one: bool,
    claimed: Option<Vec<ClaimReply>>,
) -> Answer<SettleAnswer> {
    if let (true, None, [id], [settled]) = (is_one, &claimed, ids, settled) {
        return match settled {
            OutcomeStatus::LeaseLost => Err(Error::lease_lost(id)),
            OutcomeStatus::Gone => Err(Error::gone(queue, id)),
            settled => Ok(SettleAnswer::One(SettleReply::settled(queue, id, *settled))),
        };
    }
    let pairs = ids.iter().zip(settled);
    Ok(SettleAnswer::Many {
        jobs: pairs
            .map(|(id, settled)| SettleReply::settled(queue, id, *settled))
            .collect(),
        claimed,
    })
}

fn ids<'a>(holds: impl Iterator<Item = &'a JobLease>) -> Vec<JobId> {
    holds.map(|hold| hold.id.clone()).collect()
}

/// Ends jobs well and, in the same step, may claim the next.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Complete {
    pub id: Option<String>,
    pub token: Option<String>,
    /// What the job leaves behind: a string stands for its bytes, any other JSON keeps its text.
    #[serde(deserialize_with = "content::present")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub result: Option<Text>,
    pub result_base64: Option<String>,
    pub jobs: Option<Vec<Done>>,
    /// Claim the next jobs in the same step; it does not wait.
    pub claim: Option<Claim>,
}

/// One job that is done.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Done {
    /// The job.
    pub id: String,
    /// The claim that holds it.
    pub token: String,
    /// What it leaves behind.
    #[serde(deserialize_with = "content::present")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub result: Option<Text>,
    /// The result as base64, for bytes that are no text.
    pub result_base64: Option<String>,
}

impl Done {
    fn completion(&self) -> Result<Completion> {
        let result = content::of(
            self.result.as_ref(),
            self.result_base64.as_deref(),
            "result",
        )?;
        Ok(Completion {
            lease: hold(&self.id, &self.token)?,
            result,
        })
    }
}

impl QueueRequest for Complete {
    const OP: &'static str = "complete";
    type Reply = SettleAnswer;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<SettleAnswer> {
        let (result, result_base64) = (self.result, self.result_base64);
        let beside = result.is_some() || result_base64.is_some();
        let one = both(self.id, self.token, |id, token| Done {
            id,
            token,
            result,
            result_base64,
        });
        let (done, is_one) = items(one, self.jobs, beside)?;
        let completions = done
            .iter()
            .map(Done::completion)
            .collect::<Result<Vec<_>>>()?;
        let ids = ids(completions.iter().map(|done| &done.lease));
        let next = self.claim.map(Claim::into_request).transpose()?;
        let next = next.map(|(request, _)| request);
        let asks = next.is_some();
        let completed = store.complete(queue, completions, next).await?;
        let claimed = asks.then(|| ClaimReply::all(queue, completed.next.as_ref()));
        answer(queue, &ids, &completed.statuses, is_one, claimed)
    }
}

/// Ends attempts badly: again later, or dead.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Fail {
    pub id: Option<String>,
    pub token: Option<String>,
    pub error: Option<String>,
    /// Never again.
    pub permanent: Option<bool>,
    /// Again after so long; the job's policy decides unless said.
    pub delay: Option<String>,
    pub jobs: Option<Vec<Failed>>,
}

/// One attempt that failed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Failed {
    /// The job.
    pub id: String,
    /// The claim that holds it.
    pub token: String,
    /// What went wrong, for people.
    pub error: String,
    /// Never again.
    pub permanent: Option<bool>,
    /// Again after so long.
    pub delay: Option<String>,
}

impl Failed {
    fn failure(self) -> Result<Failure> {
        let failure = hold(&self.id, &self.token)?.failure(self.error);
        match (self.permanent.unwrap_or(false), self.delay) {
            (false, None) => Ok(failure),
            (true, None) => Ok(failure.retry(Retry::Permanent)),
            (false, Some(delay)) => {
                let delay = duration::parse(&delay)?;
                Ok(failure.retry(Retry::At(Due::After(delay))))
            }
            (true, Some(_)) => Err(CoreError::invalid(
                "failure",
                "both permanent and delay are set",
                "set one of the two",
            )),
        }
    }
}

impl QueueRequest for Fail {
    const OP: &'static str = "fail";
    type Reply = SettleAnswer;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<SettleAnswer> {
        let (error, permanent, delay) = (self.error, self.permanent, self.delay);
        let beside = error.is_some() || permanent.is_some() || delay.is_some();
        let one = both(self.id, self.token, |id, token| Failed {
            id,
            token,
            error: error.unwrap_or_default(),
            permanent,
            delay,
        });
        let (failed, is_one) = items(one, self.jobs, beside)?;
        let failures = failed
            .into_iter()
            .map(Failed::failure)
            .collect::<Result<Vec<_>>>()?;
        let ids = ids(failures.iter().map(|failure| &failure.lease));
        let settled = store.fail(queue, failures).await?;
        answer(queue, &ids, &settled, is_one, None)
    }
}

/// Gives jobs back to the front, attempt not counted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Release {
    pub id: Option<String>,
    pub token: Option<String>,
    pub jobs: Option<Vec<HeldJob>>,
}

/// One held job.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HeldJob {
    /// The job.
    pub id: String,
    /// The claim that holds it.
    pub token: String,
}

impl QueueRequest for Release {
    const OP: &'static str = "release";
    type Reply = SettleAnswer;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<SettleAnswer> {
        let one = both(self.id, self.token, |id, token| HeldJob { id, token });
        let (held, is_one) = items(one, self.jobs, false)?;
        let holds = held.iter().map(|held| hold(&held.id, &held.token));
        let holds = holds.collect::<Result<Vec<_>>>()?;
        let ids = ids(holds.iter());
        let settled = store.release(queue, holds).await?;
        answer(queue, &ids, &settled, is_one, None)
    }
}

/// Puts a job off, attempt not counted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Snooze {
    pub id: String,
    pub token: String,
    /// For so long.
    pub delay: Option<String>,
    /// Until then; excludes `delay`.
    pub at: Option<crate::enqueue::Moment>,
}

impl QueueRequest for Snooze {
    const OP: &'static str = "snooze";
    type Reply = SettleAnswer;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<SettleAnswer> {
        let hold = hold(&self.id, &self.token)?;
        let at = self.at.map(|at| at.text());
        let due = due(self.delay.as_deref(), at.as_deref())?;
        if due == Due::Now {
            let error = CoreError::invalid("snooze", "no time set", "set delay or at");
            return Err(error.into());
        }
        let ids = vec![hold.id.clone()];
        let snoozes = vec![CoreSnooze { lease: hold, due }];
        let settled = store.snooze(queue, snoozes).await?;
        answer(queue, &ids, &settled, true, None)
    }
}
