//! Checks that servers can hold jobs: recent enough, primary, and not evicting keys.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use redis::{Cmd, Value, cmd};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};
use windlass_core::store::DurabilityLevel;
use windlass_core::{Error, ErrorKind, Result};

use super::node::Node;
use super::retry::{CallRetry, Resend};
use super::{Inner, LinkMode, lock};
use crate::address::Kind;
use crate::error::{CallError, Recovery};

/// Interval of the periodic check.
const INTERVAL: Duration = Duration::from_secs(60);

/// Delay of the check after a failover, to let it finish.
const AFTER_CHANGE: Duration = Duration::from_secs(1);

/// Delay of the log of what the first check found.
const LOG_AFTER: Duration = Duration::from_secs(1);

/// The oldest supported version: script flags and sharded pub/sub came with it.
const MIN_VERSION: (u32, u32) = (7, 0);

/// The result of the latest check.
#[derive(Default)]
pub(crate) struct Health {
    state: Mutex<State>,
    task: Mutex<Option<AbortHandle>>,
}

#[derive(Default)]
struct State {
    error: Option<Error>,
    /// Whether all servers sync each write to disk before they reply (`appendfsync always`). Otherwise
    /// they sync when asked to wait (WAITAOF).
    is_always_synced: bool,
    /// Primaries that accept writes without the replicas that the URL requests, to be logged.
    unguarded: BTreeSet<Arc<str>>,
}

/// The servers that were logged by this process, which may open a store several times.
static LOGGED: Mutex<BTreeSet<Arc<str>>> = Mutex::new(BTreeSet::new());

impl Health {
    /// Returns the error of the latest check.
    pub(crate) fn error(&self) -> Option<Error> {
        lock(&self.state).error.clone()
    }

    /// Whether all servers sync each write before they reply; only known with `durability=synced`.
    pub(crate) fn is_always_synced(&self) -> bool {
        lock(&self.state).is_always_synced
    }

    /// Logs each server once that accepts writes without its replicas, and returns those.
    pub(super) fn log_unguarded(&self) -> BTreeSet<Arc<str>> {
        let mut found = std::mem::take(&mut lock(&self.state).unguarded);
        found.retain(|server| lock(&LOGGED).insert(Arc::clone(server)));
        for server in &found {
            tracing::warn!(target: "windlass", "Redis at {server} accepts writes while it is cut off from \
                its replicas; set min-replicas-to-write to the N of durability=replicated:N");
        }
        found
    }

    /// Checks the servers periodically until the link is dropped.
    pub(crate) fn watch(&self, inner: &Arc<Inner>) {
        let changes = inner.topology.changes();
        let task = tokio::spawn(check_periodically(Arc::downgrade(inner), changes)).abort_handle();
        *lock(&self.task) = Some(task);
    }
}

impl Drop for Health {
    fn drop(&mut self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }
}

async fn check_periodically(inner: Weak<Inner>, mut changes: watch::Receiver<u64>) {
    // Not at once: a command that ends soon logs nothing, `windlass doctor` reports it.
    sleep(LOG_AFTER).await;
    loop {
        match inner.upgrade() {
            Some(inner) => inner.health.log_unguarded(),
            None => return,
        };
        // A server promoted later may have different settings.
        tokio::select! {
            () = sleep(INTERVAL) => {}
            changed = changes.changed() => match changed {
                Ok(()) => sleep(AFTER_CHANGE).await,
                Err(_) => return,
            },
        }
        changes.mark_unchanged();
        let Some(inner) = inner.upgrade() else { return };
        recheck(&inner).await;
    }
}

/// Checks every server that can be reached and records the result.
pub(crate) async fn recheck(inner: &Inner) {
    let until = Instant::now() + inner.address.timeout;
    match check_all(inner, until).await {
        Ok(()) => lock(&inner.health.state).error = None,
        // Unreachable says nothing about the settings; calls report it themselves.
        Err(error) if error.recovery != Recovery::Fatal => {}
        Err(error) => {
            let mut state = lock(&inner.health.state);
            state.error = Some(error.into_error());
            // The earlier result about syncing may no longer hold.
            state.is_always_synced = false;
        }
    }
}

