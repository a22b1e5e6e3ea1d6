//! A private Sentinel group: a primary, two replicas, and three Sentinels.
//!
//! The timeout is long at first, so that a busy machine does not cause an unwanted failover.
//! [`Sentinels::kill_primary`] shortens it; a test that stops or disconnects the primary in another
//! way calls [`Sentinels::shorten_timeout`] first.

use std::time::Duration;

use super::options::ServerOptions;
use super::port::{Port, retry_taken_port};
use super::resp::Reply;
use super::server::{Server, node_id};
use super::wait::until;

/// The name of the group.
pub const NAME: &str = "main";

const SERVERS: usize = 3;
const SENTINELS: usize = 3;

/// Sentinels that must agree that the primary is down.
const QUORUM: usize = 2;

/// The usual `down-after-milliseconds`: longer than a machine stalls.
const LONG_TIMEOUT: Duration = Duration::from_secs(60);

/// `down-after-milliseconds` for a fast failover; still longer than a busy machine usually stalls, as
/// a false alarm would delay the failover.
const SHORT_TIMEOUT: Duration = Duration::from_secs(1);

/// Shorter periods than the defaults, and a shorter pause after a Sentinel detects that it stalled
/// (tilt mode).
///
/// After four publish periods a Sentinel turns an unexpected primary back into a replica. That must
/// be longer than a failover led by another Sentinel, which checks its progress every second.
const FAST_PERIODS: &str = "info-period 500 ask-period 100 publish-period 1000 \
                     tilt-trigger 20000 tilt-period 1000";

/// While the group forms: the retry interval of a failed link.
const FORMING: &str = "ping-period 100";

/// Afterwards, the default: a replica not pinged for five periods is not promoted.
const FORMED: &str = "ping-period 1000";

/// Three servers and three Sentinels that end when this value is dropped.
#[derive(Debug)]
pub struct Sentinels {
    servers: Vec<Server>,
    sentinels: Vec<Server>,
}

impl Sentinels {
    /// Starts the group. When this returns, the replicas are linked, and every Sentinel knows both
    /// of them and the two other Sentinels.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Like [`Sentinels::start`], with additional configuration lines for every server.
    pub fn start_with(lines: &[&str]) -> Self {
        let options = lines
            .iter()
            .fold(ServerOptions::new(), |options, line| options.line(*line));
        retry_taken_port(|| {
            let servers = Server::launch_all(&vec![options.clone(); SERVERS], reserve(SERVERS))?;
            // Before the Sentinels start, so that they see the replicas at once.
            link_replicas(&servers);
            let ports = reserve(SENTINELS);
            let sentinels = Server::launch_all(&sentinel_options(&servers, &ports), ports)?;
            wait_until_formed(&sentinels);
            Ok(Self { servers, sentinels })
        })
    }

    /// The URL of a store on this group.
    pub fn url(&self) -> String {
        let sentinels: Vec<String> = self
            .sentinels
            .iter()
            .map(|sentinel| format!("127.0.0.1:{}", sentinel.port()))
            .collect();
        format!("redis-sentinel://{}/{NAME}/0", sentinels.join(","))
    }

    /// The servers: initially a primary and two replicas.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The Sentinels.
    pub fn sentinels(&self) -> &[Server] {
        &self.sentinels
    }

    /// The primary, according to the first running Sentinel.
    pub fn primary(&self) -> &Server {
        let asked = self.running_sentinels().next();
        self.primary_by(asked.expect("a running Sentinel"))
    }

    /// The running servers other than the primary.
    pub fn replicas(&self) -> Vec<&Server> {
        let primary = self.primary().port();
        self.servers
            .iter()
            .filter(|server| server.is_running() && server.port() != primary)
            .collect()
    }

    /// Sets a short timeout: a primary that is silent for a second is replaced.
    pub fn shorten_timeout(&self) {
        for (index, sentinel) in self.sentinels.iter().enumerate() {
            // The last one reacts later and breaks ties: if all of them stood for election at the
            // same time, each would vote for itself and they would retry seconds later.
            let factor = if index + 1 == SENTINELS { 3 } else { 1 };
            set_down_after(sentinel, factor * SHORT_TIMEOUT);
        }
    }

    /// Sets a short timeout and kills the primary.
    pub fn kill_primary(&self) -> &Server {
        let victim = self.primary();
        self.shorten_timeout();
        victim.kill();
        victim
    }

    /// Requests a failover of a healthy primary; [`Sentinels::wait_for_new_primary`] waits for it.
    /// Returns the old primary.
    pub fn fail_over(&self) -> &Server {
        let old = self.primary();
        let asked = self.running_sentinels().next().expect("a running Sentinel");
        asked.command(&["SENTINEL", "FAILOVER", NAME]).ok();
        old
    }

    /// Waits until all running Sentinels report a primary other than `old`, it has taken the role, and
    /// the running replicas follow it. Restores the long timeout.
    pub fn wait_for_new_primary(&self, old: &Server) -> &Server {
        let new = until("the Sentinels choose another primary", || {
            let named: Vec<&Server> = self
                .running_sentinels()
                .map(|sentinel| self.primary_by(sentinel))
                .collect();
            let new = named[0];
            let is_agreed = named.iter().all(|other| other.port() == new.port());
            if !is_agreed || new.port() == old.port() {
                let ports: Vec<u16> = named.iter().map(|server| server.port()).collect();
                return Err(format!(
                    "they report {ports:?}; {}",
                    self.sentinels[0].log()
                ));
            }
            match new.ask(&["ROLE"])?.array()[0].text().as_str() {
                "master" => Ok(new),
                other => Err(format!("the role of {} is {other}", new.port())),
            }
        });
        for sentinel in &self.sentinels {
            set_down_after(sentinel, LONG_TIMEOUT);
        }
        for replica in self.followers(new, old) {
            until("a replica follows the new primary", || {
                let info = replica.ask(&["INFO", "replication"])?;
                let port = info.field("master_port");
                let is_up = info.field("master_link_status").as_deref() == Some("up");
                let follows = is_up && port == Some(new.port().to_string());
                follows.then_some(()).ok_or_else(|| info.text())
            });
        }
        new
    }

