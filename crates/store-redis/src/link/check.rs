//! Whether servers are fit for jobs: new enough, in charge, and never throwing keys away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use redis::{Cmd, Value, cmd};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};
use windlass_core::{Error, ErrorKind, Result};

use super::node::Node;
use super::retry::{Repeat, Tries};
use super::{Inner, Standing, held};
use crate::address::{Durability, Kind};
use crate::error::{Course, Fault, copy};

/// How often the servers are looked at again.
const EVERY: Duration = Duration::from_secs(60);

/// After a change of servers, once that is over.
const SETTLING: Duration = Duration::from_secs(1);

/// The oldest version with everything we need: flags of scripts, sharded channels.
const OLDEST: (u32, u32) = (7, 0);

/// How a server makes sure that a job is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syncing {
    /// By itself, before it answers.
    Always,
    /// When asked to wait for it.
    OnWait,
}

/// What is known of the servers' fitness.
#[derive(Default)]
pub(crate) struct Fitness {
    state: Mutex<State>,
    watcher: Mutex<Option<AbortHandle>>,
}

#[derive(Default)]
struct State {
    trouble: Option<Error>,
    syncing: Option<Syncing>,
}

impl Fitness {
    /// What is wrong, as far as is known.
    pub(crate) fn trouble(&self) -> Option<Error> {
        held(&self.state).trouble.as_ref().map(copy)
    }

    /// How the servers make sure that a job is on disk, where that was asked for.
    pub(crate) fn syncing(&self) -> Syncing {
        held(&self.state).syncing.unwrap_or(Syncing::OnWait)
    }

    /// Looks at the servers again and again, for as long as the link is used.
    pub(crate) fn watch(&self, inner: &Arc<Inner>) {
        let changes = inner.topology.changes();
        let watcher = tokio::spawn(look_again(Arc::downgrade(inner), changes)).abort_handle();
        *held(&self.watcher) = Some(watcher);
    }
}

impl Drop for Fitness {
    fn drop(&mut self) {
        if let Some(watcher) = held(&self.watcher).take() {
            watcher.abort();
        }
    }
}

async fn look_again(inner: Weak<Inner>, mut changes: watch::Receiver<u64>) {
    loop {
        // Servers that come to be in charge later have settings of their own.
        tokio::select! {
            () = sleep(EVERY) => {}
            changed = changes.changed() => match changed {
                Ok(()) => sleep(SETTLING).await,
                Err(_) => return,
            },
        }
        changes.mark_unchanged();
        let Some(inner) = inner.upgrade() else { return };
        now(&inner).await;
    }
}

/// Looks at every server that can be reached now.
pub(crate) async fn now(inner: &Inner) {
    let until = Instant::now() + inner.address.timeout;
    match look(inner, until).await {
        Ok(()) => held(&inner.fitness.state).trouble = None,
        // Not to be reached is no news about its settings; calls find out for themselves.
        Err(fault) if fault.course != Course::Fatal => {}
        Err(fault) => {
            *held(&inner.fitness.state) = State {
                trouble: Some(fault.into_error()),
                // What was promised about disks is not known to hold any more.
                syncing: None,
            };
        }
    }
}

/// Looks at the servers until they answer or the time is over.
pub(crate) async fn at_start(inner: &Inner) -> Result<()> {
    let is_single = matches!(inner.address.kind, Kind::Single(_));
    let mut tries = Tries::new(inner, 0, inner.address.timeout, Repeat::Safe).impatient(is_single);
    loop {
        match look(inner, tries.limit()).await {
            Ok(()) => return Ok(()),
            Err(fault) => tries.after(fault).await?,
        }
    }
}

async fn look(inner: &Inner, until: Instant) -> Result<(), Fault> {
    let nodes = inner.topology.primaries(until).await?;
    let mut away = None;
    let mut syncing = Vec::new();
    for node in &nodes {
        match look_at(inner, node, until).await {
            Ok(found) => syncing.push(found),
            Err(fault) if fault.course == Course::Fatal => return Err(fault),
            Err(fault) => {
                inner.topology.heard(node, &fault);
                away = Some(fault);
            }
        }
    }
    // Of several servers some may be away: their queues wait, the others go on.
    if let Some(fault) = away
        && syncing.is_empty()
    {
        return Err(fault);
    }
    let is_always = syncing.iter().all(|syncing| *syncing == Syncing::Always);
    held(&inner.fitness.state).syncing = Some(if is_always {
        Syncing::Always
    } else {
        Syncing::OnWait
    });
    Ok(())
}

/// Looks at one server; what it does about disks is told where that is asked for.
async fn look_at(inner: &Inner, node: &Node, until: Instant) -> Result<Syncing, Fault> {
    let conn = node.shared(until).await?;
    let hello = Hello::read(node, conn.call(&cmd("HELLO"), until).await?)?;
    hello.judge(node, &inner.address.kind)?;
    let settings = settings(node, until).await?;
    if let Some(policy) = settings.get("maxmemory-policy")
        && policy != "noeviction"
        && inner.standing == Standing::Host
    {
        return Err(unfit(
            node,
            &format!("throws keys away when memory is short (maxmemory-policy {policy})"),
            "set maxmemory-policy noeviction: no other policy keeps jobs",
        ));
    }
    match inner.address.durability {
        Durability::Synced => syncing(node, &settings, until).await,
        Durability::Replicated(_) => waiting(node, until).await.map(|()| Syncing::OnWait),
        Durability::Memory => Ok(Syncing::OnWait),
    }
}

