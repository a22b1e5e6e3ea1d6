//! Renews what a worker holds, beside its work.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::LEASE;
use crate::event::Event;
use tokio::task::JoinHandle;
use windlass_core::{BootId, Renewal, Result, Token};

use crate::roles::Scene;

#[derive(Debug, Default)]
struct Holdings {
    tokens: Vec<Token>,
    settled: u64,
    is_paused: bool,
}

/// Renews until it is dropped.
#[derive(Debug)]
pub(super) struct Renewer {
    holdings: Arc<Mutex<Holdings>>,
    task: JoinHandle<()>,
}

impl Renewer {
    /// Renews five times within a lease, from now on.
    pub(super) fn start(scene: Scene, boot: BootId) -> Self {
        let holdings: Arc<Mutex<Holdings>> = Arc::default();
        let shared = Arc::clone(&holdings);
        let task = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(LEASE / 5);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                if let Err(error) = renew(&scene, &boot, &shared).await {
                    scene
                        .voice
                        .fault(format!("renew: {}: {error}", error.code()));
                }
            }
        });
        Self { holdings, task }
    }

    /// A claim was answered, and handed out `token` if it is to be kept.
    pub(super) fn settled(&self, seq: u64, token: Option<Token>) {
        let mut holdings = lock(&self.holdings);
        holdings.settled = seq;
        holdings.tokens.extend(token);
    }

    /// A claim is done with.
    pub(super) fn dropped(&self, token: Token) {
        lock(&self.holdings).tokens.retain(|held| *held != token);
    }

    /// Stops renewing, as a process that hangs does, or goes on.
    pub(super) fn pause(&self, is_paused: bool) {
        lock(&self.holdings).is_paused = is_paused;
    }
}

impl Drop for Renewer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn renew(scene: &Scene, boot: &BootId, holdings: &Mutex<Holdings>) -> Result<()> {
    let (tokens, settled) = {
        let holdings = lock(holdings);
        if holdings.is_paused {
            return Ok(());
        }
        (holdings.tokens.clone(), holdings.settled)
    };
    scene.voice.say(Event::Renewing);
    let renewal = Renewal::Worker {
        boot: boot.clone(),
        tokens: tokens.clone(),
        settled,
    };
    let call = scene.store.renew(&scene.queue, renewal, LEASE);
    let Some(renewed) = scene.once(call).await? else {
        return Ok(());
    };
    for token in tokens {
        if renewed.until.is_some() && !renewed.lost.contains(&token) {
            scene.voice.say(Event::Renewed(token));
        }
    }
    Ok(())
}

fn lock(holdings: &Mutex<Holdings>) -> MutexGuard<'_, Holdings> {
    holdings.lock().unwrap_or_else(PoisonError::into_inner)
}
