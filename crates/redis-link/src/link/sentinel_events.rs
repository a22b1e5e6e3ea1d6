//! Listens for `+switch-master` events of sentinels.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep, timeout};

use super::backoff;
use super::conn::Conn;
use super::node::Node;
use super::push::{ChannelKind, PushReceiver};
use super::sentinel::Sentinel;
use crate::address::Host;

const CHANNEL: Bytes = Bytes::from_static(b"+switch-master");

/// An idle sentinel is pinged this often.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// Timeout of a subscription or a ping.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Longest delay before reconnecting to a sentinel.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// Listens to one sentinel until the topology is dropped.
pub(super) async fn follow(topology: Weak<Sentinel>, sentinel: Arc<Node>) {
    let mut failures = 0;
    loop {
        let mut pushes = PushReceiver::new();
        let (channels, until) = ([CHANNEL], Instant::now() + TIMEOUT);
        let subscribed = pushes.subscribe(&sentinel, ChannelKind::Plain, &channels, until);
        match subscribed.await {
            Ok(conn) => {
                failures = 0;
                // A failover may have happened before the subscription.
                let Some(current) = topology.upgrade() else {
                    return;
                };
                current.discovery.mark_stale();
                drop(current);
                receive(&topology, &mut pushes, &conn).await;
            }
            Err(_) => failures += 1,
        }
        sleep(backoff::jittered(failures, MAX_BACKOFF)).await;
    }
}

/// Receives events until the connection is lost.
async fn receive(topology: &Weak<Sentinel>, pushes: &mut PushReceiver, conn: &Conn) {
    loop {
        let Ok(push) = timeout(PING_INTERVAL, pushes.next()).await else {
            let until = Instant::now() + TIMEOUT;
            match conn.call(&redis::cmd("PING"), until).await {
                Ok(_) => continue,
                Err(_) => return,
            }
        };
        let (Some((_, bytes)), Some(topology)) = (push, topology.upgrade()) else {
            return;
        };
        if let Some(host) = parse_event(&bytes, topology.master()) {
            topology.switch_to(host).await;
        }
    }
}

/// Parses `NAME OLD_HOST OLD_PORT NEW_HOST NEW_PORT` and returns the new host.
fn parse_event(bytes: &[u8], master: &str) -> Option<Host> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut fields = text.split_ascii_whitespace();
    if fields.next()? != master {
        return None;
    }
    Some(Host {
        name: fields.nth(2)?.to_owned(),
        port: fields.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_parsed_for_our_primary_only() {
        let text = b"main 10.0.0.1 6379 10.0.0.2 6380";
        let host = parse_event(text, "main").expect("our primary");
        assert_eq!((host.name.as_str(), host.port), ("10.0.0.2", 6380));
        assert_eq!(parse_event(text, "other"), None);
        for invalid in [
            &b"main"[..],
            b"main a 1 b",
            b"main a 1 b port",
            b"\xff",
            b"",
        ] {
            assert_eq!(parse_event(invalid, "main"), None);
        }
    }
}
