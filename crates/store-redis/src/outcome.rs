//! complete, fail, release, snooze: reports the outcomes of claimed jobs.

use std::collections::HashMap;

use bytes::Bytes;
use windlass_core::error_group::{example, normalize};
use windlass_core::limits::truncate_message;
use windlass_core::store::{Completed, Completion, Failure, Retry, Snooze};
use windlass_core::time::as_ms;
use windlass_core::{ClaimRequest, Due, JobLease, OutcomeStatus, Result, Token};
use windlass_redis_link::Resend;
use windlass_redis_link::reply::{self, Reply, unexpected_reply};

use crate::claim::{Found, claim_args};
use crate::codec::names::{RETRY_AT, RETRY_BY_POLICY, RETRY_NEVER};
use crate::partition::{Partition, distinct_runs, number_arg, text_arg};
use crate::script::Script;

impl Partition {
    pub(crate) async fn complete(
        &self,
        completions: &[Completion],
        next: Option<&ClaimRequest>,
    ) -> Result<Completed> {
        let mut runs = distinct_runs(completions.iter().map(|item| item.lease.id.as_str()));
        let last = runs.pop().unwrap_or_default();
        if let (Some(next), false) = (next, runs.is_empty()) {
            self.check_mode(next.mode).await?;
        }
        let mut statuses = Vec::with_capacity(completions.len());
        for run in runs {
            let completed = self.complete_once(&completions[run], None).await?;
            statuses.extend(completed.statuses);
        }
        let completed = self.complete_once(&completions[last], next).await?;
        statuses.extend(completed.statuses);
        Ok(Completed {
            statuses,
            next: completed.next,
        })
    }

    /// Completes jobs with distinct ids.
    async fn complete_once(
        &self,
        completions: &[Completion],
        next: Option<&ClaimRequest>,
    ) -> Result<Completed> {
        let by_claim = by_claim(completions);
        let mut args = completion_args(completions, &by_claim);
        args.extend(next.into_iter().flat_map(|next| claim_args(next, None)));
        let has_results = completions.iter().any(|item| item.result.is_some());
        let Some(request) = next else {
            let (reply, unconfirmed) = self.settle(args, Resend::Safe, !has_results).await?;
            if let Some(error) = unconfirmed {
                return Err(error);
            }
            let statuses = read_completed(&Reply::list(reply)?.text()?, &by_claim)?;
            return Ok(Completed {
                statuses,
                next: None,
            });
        };
        let (statuses, (reply, unconfirmed)) = self.hand_out(args, request, !has_results).await?;
        let statuses = read_completed(&statuses, &by_claim)?;
        let handed_out = (reply, unconfirmed.clone());
        let found = self.read_claim(request, handed_out).await?;
        if let Some(error) = unconfirmed {
            return Err(error);
        }
        let next = match found {
            Found::Jobs { claim, .. } => Some(claim),
            Found::Nothing { .. } => None,
            Found::Again => self.claim(request).await?,
        };
        Ok(Completed { statuses, next })
    }

    /// Runs the script of fail, release or snooze.
    pub(crate) async fn report(
        &self,
        script: &'static Script,
        outcomes: &[EncodedOutcome],
    ) -> Result<Vec<OutcomeStatus>> {
        let reply = self.run_confirmed(script, outcome_args(outcomes)).await?;
        read_statuses(&reply::text(reply)?, outcomes.len())
    }
}

/// The outcome of one job as arguments of its script: its id, its token, and what the verb adds.
#[derive(Debug, Clone)]
pub(crate) struct EncodedOutcome {
    pub(crate) token: Token,
    args: Vec<Bytes>,
}

impl EncodedOutcome {
    pub(crate) fn fail(item: &Failure) -> Self {
        let retry = match item.retry {
            Retry::ByPolicy(jitter) => format!("{RETRY_BY_POLICY}{}", jitter.0),
            Retry::At(due) => format!("{RETRY_AT}{}", due_text(due)),
            Retry::Permanent => RETRY_NEVER.to_string(),
        };
        let error = truncate_message(&item.error);
        let args = [
            text_arg(error),
            Bytes::from(retry),
            Bytes::from(normalize(error)),
            number_arg(example(error).len()),
        ];
        Self::new(&item.lease, args)
    }

    pub(crate) fn release(lease: &JobLease) -> Self {
        Self::new(lease, [])
    }

