//! One server: the connection all calls share, and those that wait on their own.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redis::Client;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::conn::{Conn, Entrance, Leash, Pushes};
use super::{Seldom, backoff, held};
use crate::address::Server;
use crate::error::Fault;

/// One try to connect takes no longer; a lost packet is better met by a fresh try.
const DIAL: Duration = Duration::from_secs(2);

/// Connections of their own that are kept for the next caller.
const IDLE: usize = 16;

/// The longest pause between two tries to connect.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// One server.
pub(crate) struct Node {
    server: Server,
    name: Arc<str>,
    client: Client,
    shared: Mutex<Option<Conn>>,
    idle: Mutex<Vec<Conn>>,
    leashes: Mutex<Vec<Leash>>,
    dialing: tokio::sync::Mutex<Dialing>,
}

/// What became of the latest tries to connect.
#[derive(Default)]
struct Dialing {
    failures: u32,
    not_before: Option<Instant>,
    latest: Option<(Instant, Fault)>,
}

impl Node {
    pub(crate) fn new(server: &Server, entrance: &Entrance) -> Result<Arc<Self>, Fault> {
        Ok(Arc::new(Self {
            name: server.to_string().into(),
            client: entrance.dialer(server)?,
            server: server.clone(),
            shared: Mutex::default(),
            idle: Mutex::default(),
            leashes: Mutex::default(),
            dialing: tokio::sync::Mutex::default(),
        }))
    }

    /// Where it is.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Its name, for messages.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The connection that all calls share, opened where it is not there.
    pub(crate) async fn shared(&self, until: Instant) -> Result<Conn, Fault> {
        if let Some(conn) = self.present() {
            return Ok(conn);
        }
        let asked = Instant::now();
        let dialled: Seldom<'_, _> = Box::pin(async move {
            let mut dialing = self.dialing.lock().await;
            if let Some(conn) = self.present() {
                return Ok(conn);
            }
            // Somebody tried while we stood in line: the answer is the same for us.
            if let Some((at, fault)) = &dialing.latest
                && *at > asked
            {
                return Err(fault.again());
            }
            dialing.wait().await;
            let outcome = self.dial(None).await;
            dialing.note(&outcome);
            let conn = outcome?;
            *held(&self.shared) = Some(conn.clone());
            Ok(conn)
        });
        timeout_at(until, dialled)
            .await
            .unwrap_or_else(|_| Err(Fault::no_connection(&self.name)))
    }

    /// A connection for one caller alone; [`Node::give_back`] returns it when all is answered.
    pub(crate) async fn own(&self, until: Instant) -> Result<Conn, Fault> {
        while let Some(conn) = held(&self.idle).pop() {
            if !conn.is_gone() {
                return Ok(conn);
            }
        }
        self.fresh(None, until).await
    }

    /// A new connection for one caller alone, which hears what is pushed on it.
    pub(crate) async fn fresh(
        &self,
        pushes: Option<Pushes>,
        until: Instant,
    ) -> Result<Conn, Fault> {
        let dialled: Seldom<'_, _> = Box::pin(async move {
            self.dialing.lock().await.wait().await;
            let outcome = self.dial(pushes).await;
            self.dialing.lock().await.note(&outcome);
            outcome
        });
        timeout_at(until, dialled)
            .await
            .unwrap_or_else(|_| Err(Fault::no_connection(&self.name)))
    }

    /// Keeps a connection on which nothing is under way.
    pub(crate) fn give_back(&self, conn: Conn) {
        let mut idle = held(&self.idle);
        if idle.len() < IDLE && !conn.is_gone() {
            idle.push(conn);
        }
    }

    /// Does not use the shared connection for new calls; those under way keep it.
    pub(crate) fn forget(&self, conn: &Conn) {
        let mut shared = held(&self.shared);
        if shared.as_ref().is_some_and(|present| present.is(conn)) {
            *shared = None;
        }
    }

    /// Gives up every connection to this server; calls under way fail at once.
    pub(crate) fn give_up(&self) {
        held(&self.shared).take();
        held(&self.idle).clear();
        for leash in held(&self.leashes).drain(..) {
            leash.give_up();
        }
    }

    /// Whether the shared connection is there.
    pub(crate) fn is_connected(&self) -> bool {
        self.present().is_some()
    }

    fn present(&self) -> Option<Conn> {
        let mut shared = held(&self.shared);
        if shared.as_ref().is_some_and(Conn::is_gone) {
            *shared = None;
        }
        shared.clone()
    }

    async fn dial(&self, pushes: Option<Pushes>) -> Result<Conn, Fault> {
        let opened = Conn::open(&self.client, Arc::clone(&self.name), pushes);
        let conn = tokio::time::timeout(DIAL, opened)
            .await
            .unwrap_or_else(|_| Err(Fault::no_connection(&self.name)))?;
        let mut leashes = held(&self.leashes);
        leashes.retain(|leash| !leash.is_loose());
        leashes.push(conn.leash());
        Ok(conn)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.name)
    }
}

impl Dialing {
    async fn wait(&self) {
        if let Some(not_before) = self.not_before {
            sleep_until(not_before).await;
        }
    }

    fn note(&mut self, outcome: &Result<Conn, Fault>) {
        match outcome {
            Ok(_) => *self = Self::default(),
            Err(fault) => {
                let now = Instant::now();
                self.not_before = Some(now + backoff::jittered(self.failures, LONGEST_PAUSE));
                self.failures = self.failures.saturating_add(1);
                self.latest = Some((now, fault.again()));
            }
        }
    }
}
