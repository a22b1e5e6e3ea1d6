//! complete, fail, release, snooze: how held jobs leave their claims.

use std::collections::HashMap;

use bytes::Bytes;
use redis::Value;
use windlass_core::limits::truncate_message;
use windlass_core::time::as_ms;
use windlass_core::{
    Claim, ClaimRequest, Completed, Completion, Due, Failure, JobLease, OutcomeStatus, Result,
    Retry, Snooze, Token,
};

use crate::claim::{Found, claim_args};
use crate::partition::{Part, number, runs, words};
use crate::reply::{self, short};

impl Part {
    pub(crate) async fn complete(
        &self,
        completions: &[Completion],
        next: Option<&ClaimRequest>,
    ) -> Result<Completed> {
        let mut runs = runs(completions.iter().map(|item| item.lease.id.as_str()));
        let last = runs.pop().unwrap_or_default();
        let mut settled = Vec::with_capacity(completions.len());
        for run in runs {
            let told = self.complete_once(&completions[run], None).await?;
            settled.extend(told.statuses);
        }
        let told = self.complete_once(&completions[last], next).await?;
        settled.extend(told.statuses);
        Ok(Completed {
            statuses: settled,
            next: told.next,
        })
    }

    /// Completes jobs of which each is named once.
    async fn complete_once(
        &self,
        completions: &[Completion],
        next: Option<&ClaimRequest>,
    ) -> Result<Completed> {
        let by_claim = by_claim(completions);
        let mut args = completion_args(completions, &by_claim);
        args.extend(next.into_iter().flat_map(|next| claim_args(next, None)));
        let script = &self.scripts().complete;
        let mut reply = match next {
            None => self.list(script, args).await?,
            Some(next) => self.hand_out(script, args, &next.claimer).await?,
        };
        let settled = read_completed(&reply.text()?, &by_claim)?;
        let next = match next {
            None => None,
            Some(request) => self.next_claim(request, self.read_claim(reply)?).await?,
        };
        Ok(Completed {
            statuses: settled,
            next,
        })
    }

    async fn next_claim(&self, request: &ClaimRequest, found: Found) -> Result<Option<Claim>> {
        match found {
            Found::Jobs(claim) => Ok(Some(claim)),
            Found::Nothing { .. } => Ok(None),
            Found::Stale => self.claim(request).await,
        }
    }

    pub(crate) async fn fail(&self, failures: &[Failure]) -> Result<Vec<OutcomeStatus>> {
        let mut args = vec![number(failures.len())];
        for item in failures {
            args.extend(hold_args(&item.lease));
            args.push(words(truncate_message(&item.error)));
            args.push(Bytes::from(match item.retry {
                Retry::ByPolicy(jitter) => format!("j{}", jitter.0),
                Retry::At(due) => format!("d{}", due_text(due)),
                Retry::Permanent => "p".to_owned(),
            }));
        }
        let reply = self.run(&self.scripts().fail, args).await?;
        settled(reply, failures.len())
    }

    pub(crate) async fn release(&self, holds: &[JobLease]) -> Result<Vec<OutcomeStatus>> {
        let mut args = vec![number(holds.len())];
        args.extend(holds.iter().flat_map(hold_args));
        let reply = self.run(&self.scripts().release, args).await?;
        settled(reply, holds.len())
    }

    pub(crate) async fn snooze(&self, snoozes: &[Snooze]) -> Result<Vec<OutcomeStatus>> {
        let mut args = vec![number(snoozes.len())];
        for item in snoozes {
            args.extend(hold_args(&item.lease));
            args.push(Bytes::from(due_text(item.due)));
        }
        let reply = self.run(&self.scripts().snooze, args).await?;
        settled(reply, snoozes.len())
    }
}

/// The places of completions, claim by claim: a batch mostly comes from few of them.
fn by_claim(completions: &[Completion]) -> Vec<(Token, Vec<usize>)> {
    let mut claims: Vec<(Token, Vec<usize>)> = Vec::new();
    let mut found: HashMap<Token, usize> = HashMap::new();
    for (place, item) in completions.iter().enumerate() {
        let token = item.lease.token;
        // Neighbours are mostly of one claim.
        let is_last = claims.last().is_some_and(|(last, _)| *last == token);
        let at = if is_last {
            claims.len() - 1
        } else {
            *found.entry(token).or_insert(claims.len())
        };
        match claims.get_mut(at) {
            Some((_, places)) => places.push(place),
            None => claims.push((token, vec![place])),
        }
    }
    claims
}

/// Completions as the script takes them: claims, ids, and the results that there are.
fn completion_args(completions: &[Completion], by_claim: &[(Token, Vec<usize>)]) -> Vec<Bytes> {
    let mut args = Vec::with_capacity(completions.len() + 2 * by_claim.len() + 10);
    args.push(number(by_claim.len()));
    for (token, places) in by_claim {
        args.push(number(token));
        args.push(number(places.len()));
    }
    let items = by_claim.iter().flat_map(|(_, places)| places);
    let items: Vec<&Completion> = items.map(|place| &completions[*place]).collect();
    args.extend(items.iter().map(|item| words(item.lease.id.as_str())));
    let results = items.iter().zip(1..);
    let results = results.filter_map(|(item, place)| Some((place, item.result.as_ref()?)));
    let results: Vec<(usize, &Bytes)> = results.collect();
    args.push(number(results.len()));
    for (place, result) in results {
        args.extend([number(place), result.clone()]);
    }
    args
}

/// The words of completions, put back in the callers' order; one word may stand for all.
fn read_completed(text: &str, by_claim: &[(Token, Vec<usize>)]) -> Result<Vec<OutcomeStatus>> {
    let count = by_claim.iter().map(|(_, places)| places.len()).sum();
    if text == "completed" {
        return Ok(vec![OutcomeStatus::Completed; count]);
    }
    let words = read_words(text, count)?;
    let places = by_claim.iter().flat_map(|(_, places)| places);
    let mut settled = vec![OutcomeStatus::Gone; count];
    for (place, word) in places.zip(words) {
        settled[*place] = word;
    }
    Ok(settled)
}

fn hold_args(hold: &JobLease) -> [Bytes; 2] {
    [words(hold.id.as_str()), number(hold.token)]
}

/// A due time as the scripts take it: `MS`, or `+MS` from now.
fn due_text(due: Due) -> String {
    match due {
        Due::Now => "+0".to_owned(),
        Due::After(delay) => format!("+{}", as_ms(delay)),
        Due::At(at) => at.as_ms().to_string(),
    }
}

fn settled(reply: Value, count: usize) -> Result<Vec<OutcomeStatus>> {
    read_words(&reply::text(reply)?, count)
}

fn read_words(text: &str, count: usize) -> Result<Vec<OutcomeStatus>> {
    let words: Option<Vec<_>> = text
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(OutcomeStatus::from_text)
        .collect();
    match words {
        Some(words) if words.len() == count => Ok(words),
        _ => Err(short("its answers are not one for each hold")),
    }
}
