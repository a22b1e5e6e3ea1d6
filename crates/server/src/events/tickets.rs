//! One-time tickets for event streams: a browser's `EventSource` cannot send headers, and tokens must
//! not be put into URLs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::time::{Duration, Instant};
use windlass_api::Code;

use crate::caller::Caller;
use crate::error::HttpError;
use crate::handlers::{HandlerResult, json};
use crate::state::AppState;

/// How long a ticket is valid.
const VALID_FOR: Duration = Duration::from_secs(30);

/// The most unused tickets per token.
const PER_TOKEN_MAX: usize = 100;

/// The most unused tickets of the server.
const TOTAL_MAX: usize = 10_000;

/// A ticket for one event stream.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TicketReply {
    /// Pass it as `/v1/events?ticket=…`. It can be used once.
    pub(crate) ticket: String,
    /// How long the ticket is valid, in milliseconds.
    pub(crate) expires_in_ms: u64,
}

/// Unused tickets by digest, so that a look-up does not compare secrets.
#[derive(Debug, Default)]
pub(crate) struct Tickets(Mutex<HashMap<[u8; 32], (Instant, Caller)>>);

impl Tickets {
    /// Issues a ticket for a caller.
    fn issue(&self, caller: Caller) -> Result<TicketReply, HttpError> {
        let ticket = generate()?;
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        tickets.retain(|_, (until, _)| *until > now);
        let is_same = |other: &Caller| Arc::ptr_eq(&other.limiter, &caller.limiter);
        let same = tickets.values().filter(|(_, other)| is_same(other)).count();
        if same >= PER_TOKEN_MAX {
            let why = "too many unused tickets for this token";
            let help = "use them, or wait until they expire";
            return Err(HttpError::new(Code::TooManyRequests, why, help).retry_after(VALID_FOR));
        }
        if tickets.len() >= TOTAL_MAX {
            let why = "too many unused tickets on this server";
            return Err(HttpError::new(
                Code::Overloaded,
                why,
                "retry in a few seconds",
            ));
        }
        tickets.insert(digest(&ticket), (now + VALID_FOR, caller));
        drop(tickets);
        Ok(TicketReply {
            ticket,
            expires_in_ms: windlass_core::time::as_ms(VALID_FOR),
        })
    }

    /// Returns the caller of a ticket, and invalidates the ticket.
    pub(crate) fn redeem(&self, ticket: &str) -> Option<Caller> {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, caller) = tickets.remove(&digest(ticket))?;
        (until > Instant::now()).then_some(caller)
    }
}

fn digest(ticket: &str) -> [u8; 32] {
    Sha256::digest(ticket.as_bytes()).into()
}

/// Returns 128 random bits as hex.
fn generate() -> Result<String, HttpError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let why = format!("cannot read random bytes: {error}");
        HttpError::new(Code::Internal, why, "check /dev/urandom on the server")
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Issues a ticket.
pub(crate) fn issue(state: &AppState, caller: Caller) -> HandlerResult {
    json(&state.tickets.issue(caller)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Limits;
    use crate::scope::Grant;

    fn caller() -> Caller {
        Caller::new(Grant::all(), Limits::of(None, 1))
    }

    #[tokio::test(start_paused = true)]
    async fn a_ticket_is_valid_once_and_for_30_seconds() {
        let tickets = Tickets::default();
        let (used, late) = (caller(), caller());
        let used = tickets.issue(used).unwrap().ticket;
        let late = tickets.issue(late).unwrap().ticket;

        assert_eq!(used.len(), 32);
        assert_ne!(used, late);
        assert!(tickets.redeem(&used).is_some());
        assert!(tickets.redeem(&used).is_none());
        tokio::time::advance(VALID_FOR).await;
        assert!(tickets.redeem(&late).is_none());
        assert!(tickets.redeem("").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_unused_tickets_of_one_token_are_bounded() {
        let tickets = Tickets::default();
        let (greedy, other) = (caller(), caller());
        for _ in 0..PER_TOKEN_MAX {
            tickets.issue(greedy.clone()).unwrap();
        }

        assert_eq!(tickets.issue(greedy.clone()).unwrap_err().status, 429);
        assert!(tickets.issue(other).is_ok());
        tokio::time::advance(VALID_FOR).await;
        assert!(tickets.issue(greedy).is_ok());
    }
}
