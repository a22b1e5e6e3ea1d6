//! Hears a sentinel announce that another server is primary.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep, timeout};

use super::backoff;
use super::conn::Conn;
use super::node::Node;
use super::push::{Channels, Ear, Pushed};
use super::sentinel::Sentinel;
use crate::address::Host;
use crate::error::Fault;

const CHANNEL: Bytes = Bytes::from_static(b"+switch-master");

/// How often a silent sentinel is asked whether it is still there, and how long it may take.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// How long a sentinel may take to take a subscription.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest pause before a lost sentinel is tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Follows one sentinel for as long as the link is used.
pub(super) async fn follow(of: Weak<Sentinel>, sentinel: Arc<Node>) {
    let mut failures = 0;
    loop {
        let mut ear = Ear::new();
        match subscribe(&ear, &sentinel).await {
            Ok(conn) => {
                failures = 0;
                // It may have announced something before we listened.
                let Some(of_now) = of.upgrade() else { return };
                of_now.doubt();
                drop(of_now);
                hear(&of, &mut ear, &conn).await;
            }
            Err(_) => failures += 1,
        }
        sleep(backoff::jittered(failures, LONGEST_PAUSE)).await;
    }
}

async fn subscribe(ear: &Ear, sentinel: &Node) -> Result<Conn, Fault> {
    let until = Instant::now() + PATIENCE;
    ear.subscribe(sentinel, Channels::Plain, &[CHANNEL], until)
        .await
}

/// Hears until the connection is lost.
async fn hear(of: &Weak<Sentinel>, ear: &mut Ear, conn: &Conn) {
    loop {
        let Ok(pushed) = timeout(ASK_EVERY, ear.next()).await else {
            let until = Instant::now() + PATIENCE;
            match conn.call(&redis::cmd("PING"), until).await {
                Ok(_) => continue,
                Err(_) => return,
            }
        };
        let Pushed::Message { bytes, .. } = pushed else {
            return;
        };
        let Some(of) = of.upgrade() else { return };
        if let Some(host) = announced(&bytes, of.master()) {
            of.announced(host).await;
        }
    }
}

/// Reads `NAME OLD_HOST OLD_PORT NEW_HOST NEW_PORT`.
fn announced(bytes: &[u8], master: &str) -> Option<Host> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut words = text.split_ascii_whitespace();
    if words.next()? != master {
        return None;
    }
    Some(Host {
        name: words.nth(2)?.to_owned(),
        port: words.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_is_read_for_our_primary_alone() {
        let text = b"main 10.0.0.1 6379 10.0.0.2 6380";
        let host = announced(text, "main").expect("ours");
        assert_eq!((host.name.as_str(), host.port), ("10.0.0.2", 6380));
        assert_eq!(announced(text, "other"), None);
        for odd in [
            &b"main"[..],
            b"main a 1 b",
            b"main a 1 b port",
            b"\xff",
            b"",
        ] {
            assert_eq!(announced(odd, "main"), None);
        }
    }
}
