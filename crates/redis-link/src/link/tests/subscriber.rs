//! Receiving published messages, also after lost connections.

use tokio::time::timeout;

use super::*;
use crate::link::{Subscriber, SubscriberEvent};

async fn next(subscriber: &mut Subscriber) -> SubscriberEvent {
    timeout(Duration::from_secs(30), subscriber.next())
        .await
        .expect("an event is received")
}

fn message(channel: &'static str, bytes: &'static str) -> SubscriberEvent {
    SubscriberEvent::Message {
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
async fn messages_are_received_in_order() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let channels = ["{a}:hints", "{b}:hints"].map(|name| Bytes::from_static(name.as_bytes()));
    let mut subscriber = link
        .subscribe(ChannelKind::Sharded, channels.to_vec())
        .await
        .expect("subscribes");
    publish(&server, "{a}:hints", "1").await;
    publish(&server, "{c}:hints", "2").await;
    publish(&server, "{b}:hints", "3\r\n\0").await;
    assert_eq!(next(&mut subscriber).await, message("{a}:hints", "1"));
    assert_eq!(next(&mut subscriber).await, message("{b}:hints", "3\r\n\0"));
    // A script publishes too.
    let publish = script("return redis.call('SPUBLISH', KEYS[1], ARGV[1])");
    let receivers = link.run(&call(publish, &["{a}:hints"], &["4"])).await;
    assert_eq!(number(&receivers.expect("runs")), 1);
    assert_eq!(next(&mut subscriber).await, message("{a}:hints", "4"));
    drop(subscriber);
    with(&server, |server| {
        windlass_testkit::redis::until("no subscriber is left", || {
            match server.command(&["SPUBLISH", "{a}:hints", "x"]).integer() {
                0 => Ok(()),
                subscribers => Err(subscribers.to_string()),
            }
        });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_lost_connection_a_gap_is_reported_and_later_messages_are_received() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let channel = Bytes::from_static(b"{a}:hints");
    let mut subscriber = link
        .subscribe(ChannelKind::Sharded, vec![channel])
        .await
        .expect("subscribes");
    with(&server, |server| {
        server.command(&["CLIENT", "KILL", "TYPE", "pubsub"])
    })
    .await;
    assert_eq!(next(&mut subscriber).await, SubscriberEvent::Gap);
    assert_eq!(publish(&server, "{a}:hints", "1").await, 1);
    assert_eq!(next(&mut subscriber).await, message("{a}:hints", "1"));
    with(&server, |server| {
        server.kill();
        server.restart();
    })
    .await;
    assert_eq!(next(&mut subscriber).await, SubscriberEvent::Gap);
    assert_eq!(publish(&server, "{a}:hints", "2").await, 1);
    assert_eq!(next(&mut subscriber).await, message("{a}:hints", "2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_subscriber_gets_a_gap() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let channel = Bytes::from_static(b"{a}:hints");
    let mut subscriber = link
        .subscribe(ChannelKind::Sharded, vec![channel])
        .await
        .expect("subscribes");
    with(&server, |server| {
        let mut conn = server.connect().expect("connects");
        for _ in 0..10_000 {
            let receivers = conn
                .command(&["SPUBLISH", "{a}:hints", "x"])
                .expect("publishes");
            assert_eq!(receivers.integer(), 1);
        }
    })
    .await;
    let mut received = 0;
    while next(&mut subscriber).await != SubscriberEvent::Gap {
        received += 1;
    }
    assert!(received < 10_000);
}
