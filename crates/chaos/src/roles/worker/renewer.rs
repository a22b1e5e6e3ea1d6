//! Renews what a worker holds, beside its work.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_chaos::LEASE;
use windlass_chaos::event::Event;
use windlass_core::{BootId, Renewal, Result, Store, Token};

use crate::roles::Scene;

#[derive(Debug, Default)]
struct Holdings {
    tokens: Vec<Token>,
    settled: u64,
    is_paused: bool,
}

#[derive(Debug)]
pub(super) struct Renewer(Arc<Mutex<Holdings>>);

impl Renewer {
    /// Renews five times within a lease, from now on.
    pub(super) fn start(scene: Scene, boot: BootId) -> Self {
        let renewer = Self(Arc::default());
        let holdings = renewer.0.clone();
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(LEASE / 5);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                if let Err(error) = renew(&scene, &boot, &holdings).await {
                    scene
                        .voice
                        .fault(format!("renew: {}: {error}", error.code()));
                }
            }
        });
        renewer
    }

    /// A claim was answered, and handed out `token` if it is to be kept.
    pub(super) fn settled(&self, seq: u64, token: Option<Token>) {
        let mut holdings = lock(&self.0);
        holdings.settled = seq;
        holdings.tokens.extend(token);
    }

    /// A claim is done with.
    pub(super) fn dropped(&self, token: Token) {
        lock(&self.0).tokens.retain(|held| *held != token);
    }

    /// Stops renewing, as a process that hangs does, or goes on.
    pub(super) fn pause(&self, is_paused: bool) {
        lock(&self.0).is_paused = is_paused;
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
    let renewed = match scene.store.renew(&scene.queue, renewal, LEASE).await {
        Err(error) if error.is_transient() => {
            scene.voice.trouble(&error);
            return Ok(());
        }
        answer => answer?,
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