/// What a server says of itself; everybody may ask.
pub(super) struct Hello {
    version: String,
    mode: String,
    role: String,
}

impl Hello {
    pub(super) fn read(node: &Node, value: Value) -> Result<Self, Fault> {
        let mut fields: HashMap<String, Value> = redis::from_redis_value(value)
            .map_err(|_| Fault::odd(node.name(), "the reply to HELLO is not a map"))?;
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

    fn judge(&self, node: &Node, kind: &Kind) -> Result<(), Fault> {
        let mut numbers = self
            .version
            .split('.')
            .map(|part| part.parse().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if version < OLDEST {
            return Err(unfit(
                node,
                &format!("is of version {}", self.version),
                "use Redis 7.0 or later, or Valkey",
            ));
        }
        let is_cluster = matches!(kind, Kind::Cluster { .. });
        match self.mode.as_str() {
            "sentinel" => Err(unfit(
                node,
                "is a sentinel and holds no data",
                "write redis-sentinel://HOST:PORT/MASTER/DB",
            )),
            "cluster" if !is_cluster => Err(unfit(
                node,
                "is part of a Cluster",
                "write redis-cluster://HOST:PORT",
            )),
            // Somebody else is in charge by now; a single server has nobody else.
            _ if !self.is_primary() && matches!(kind, Kind::Single(_)) => Err(Fault::fatal(
                ErrorKind::StoreReadOnly,
                format!("Redis at {} is a replica and takes no writes", node.name()),
                "write the URL of its primary, or redis-sentinel:// so that it is found",
            )),
            _ if !self.is_primary() => Err(Fault::nowhere(format!(
                "{} is not a primary any more",
                node.name()
            ))),
            _ => Ok(()),
        }
    }
}

/// The settings that say when a server brings jobs to its disk.
pub(super) const SYNC_SETTINGS: [&str; 3] =
    ["appendonly", "appendfsync", "no-appendfsync-on-rewrite"];

/// Whether a server with these settings has a job on disk before it answers.
pub(super) fn is_synced_always(settings: &HashMap<String, String>) -> bool {
    let wanted = SYNC_SETTINGS.into_iter().zip(["yes", "always", "no"]);
    let mut missing =
        wanted.filter(|(name, value)| settings.get(*name).is_none_or(|is| is != value));
    missing.next().is_none()
}

/// Settings that matter, as far as we may read them.
async fn settings(node: &Node, until: Instant) -> Result<HashMap<String, String>, Fault> {
    let mut config = Cmd::new();
    config.arg("CONFIG").arg("GET").arg("maxmemory-policy");
    config.arg(&SYNC_SETTINGS);
    match node.shared(until).await?.call(&config, until).await {
        Ok(value) => Ok(redis::from_redis_value(value).unwrap_or_default()),
        // Forbidden or renamed, as hosted servers do.
        Err(fault) if fault.course == Course::Fatal => {
            let mut info = Cmd::new();
            info.arg("INFO").arg("memory");
            let told = match node.shared(until).await?.call(&info, until).await {
                Ok(value) => redis::from_redis_value::<String>(value).unwrap_or_default(),
                Err(fault) if fault.course == Course::Fatal => String::new(),
                Err(fault) => return Err(fault),
            };
            let policy = told
                .lines()
                .find_map(|line| line.strip_prefix("maxmemory_policy:"));
            Ok(policy
                .map(|policy| ("maxmemory-policy".to_owned(), policy.trim().to_owned()))
                .into_iter()
                .collect())
        }
        Err(fault) => Err(fault),
    }
}

/// Whether we may wait for replicas; how many there are shows with every call.
async fn waiting(node: &Node, until: Instant) -> Result<(), Fault> {
    let mut wait = Cmd::new();
    wait.arg("WAIT").arg(0).arg(1);
    let conn = node.own(until).await?;
    conn.call(&wait, until).await?;
    node.give_back(conn);
    Ok(())
}

async fn syncing(
    node: &Node,
    settings: &HashMap<String, String>,
    until: Instant,
) -> Result<Syncing, Fault> {
    if is_synced_always(settings) {
        return Ok(Syncing::Always);
    }
    // A connection that wrote nothing is answered at once, where the server knows how.
    let mut wait = Cmd::new();
    wait.arg("WAITAOF").arg(1).arg(0).arg(1);
    let conn = node.own(until).await?;
    match conn.call(&wait, until).await {
        Ok(_) => {
            node.give_back(conn);
            Ok(Syncing::OnWait)
        }
        Err(fault) if fault.course == Course::Fatal => Err(unfit(
            node,
            "cannot promise that a job is on disk (durability=synced)",
            "set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no; from Redis \
             7.2 on, appendonly yes is enough",
        )),
        Err(fault) => Err(fault),
    }
}

fn unfit(node: &Node, what: &str, help: &'static str) -> Fault {
    Fault::fatal(
        ErrorKind::StoreUnsupported,
        format!("Redis at {} {what}", node.name()),
        help,
    )
}