/// Checks the servers, retrying until they reply or the timeout elapses.
pub(crate) async fn check_at_open(inner: &Inner) -> Result<()> {
    let is_single = matches!(inner.address.kind, Kind::Single(_));
    let mut retry =
        CallRetry::new(inner, 0, inner.address.timeout, Resend::Safe).fail_if_refused(is_single);
    loop {
        match check_all(inner, retry.deadline()).await {
            Ok(()) => return Ok(()),
            Err(error) => retry.wait_after(error).await?,
        }
    }
}

async fn check_all(inner: &Inner, until: Instant) -> Result<(), CallError> {
    let nodes = inner.topology.primaries(until).await?;
    let mut unreachable = None;
    let (mut is_any_reached, mut is_always_synced) = (false, true);
    for node in &nodes {
        match check_node(inner, node, until).await {
            Ok(is_synced) => {
                is_any_reached = true;
                is_always_synced &= is_synced;
            }
            Err(error) if error.recovery == Recovery::Fatal => return Err(error),
            Err(error) => {
                inner.topology.record_error(node, &error);
                unreachable = Some(error);
            }
        }
    }
    // In a Cluster some servers may be unreachable: the queues of the others still work.
    if let Some(error) = unreachable
        && !is_any_reached
    {
        return Err(error);
    }
    lock(&inner.health.state).is_always_synced = is_always_synced;
    Ok(())
}

/// Checks one server. Returns whether it syncs each write, only for `durability=synced`.
async fn check_node(inner: &Inner, node: &Node, until: Instant) -> Result<bool, CallError> {
    let conn = node.shared(until).await?;
    let hello = HelloReply::parse(node, conn.call(&cmd("HELLO"), until).await?)?;
    hello.validate(node, &inner.address.kind)?;
    let settings = settings(node, until).await?;
    if let Some(policy) = settings.get("maxmemory-policy")
        && policy != "noeviction"
        && inner.mode == LinkMode::Store
    {
        return Err(unsupported(
            node,
            &format!("evicts keys when memory is full (maxmemory-policy {policy})"),
            "set maxmemory-policy noeviction: any other policy can lose jobs",
        ));
    }
    match inner.address.durability {
        DurabilityLevel::Synced => check_sync(node, &settings, until).await,
        DurabilityLevel::Replicated(count) => {
            if min_replicas(&settings).is_some_and(|min| min < u64::from(count)) {
                let mut state = lock(&inner.health.state);
                state.unguarded.insert(Arc::clone(node.name()));
            }
            check_wait(node, until).await.map(|()| false)
        }
        _ => Ok(false),
    }
}

/// The reply to HELLO, which needs no permissions.
pub(super) struct HelloReply {
    version: String,
    mode: String,
    role: String,
}

impl HelloReply {
    pub(super) fn parse(node: &Node, value: Value) -> Result<Self, CallError> {
        let mut fields: HashMap<String, Value> = redis::from_redis_value(value).map_err(|_| {
            CallError::unexpected_reply(node.name(), "the reply to HELLO is not a map")
        })?;
        let mut text = |name: &str| {
            let value = fields.remove(name).unwrap_or(Value::Nil);
            redis::from_redis_value::<Option<String>>(value)
                .ok()
                .flatten()
                .unwrap_or_default()
        };
        Ok(Self {
            version: text("version"),
            mode: text("mode"),
            role: text("role"),
        })
    }

    pub(super) fn is_primary(&self) -> bool {
        self.role == "master"
    }

