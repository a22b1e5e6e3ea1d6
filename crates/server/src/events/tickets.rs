//! One-time tickets for streams of events: a browser's `EventSource` can send no header, and a
//! token does not belong into a URL.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::time::{Duration, Instant};

use crate::caller::Pass;
use crate::error::Refusal;
use crate::handlers::{Answered, json};
use crate::state::Door;

/// How long a ticket is good.
const LIFE: Duration = Duration::from_secs(30);

/// How many unused tickets one token has at most.
const OF_TOKEN_MAX: usize = 100;

/// How many unused tickets there are at most.
const ALL_MAX: usize = 10_000;

/// A ticket, for the one who asked for it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TicketReply {
    /// Opens one stream: `/v1/events?ticket=…`.
    pub(crate) ticket: String,
    /// How long it is good.
    pub(crate) expires_in_ms: u64,
}

/// Tickets that were given out and not used, by their digests: a look-up compares no secret.
#[derive(Debug, Default)]
pub(crate) struct Tickets(Mutex<HashMap<[u8; 32], (Instant, Pass)>>);

impl Tickets {
    /// A new ticket that stands for this pass.
    fn issue(&self, pass: Pass) -> Result<TicketReply, Refusal> {
        let ticket = draw()?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        all.retain(|_, (until, _)| *until > now);
        let is_same = |other: &Pass| Arc::ptr_eq(&other.meter, &pass.meter);
        let same = all.values().filter(|(_, other)| is_same(other)).count();
        if same >= OF_TOKEN_MAX {
            let why = "the token has too many tickets that were not used";
            let help = "use them, or wait until they have run out";
            return Err(Refusal::new("too_many_requests", why, help).after(LIFE));
        }
        if all.len() >= ALL_MAX {
            let why = "too many tickets were given out and not used";
            return Err(Refusal::new("overloaded", why, "try again in a moment"));
        }
        all.insert(digest(&ticket), (now + LIFE, pass));
        drop(all);
        Ok(TicketReply {
            ticket,
            expires_in_ms: windlass_core::time::as_ms(LIFE),
        })
    }

    /// The pass that a ticket stands for; it is used up by this.
    pub(crate) fn redeem(&self, ticket: &str) -> Option<Pass> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, pass) = all.remove(&digest(ticket))?;
        (until > Instant::now()).then_some(pass)
    }
}

fn digest(ticket: &str) -> [u8; 32] {
    Sha256::digest(ticket.as_bytes()).into()
}

/// 128 bits that nobody can guess, as hex.
fn draw() -> Result<String, Refusal> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let why = format!("the system gives no random numbers: {error}");
        Refusal::new("internal", why, "look at the system's /dev/urandom")
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Gives out a ticket.
pub(crate) fn answer(door: &Door, pass: Pass) -> Answered {
    json(&door.tickets.issue(pass)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Grant;

    fn pass() -> Pass {
        Pass::new(Grant::all(), None, 1)
    }

    #[tokio::test(start_paused = true)]
    async fn a_ticket_is_good_once_and_for_half_a_minute() {
        let tickets = Tickets::default();
        let (used, late) = (pass(), pass());
        let used = tickets.issue(used).unwrap().ticket;
        let late = tickets.issue(late).unwrap().ticket;

        assert_eq!(used.len(), 32);
        assert_ne!(used, late);
        assert!(tickets.redeem(&used).is_some());
        assert!(tickets.redeem(&used).is_none());
        tokio::time::advance(LIFE).await;
        assert!(tickets.redeem(&late).is_none());
        assert!(tickets.redeem("").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn one_token_cannot_draw_tickets_without_end() {
        let tickets = Tickets::default();
        let (greedy, other) = (pass(), pass());
        for _ in 0..OF_TOKEN_MAX {
            tickets.issue(greedy.clone()).unwrap();
        }

        assert_eq!(tickets.issue(greedy.clone()).unwrap_err().status, 429);
        assert!(tickets.issue(other).is_ok());
        tokio::time::advance(LIFE).await;
        assert!(tickets.issue(greedy).is_ok());
    }
}
