//! Hearing what is published, through losses.

use tokio::time::timeout;

use super::*;
use crate::link::{Heard, Listener};

async fn next(listener: &mut Listener) -> Heard {
    timeout(Duration::from_secs(30), listener.next())
        .await
        .expect("something is heard")
}

fn message(channel: &'static str, bytes: &'static str) -> Heard {
    Heard::Message {
        channel: Bytes::from_static(channel.as_bytes()),
        bytes: Bytes::from_static(bytes.as_bytes()),
    }
}

async fn publish(server: &Arc<Server>, channel: &'static str, bytes: &'static str) -> i64 {
    with(server, move |server| {
        server.command(&["SPUBLISH", channel, bytes]).integer()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_is_heard_in_order() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let channels = ["{a}:hints", "{b}:hints"].map(|name| Bytes::from_static(name.as_bytes()));
    let mut listener = link
        .listen(Channels::Sharded, channels.to_vec())
        .await
        .expect("listens");
    publish(&server, "{a}:hints", "1").await;
    publish(&server, "{c}:hints", "2").await;
    publish(&server, "{b}:hints", "3\r\n\0").await;
    assert_eq!(next(&mut listener).await, message("{a}:hints", "1"));
    assert_eq!(next(&mut listener).await, message("{b}:hints", "3\r\n\0"));
    // A script publishes as well.
    let say = script("say", "return redis.call('SPUBLISH', KEYS[1], ARGV[1])");
    let heard_by = link.run(&call(say, &["{a}:hints"], &["4"])).await;
    assert_eq!(number(&heard_by.expect("runs")), 1);
    assert_eq!(next(&mut listener).await, message("{a}:hints", "4"));
    drop(listener);
    with(&server, |server| {
        windlass_testkit::redis::until("nobody listens", || {
            match server.command(&["SPUBLISH", "{a}:hints", "x"]).integer() {
                0 => Ok(()),
                listeners => Err(listeners.to_string()),
            }
        });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_loss_a_gap_is_told_and_then_everything_is_heard() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let channel = Bytes::from_static(b"{a}:hints");
    let mut listener = link
        .listen(Channels::Sharded, vec![channel])
        .await
        .expect("listens");
    with(&server, |server| {
        server.command(&["CLIENT", "KILL", "TYPE", "pubsub"])
    })
    .await;
    assert_eq!(next(&mut listener).await, Heard::Gap);
    assert_eq!(publish(&server, "{a}:hints", "1").await, 1);
    assert_eq!(next(&mut listener).await, message("{a}:hints", "1"));
    with(&server, |server| {
        server.kill();
        server.restart();
    })
    .await;
    assert_eq!(next(&mut listener).await, Heard::Gap);
    assert_eq!(publish(&server, "{a}:hints", "2").await, 1);
    assert_eq!(next(&mut listener).await, message("{a}:hints", "2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_listen_for_long_is_told_of_the_gap() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let channel = Bytes::from_static(b"{a}:hints");
    let mut listener = link
        .listen(Channels::Sharded, vec![channel])
        .await
        .expect("listens");
    with(&server, |server| {
        let mut conn = server.connect().expect("connects");
        for _ in 0..10_000 {
            let heard = conn
                .command(&["SPUBLISH", "{a}:hints", "x"])
                .expect("publishes");
            assert_eq!(heard.integer(), 1);
        }
    })
    .await;
    let mut heard = 0;
    while next(&mut listener).await != Heard::Gap {
        heard += 1;
    }
    assert!(heard < 10_000);
}
