//! A private group under Sentinel: a primary, two replicas, and three Sentinels that watch them.
//!
//! The Sentinels are patient at first, so that no busy machine causes a failover that no test asked
//! for. [`Sentinels::kill_primary`] makes them impatient; a test that stops the primary or cuts its
//! links in another way calls [`Sentinels::lose_patience`] first.

use std::thread;
use std::time::Duration;

use crate::options::ServerOptions;
use crate::port::{Port, unless_taken};
use crate::resp::Reply;
use crate::server::Server;
use crate::wait::until;

/// The name that the Sentinels know the group by.
pub const NAME: &str = "main";

const SERVERS: usize = 3;
const SENTINELS: usize = 3;

/// How many Sentinels must agree that the primary is down.
const QUORUM: usize = 2;

/// A primary that does not answer for so long is taken for dead: longer than a machine stalls.
const PATIENT: Duration = Duration::from_secs(60);

/// The same, when a test wants a failover soon. Still long enough that a busy machine seldom takes
/// the living for dead, which would put off the failover.
const IMPATIENT: Duration = Duration::from_secs(1);

/// How often the Sentinels look and talk: more often than by themselves. And a Sentinel that finds
/// itself stalled does not keep out of everything for half a minute.
///
/// After four publish periods a Sentinel turns a strange primary back into a replica. That must be
/// longer than a failover takes that another Sentinel leads, which looks for its success each second.
const HASTE: &str = "info-period 500 ask-period 100 publish-period 1000 \
                     tilt-trigger 20000 tilt-period 1000";

/// While they find each other: a link that failed is tried again after this.
const FORMING: &str = "ping-period 100";

/// Afterwards as by themselves: no replica is chosen that was not looked at for five of them.
const FORMED: &str = "ping-period 1000";

/// Three servers and three Sentinels that end with this value.
#[derive(Debug)]
pub struct Sentinels {
    servers: Vec<Server>,
    sentinels: Vec<Server>,
}

impl Sentinels {
    /// Starts the group. When this returns the replicas are linked, and every Sentinel knows both
    /// of them and both other Sentinels.
    ///
    /// # Panics
    ///
    /// When there is no `redis-server`, or one of them does not come up.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// As [`Sentinels::start`], with further lines in the configuration of every server.
    pub fn start_with(lines: &[&str]) -> Self {
        let options = lines
            .iter()
            .fold(ServerOptions::new(), |options, line| options.line(*line));
        unless_taken(|| {
            let servers = launch_all(vec![options.clone(); SERVERS], reserve(SERVERS))?;
            // First of all, so that the Sentinels need not look twice.
            link_replicas(&servers);
            let ports = reserve(SENTINELS);
            let sentinels = launch_all(sentinel_options(&servers, &ports), ports)?;
            wait_until_seen(&sentinels);
            Ok(Self { servers, sentinels })
        })
    }

    /// The URL that opens a store on it.
    pub fn url(&self) -> String {
        let sentinels: Vec<String> = self
            .sentinels
            .iter()
            .map(|sentinel| format!("127.0.0.1:{}", sentinel.port()))
            .collect();
        format!("redis-sentinel://{}/{NAME}/0", sentinels.join(","))
    }

    /// The servers: at first a primary and two replicas.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The Sentinels.
    pub fn sentinels(&self) -> &[Server] {
        &self.sentinels
    }

    /// The primary, as the first Sentinel that runs says.
    ///
    /// # Panics
    ///
    /// When no Sentinel runs.
    pub fn primary(&self) -> &Server {
        let asked = self.running_sentinels().next();
        self.primary_by(asked.expect("a Sentinel runs"))
    }

    /// The servers that run and are not the primary.
    pub fn replicas(&self) -> Vec<&Server> {
        let primary = self.primary().port();
        self.servers
            .iter()
            .filter(|server| server.is_running() && server.port() != primary)
            .collect()
    }

    /// Makes the Sentinels impatient: a primary that is silent for a second is replaced.
    pub fn lose_patience(&self) {
        for (place, sentinel) in self.sentinels.iter().enumerate() {
            // The last one decides between the others: if all of them stood for election at the
            // same time, each would vote for itself and they would start over, seconds later.
            let factor = if place + 1 == SENTINELS { 3 } else { 1 };
            set_down_after(sentinel, factor * IMPATIENT);
        }
    }