    pub(crate) fn snooze(item: &Snooze) -> Self {
        let scope = text_arg(item.scope.as_str());
        Self::new(&item.lease, [Bytes::from(due_text(item.due)), scope])
    }

    fn new<const N: usize>(lease: &JobLease, more: [Bytes; N]) -> Self {
        Self {
            token: lease.token,
            args: lease_args(lease, more),
        }
    }
}

/// The id and the token of a lease, and more, as arguments.
pub(crate) fn lease_args<const N: usize>(lease: &JobLease, more: [Bytes; N]) -> Vec<Bytes> {
    let mut args = vec![text_arg(lease.id.as_str()), number_arg(lease.token)];
    args.extend(more);
    args
}

/// The arguments of fail, release or snooze.
pub(crate) fn outcome_args(outcomes: &[EncodedOutcome]) -> Vec<Bytes> {
    let mut args = vec![number_arg(outcomes.len())];
    args.extend(outcomes.iter().flat_map(|outcome| outcome.args.clone()));
    args
}

/// The indexes of completions by claim: the jobs of a batch come from few claims.
fn by_claim(completions: &[Completion]) -> Vec<(Token, Vec<usize>)> {
    let mut claims: Vec<(Token, Vec<usize>)> = Vec::new();
    let mut found: HashMap<Token, usize> = HashMap::new();
    for (index, item) in completions.iter().enumerate() {
        let token = item.lease.token;
        // Neighbours are usually of one claim.
        let is_last = claims.last().is_some_and(|(last, _)| *last == token);
        let at = if is_last {
            claims.len() - 1
        } else {
            *found.entry(token).or_insert(claims.len())
        };
        match claims.get_mut(at) {
            Some((_, indexes)) => indexes.push(index),
            None => claims.push((token, vec![index])),
        }
    }
    claims
}

/// The arguments for completions: claims, ids, and results.
fn completion_args(completions: &[Completion], by_claim: &[(Token, Vec<usize>)]) -> Vec<Bytes> {
    let mut args = Vec::with_capacity(completions.len() + 2 * by_claim.len() + 10);
    args.push(number_arg(by_claim.len()));
    for (token, indexes) in by_claim {
        args.push(number_arg(token));
        args.push(number_arg(indexes.len()));
    }
    let items = by_claim.iter().flat_map(|(_, indexes)| indexes);
    let items: Vec<&Completion> = items.map(|index| &completions[*index]).collect();
    args.extend(items.iter().map(|item| text_arg(item.lease.id.as_str())));
    let results = items.iter().zip(1..);
    let results = results.filter_map(|(item, index)| Some((index, item.result.as_ref()?)));
    let results: Vec<(usize, &Bytes)> = results.collect();
    args.push(number_arg(results.len()));
    for (index, result) in results {
        args.extend([number_arg(index), result.clone()]);
    }
    args
}

/// Decodes the statuses of completions and restores the caller's order; one status may stand for all.
fn read_completed(text: &str, by_claim: &[(Token, Vec<usize>)]) -> Result<Vec<OutcomeStatus>> {
    let count = by_claim.iter().map(|(_, indexes)| indexes.len()).sum();
    if text == "completed" {
        return Ok(vec![OutcomeStatus::Completed; count]);
    }
    let by_claim_order = read_statuses(text, count)?;
    let indexes = by_claim.iter().flat_map(|(_, indexes)| indexes);
    let mut statuses = vec![OutcomeStatus::Gone; count];
    for (index, status) in indexes.zip(by_claim_order) {
        statuses[*index] = status;
    }
    Ok(statuses)
}

/// A due time as an argument: `MS`, or `+MS` from now.
fn due_text(due: Due) -> String {
    match due {
        Due::Now => "+0".to_owned(),
        Due::After(delay) => format!("+{}", as_ms(delay)),
        Due::At(at) => at.as_ms().to_string(),
    }
}

fn read_statuses(text: &str, count: usize) -> Result<Vec<OutcomeStatus>> {
    let statuses: Option<Vec<_>> = text
        .split(' ')
        .filter(|status| !status.is_empty())
        .map(OutcomeStatus::from_text)
        .collect();
    match statuses {
        Some(statuses) if statuses.len() == count => Ok(statuses),
        Some(statuses) => {
            let got = statuses.len();
            Err(unexpected_reply(&format!(
                "expected {count} statuses, got {got}"
            )))
        }
        None => Err(unexpected_reply("it has an unknown status")),
    }
}
