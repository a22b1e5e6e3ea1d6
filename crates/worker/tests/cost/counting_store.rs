//! A memory store that counts calls by method, and records renewals.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use windlass_core::store::{Notification, Watch};
use windlass_core::{Renewal, Result};

use crate::tapped_store::{StoreFuture, Tap, TappedStore};

/// A renewal: when it arrived, and how many claims it named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedRenewal {
    pub(crate) at: Instant,
    pub(crate) claims: usize,
}

/// A memory store that counts calls.
pub(crate) type CountingStore = TappedStore<Calls>;

/// The calls so far.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: Mutex<BTreeMap<&'static str, u32>>,
    renewals: watch::Sender<Vec<RecordedRenewal>>,
}

impl CountingStore {
    pub(crate) fn new() -> Self {
        Self::with(Calls::default())
    }

    /// The number of calls of each method.
    pub(crate) fn calls(&self) -> BTreeMap<&'static str, u32> {
        self.tap.calls.lock().unwrap().clone()
    }

    /// All renewals so far, as a watch.
    pub(crate) fn renewals(&self) -> watch::Receiver<Vec<RecordedRenewal>> {
        self.tap.renewals.subscribe()
    }
}

impl Tap for Calls {
    /// About that of a server, so that calls are batched in the same way.
    const ROUND_TRIP: Duration = Duration::from_millis(2);

    fn call(&self, verb: &'static str) -> Result<()> {
        *self.calls.lock().unwrap().entry(verb).or_default() += 1;
        Ok(())
    }

    fn renewal(&self, renewal: &Renewal) {
        if let Renewal::Worker { tokens, .. } = renewal {
            let renewing = RecordedRenewal {
                at: Instant::now(),
                claims: tokens.len(),
            };
            self.renewals.send_modify(|all| all.push(renewing));
        }
    }

    fn cancels(&self) -> Box<dyn Watch> {
        Box::new(NeverNotifies)
    }
}

/// A watch without notifications: no job is cancelled here.
#[derive(Debug)]
struct NeverNotifies;

impl Watch for NeverNotifies {
    fn next<'a, 'c>(&'a mut self) -> StoreFuture<'c, Option<Notification>>
    where
        'a: 'c,
        Self: 'c,
    {
        Box::pin(std::future::pending())
    }
}
