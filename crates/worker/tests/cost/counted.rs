//! The memory store, counted: which verbs were called how often, and what renewals named.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use windlass_core::{Notification, Renewal, Result, Watch};

use crate::tapped::{Answer, Tap, Tapped};

/// A renewal: when it came, and how many claims it named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Renewing {
    pub(crate) at: Instant,
    pub(crate) claims: usize,
}

/// The memory store, counted.
pub(crate) type Counted = Tapped<Calls>;

/// The calls so far.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: Mutex<BTreeMap<&'static str, u32>>,
    renewals: watch::Sender<Vec<Renewing>>,
}

impl Counted {
    pub(crate) fn new() -> Self {
        Self::with(Calls::default())
    }

    /// Every verb with its number of calls.
    pub(crate) fn calls(&self) -> BTreeMap<&'static str, u32> {
        self.tap.calls.lock().unwrap().clone()
    }

    /// All renewals so far, as they come.
    pub(crate) fn renewals(&self) -> watch::Receiver<Vec<Renewing>> {
        self.tap.renewals.subscribe()
    }
}

impl Tap for Calls {
    /// About that to a server, so that calls gather as they do there.
    const ROUND_TRIP: Duration = Duration::from_millis(2);

    fn call(&self, verb: &'static str) -> Result<()> {
        *self.calls.lock().unwrap().entry(verb).or_default() += 1;
        Ok(())
    }

    fn renewal(&self, renewal: &Renewal) {
        if let Renewal::Worker { tokens, .. } = renewal {
            let renewing = Renewing {
                at: Instant::now(),
                claims: tokens.len(),
            };
            self.renewals.send_modify(|all| all.push(renewing));
        }
    }

    fn cancels(&self) -> Box<dyn Watch> {
        Box::new(Silence)
    }
}

/// Nobody is cancelled here, and hints about other things are not needed.
#[derive(Debug)]
struct Silence;

impl Watch for Silence {
    fn next<'a, 'c>(&'a mut self) -> Answer<'c, Option<Notification>>
    where
        'a: 'c,
        Self: 'c,
    {
        Box::pin(std::future::pending())
    }
}