    /// Makes the Sentinels impatient and kills the primary.
    pub fn kill_primary(&self) -> &Server {
        let victim = self.primary();
        self.lose_patience();
        victim.kill();
        victim
    }

    /// Asks for a failover though the primary is well; [`Sentinels::wait_for_new_primary`] waits
    /// for it. Gives the primary that is to be replaced.
    pub fn fail_over(&self) -> &Server {
        let old = self.primary();
        let asked = self.running_sentinels().next().expect("a Sentinel runs");
        asked.command(&["SENTINEL", "FAILOVER", NAME]).ok();
        old
    }

    /// Waits until all Sentinels that run name another primary than `old`, it is one, the replicas
    /// that run follow it, and the Sentinels are patient again.
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
                return Err(format!("they name {ports:?}; {}", self.sentinels[0].log()));
            }
            match new.ask(&["ROLE"])?.array()[0].text().as_str() {
                "master" => Ok(new),
                other => Err(format!("{} says that it is a {other}", new.port())),
            }
        });
        for sentinel in &self.sentinels {
            set_down_after(sentinel, PATIENT);
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

    /// Who is neither the new primary nor the old: the old one may be cut off, or not know it yet.
    fn followers(&self, new: &Server, old: &Server) -> impl Iterator<Item = &Server> {
        let apart = [new.port(), old.port()];
        self.servers
            .iter()
            .filter(move |server| server.is_running() && !apart.contains(&server.port()))
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
            .unwrap_or_else(|| panic!("the Sentinel names port {port}, which is none of ours"))
    }
}

/// After how long of silence a Sentinel that runs takes the primary for dead.
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

fn wait_until_seen(sentinels: &[Server]) {
    set_periods(sentinels, HASTE);
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

/// How many of its peers a Sentinel has a good link to; replicas also with one to their primary.
fn links(sentinel: &Server, what: &str) -> usize {
    let reply = sentinel.command(&["SENTINEL", what, NAME]).ok();
    let is_well = |peer: &&Reply| {
        let words: Vec<String> = peer.array().iter().map(|word| word.text()).collect();
        let has = |name: &str, value: &str| words.chunks(2).any(|pair| pair == [name, value]);
        let follows = has("role-reported", "slave") && has("master-link-status", "ok");
        has("flags", "sentinel") || (has("flags", "slave") && follows)
    };
    reply.array().iter().filter(is_well).count()
}

fn reserve(count: usize) -> Vec<Port> {
    (0..count).map(|_| Port::reserve()).collect()
}

/// Each Sentinel knows everybody from the start: to find one another takes them seconds.
fn sentinel_options(servers: &[Server], ports: &[Port]) -> Vec<ServerOptions> {
    let ids: Vec<String> = ports.iter().map(|_| run_id()).collect();
    let primary = servers[0].port();
    let patience = PATIENT.as_millis();
    (0..ports.len())
        .map(|place| {
            let mut options = ServerOptions::new()
                .sentinel()
                .line(format!("sentinel myid {}", ids[place]))
                .line(format!(
                    "sentinel monitor {NAME} 127.0.0.1 {primary} {QUORUM}"
                ))
                .line(format!(
                    "sentinel down-after-milliseconds {NAME} {patience}"
                ))
                // When votes were split, the next try begins after twice this.
                .line(format!("sentinel failover-timeout {NAME} 2000"))
                .line(format!("sentinel parallel-syncs {NAME} {SERVERS}"));
            for replica in &servers[1..] {
                let port = replica.port();
                options = options.line(format!("sentinel known-replica {NAME} 127.0.0.1 {port}"));
            }
            for other in (0..ports.len()).filter(|other| *other != place) {
                let (port, id) = (ports[other].number(), &ids[other]);
                options = options.line(format!(
                    "sentinel known-sentinel {NAME} 127.0.0.1 {port} {id}"
                ));
            }
            options
        })
        .collect()
}

/// Starts all of them at once.
fn launch_all(options: Vec<ServerOptions>, ports: Vec<Port>) -> Result<Vec<Server>, String> {
    thread::scope(|scope| {
        let starting: Vec<_> = options
            .into_iter()
            .zip(ports)
            .map(|(options, port)| scope.spawn(move || Server::launch(&options, Some(port))))
            .collect();
        starting
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    })
}

fn run_id() -> String {
    let mut rng = fastrand::Rng::new();
    (0..40).map(|_| rng.digit(16)).collect()
}