    fn validate(&self, node: &Node, kind: &Kind) -> Result<(), CallError> {
        let mut numbers = self
            .version
            .split('.')
            .map(|number| number.parse().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if version < MIN_VERSION {
            return Err(unsupported(
                node,
                &format!("is too old (version {})", self.version),
                "use Redis 7.0 or later, or Valkey",
            ));
        }
        let is_cluster = matches!(kind, Kind::Cluster { .. });
        match self.mode.as_str() {
            "sentinel" => Err(unsupported(
                node,
                "is a sentinel, which stores no data",
                "use redis-sentinel://HOST:PORT/MASTER/DB",
            )),
            "cluster" if !is_cluster => Err(unsupported(
                node,
                "belongs to a Cluster",
                "use redis-cluster://HOST:PORT",
            )),
            // With one server there is no other primary to find.
            _ if !self.is_primary() && matches!(kind, Kind::Single(_)) => Err(CallError::fatal(
                ErrorKind::StoreReadOnly,
                format!(
                    "Redis at {} is a replica and accepts no writes",
                    node.name()
                ),
                "use the URL of its primary, or redis-sentinel:// to discover it",
            )),
            _ if !self.is_primary() => Err(CallError::no_server(format!(
                "{} is no longer a primary",
                node.name()
            ))),
            _ => Ok(()),
        }
    }
}

/// The settings that control when a server syncs writes to disk.
pub(super) const SYNC_SETTINGS: [&str; 3] =
    ["appendonly", "appendfsync", "no-appendfsync-on-rewrite"];

/// The setting with which a primary refuses writes if it has too few replicas.
pub(super) const MIN_REPLICAS: &str = "min-replicas-to-write";

/// The value of that setting, if the user may read it.
pub(super) fn min_replicas(settings: &HashMap<String, String>) -> Option<u64> {
    settings.get(MIN_REPLICAS)?.parse().ok()
}

/// Whether a server with these settings syncs each write before it replies.
pub(super) fn is_synced_always(settings: &HashMap<String, String>) -> bool {
    let wanted = SYNC_SETTINGS.into_iter().zip(["yes", "always", "no"]);
    let mut missing =
        wanted.filter(|(name, value)| settings.get(*name).is_none_or(|is| is != value));
    missing.next().is_none()
}

/// Reads the relevant settings, as far as permissions allow.
async fn settings(node: &Node, until: Instant) -> Result<HashMap<String, String>, CallError> {
    let mut config = Cmd::new();
    config.arg("CONFIG").arg("GET").arg("maxmemory-policy");
    config.arg(&SYNC_SETTINGS).arg(MIN_REPLICAS);
    match node.shared(until).await?.call(&config, until).await {
        Ok(value) => Ok(redis::from_redis_value(value).unwrap_or_default()),
        // Hosted servers often forbid or rename CONFIG.
        Err(error) if error.recovery == Recovery::Fatal => {
            let mut info = Cmd::new();
            info.arg("INFO").arg("memory");
            let info = match node.shared(until).await?.call(&info, until).await {
                Ok(value) => redis::from_redis_value::<String>(value).unwrap_or_default(),
                Err(error) if error.recovery == Recovery::Fatal => String::new(),
                Err(error) => return Err(error),
            };
            let policy = info
                .lines()
                .find_map(|line| line.strip_prefix("maxmemory_policy:"));
            Ok(policy
                .map(|policy| ("maxmemory-policy".to_owned(), policy.trim().to_owned()))
                .into_iter()
                .collect())
        }
        Err(error) => Err(error),
    }
}

/// Checks that WAIT is permitted; the number of replicas is checked by each call.
async fn check_wait(node: &Node, until: Instant) -> Result<(), CallError> {
    let mut wait = Cmd::new();
    wait.arg("WAIT").arg(0).arg(1);
    let conn = node.dedicated(until).await?;
    conn.call(&wait, until).await?;
    node.give_back(conn);
    Ok(())
}

async fn check_sync(
    node: &Node,
    settings: &HashMap<String, String>,
    until: Instant,
) -> Result<bool, CallError> {
    if is_synced_always(settings) {
        return Ok(true);
    }
    // WAITAOF returns immediately on a connection without writes, if the server supports it.
    let mut wait = Cmd::new();
    wait.arg("WAITAOF").arg(1).arg(0).arg(1);
    let conn = node.dedicated(until).await?;
    match conn.call(&wait, until).await {
        Ok(_) => {
            node.give_back(conn);
            Ok(false)
        }
        Err(error) if error.recovery == Recovery::Fatal => Err(unsupported(
            node,
            "cannot guarantee that a job is on disk (durability=synced)",
            "set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no; since Redis 7.2, \
            appendonly yes is enough",
        )),
        Err(error) => Err(error),
    }
}

fn unsupported(node: &Node, why: &str, help: &'static str) -> CallError {
    CallError::fatal(
        ErrorKind::StoreUnsupported,
        format!("Redis at {} {why}", node.name()),
        help,
    )
}
