//! Renews a worker's leases in the background.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::Event;
use tokio::task::JoinHandle;
use windlass_core::{BootId, Renewal, Result, Token};

use crate::roles::ActorContext;

#[derive(Debug, Default)]
struct HeldClaims {
    tokens: Vec<Token>,
    settled: u64,
    is_paused: bool,
}

/// Renews until it is dropped.
#[derive(Debug)]
pub(super) struct Renewer {
    held: Arc<Mutex<HeldClaims>>,
    task: JoinHandle<()>,
}

impl Renewer {
    /// Renews five times within a lease, from now on.
    pub(super) fn start(context: ActorContext, boot: BootId) -> Self {
        let held: Arc<Mutex<HeldClaims>> = Arc::default();
        let shared = Arc::clone(&held);
        let task = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(context.lease.get() / 5);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                if let Err(error) = renew(&context, &boot, &shared).await {
                    context
                        .events
                        .violation(format!("renew: {}: {error}", error.code()));
                }
            }
        });
        Self { held, task }
    }

    /// Records the reply to a claim; `token` is renewed from now on.
    pub(super) fn claim_replied(&self, seq: u64, token: Option<Token>) {
        let mut held = lock(&self.held);
        held.settled = seq;
        held.tokens.extend(token);
    }

    /// Removes a finished claim.
    pub(super) fn remove(&self, token: Token) {
        lock(&self.held).tokens.retain(|other| *other != token);
    }

    /// Pauses renewals, like a process that hangs, or resumes them.
    pub(super) fn pause(&self, is_paused: bool) {
        lock(&self.held).is_paused = is_paused;
    }
}

impl Drop for Renewer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn renew(context: &ActorContext, boot: &BootId, held: &Mutex<HeldClaims>) -> Result<()> {
    let (tokens, settled) = {
        let held = lock(held);
        if held.is_paused {
            return Ok(());
        }
        (held.tokens.clone(), held.settled)
    };
    context.events.log(Event::Renewing);
    let renewal = Renewal::Worker {
        boot: boot.clone(),
        tokens: tokens.clone(),
        settled,
    };
    let call = context.store.renew(&context.queue, renewal, context.lease);
    let Some(renewed) = context.once(call).await? else {
        return Ok(());
    };
    let unreached = renewed.unreached.unwrap_or_default();
    for token in tokens {
        let is_named = renewed.lost.contains(&token) || unreached.contains(&token);
        if renewed.until.is_some() && !is_named {
            context.events.log(Event::Renewed(token));
        }
    }
    Ok(())
}

fn lock(held: &Mutex<HeldClaims>) -> MutexGuard<'_, HeldClaims> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