    /// The running servers except the new and the old primary, which may be disconnected or outdated.
    fn followers(&self, new: &Server, old: &Server) -> impl Iterator<Item = &Server> {
        let excluded = [new.port(), old.port()];
        self.servers
            .iter()
            .filter(move |server| server.is_running() && !excluded.contains(&server.port()))
    }

    fn running_sentinels(&self) -> impl Iterator<Item = &Server> {
        self.sentinels
            .iter()
            .filter(|sentinel| sentinel.is_running())
    }

    fn primary_by(&self, sentinel: &Server) -> &Server {
        let reply = sentinel
            .command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME])
            .ok();
        let port = reply.array()[1].text();
        let mut servers = self.servers.iter();
        servers
            .find(|server| server.port().to_string() == port)
            .unwrap_or_else(|| panic!("the Sentinel reports an unknown port {port}"))
    }
}

/// Sets `down-after-milliseconds`, if the Sentinel is running.
fn set_down_after(sentinel: &Server, time: Duration) {
    let millis = time.as_millis().to_string();
    if sentinel.is_running() {
        sentinel
            .command(&["SENTINEL", "SET", NAME, "down-after-milliseconds", &millis])
            .ok();
    }
}

fn link_replicas(servers: &[Server]) {
    let primary = servers[0].port().to_string();
    for replica in &servers[1..] {
        replica.command(&["REPLICAOF", "127.0.0.1", &primary]).ok();
    }
    for replica in &servers[1..] {
        until("a replica is linked", || {
            let info = replica.ask(&["INFO", "replication"])?;
            let is_up = info.field("master_link_status").as_deref() == Some("up");
            is_up.then_some(()).ok_or_else(|| info.text())
        });
    }
}

fn wait_until_formed(sentinels: &[Server]) {
    set_periods(sentinels, FAST_PERIODS);
    set_periods(sentinels, FORMING);
    for sentinel in sentinels {
        until("a Sentinel sees the group", || {
            let seen = (links(sentinel, "REPLICAS"), links(sentinel, "SENTINELS"));
            let is_all = seen == (SERVERS - 1, SENTINELS - 1);
            let missing = || format!("{seen:?} replicas and Sentinels; {}", sentinel.log());
            is_all.then_some(()).ok_or_else(missing)
        });
    }
    set_periods(sentinels, FORMED);
}

fn set_periods(sentinels: &[Server], periods: &str) {
    let command: Vec<&str> = ["SENTINEL", "DEBUG"]
        .into_iter()
        .chain(periods.split_whitespace())
        .collect();
    for sentinel in sentinels {
        sentinel.command(&command).ok();
    }
}

/// The number of healthy peers of a Sentinel; replicas must also be linked to their primary.
fn links(sentinel: &Server, what: &str) -> usize {
    let reply = sentinel.command(&["SENTINEL", what, NAME]).ok();
    let is_healthy = |peer: &&Reply| {
        let fields: Vec<String> = peer.array().iter().map(|field| field.text()).collect();
        let has = |name: &str, value: &str| fields.chunks(2).any(|pair| pair == [name, value]);
        let follows = has("role-reported", "slave") && has("master-link-status", "ok");
        has("flags", "sentinel") || (has("flags", "slave") && follows)
    };
    reply.array().iter().filter(is_healthy).count()
}

fn reserve(count: usize) -> Vec<Port> {
    (0..count).map(|_| Port::reserve()).collect()
}

/// Each Sentinel knows the others from the start, as discovery takes seconds.
fn sentinel_options(servers: &[Server], ports: &[Port]) -> Vec<ServerOptions> {
    let ids: Vec<String> = ports.iter().map(|_| node_id()).collect();
    let primary = servers[0].port();
    let timeout = LONG_TIMEOUT.as_millis();
    (0..ports.len())
        .map(|index| {
            let mut options = ServerOptions::new()
                .sentinel()
                .line(format!("sentinel myid {}", ids[index]))
                .line(format!(
                    "sentinel monitor {NAME} 127.0.0.1 {primary} {QUORUM}"
                ))
                .line(format!("sentinel down-after-milliseconds {NAME} {timeout}"))
                // After a split vote, the next election starts after twice this time.
                .line(format!("sentinel failover-timeout {NAME} 2000"))
                .line(format!("sentinel parallel-syncs {NAME} {SERVERS}"));
            for replica in &servers[1..] {
                let port = replica.port();
                options = options.line(format!("sentinel known-replica {NAME} 127.0.0.1 {port}"));
            }
            for other in (0..ports.len()).filter(|other| *other != index) {
                let (port, id) = (ports[other].number(), &ids[other]);
                options = options.line(format!(
                    "sentinel known-sentinel {NAME} 127.0.0.1 {port} {id}"
                ));
            }
            options
        })
        .collect()
}
