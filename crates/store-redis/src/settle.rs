//! complete, fail, release, snooze: how held jobs leave their claims.

use bytes::Bytes;
use redis::Value;
use windlass_core::limits::cut_message;
use windlass_core::time::as_ms;
use windlass_core::{
    Claim, ClaimRequest, Completed, Completion, Due, Failure, Hold, Result, Retry, Settled, Snooze,
};

use crate::claim::{Found, claim_args};
use crate::part::{Part, number, runs, words};
use crate::reply::{self, short};

impl Part {
    pub(crate) async fn complete(
        &self,
        completions: &[Completion],
        next: Option<&ClaimRequest>,
    ) -> Result<Completed> {
        let mut runs = runs(completions.iter().map(|item| item.hold.id.as_str()));
        let last = runs.pop().unwrap_or_default();
        let mut settled = Vec::with_capacity(completions.len());
        for run in runs {
            let told = self.complete_once(&completions[run], None).await?;
            settled.extend(told.settled);
        }
        let told = self.complete_once(&completions[last], next).await?;
        settled.extend(told.settled);
        Ok(Completed {
            settled,
            next: told.next,
        })
    }

    /// Completes jobs of which each is named once.
    async fn complete_once(
        &self,
        completions: &[Completion],
        next: Option<&ClaimRequest>,
    ) -> Result<Completed> {
        let mut args = vec![number(completions.len())];
        for item in completions {
            args.extend(hold_args(&item.hold));
            args.push(item.result.as_ref().map_or_else(Bytes::new, |result| {
                let mut marked = Vec::with_capacity(result.len() + 1);
                marked.push(b'=');
                marked.extend_from_slice(result);
                Bytes::from(marked)
            }));
        }
        args.extend(next.into_iter().flat_map(|next| claim_args(next, None)));
        let script = &self.scripts().complete;
        let mut reply = match next {
            None => self.list(script, args).await?,
            Some(next) => self.hand_out(script, args, &next.claimer).await?,
        };
        let settled = read_words(&reply.text()?, completions.len())?;
        let next = match next {
            None => None,
            Some(request) => self.next_claim(request, self.read_claim(reply)?).await?,
        };
        Ok(Completed { settled, next })
    }

    async fn next_claim(&self, request: &ClaimRequest, found: Found) -> Result<Option<Claim>> {
        match found {
            Found::Jobs(claim) => Ok(Some(claim)),
            Found::Nothing { .. } => Ok(None),
            Found::Stale => self.claim(request).await,
        }
    }

    pub(crate) async fn fail(&self, failures: &[Failure]) -> Result<Vec<Settled>> {
        let mut args = vec![number(failures.len())];
        for item in failures {
            args.extend(hold_args(&item.hold));
            args.push(words(cut_message(&item.error)));
            args.push(Bytes::from(match item.retry {
                Retry::ByPolicy(jitter) => format!("j{}", jitter.0),
                Retry::At(due) => format!("d{}", due_text(due)),
                Retry::Permanent => "p".to_owned(),
            }));
        }
        let reply = self.run(&self.scripts().fail, args).await?;
        settled(reply, failures.len())
    }

    pub(crate) async fn release(&self, holds: &[Hold]) -> Result<Vec<Settled>> {
        let mut args = vec![number(holds.len())];
        args.extend(holds.iter().flat_map(hold_args));
        let reply = self.run(&self.scripts().release, args).await?;
        settled(reply, holds.len())
    }

    pub(crate) async fn snooze(&self, snoozes: &[Snooze]) -> Result<Vec<Settled>> {
        let mut args = vec![number(snoozes.len())];
        for item in snoozes {
            args.extend(hold_args(&item.hold));
            args.push(Bytes::from(due_text(item.due)));
        }
        let reply = self.run(&self.scripts().snooze, args).await?;
        settled(reply, snoozes.len())
    }
}

fn hold_args(hold: &Hold) -> [Bytes; 2] {
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

fn settled(reply: Value, count: usize) -> Result<Vec<Settled>> {
    read_words(&reply::text(reply)?, count)
}

fn read_words(text: &str, count: usize) -> Result<Vec<Settled>> {
    let words: Option<Vec<_>> = text
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(Settled::from_word)
        .collect();
    match words {
        Some(words) if words.len() == count => Ok(words),
        _ => Err(short("its answers are not one for each hold")),
    }
}
