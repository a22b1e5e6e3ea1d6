//! A slow link forwards everything, at its rate.

use std::time::{Duration, Instant};

use windlass_testkit::redis::resp::Address;
use windlass_testkit::redis::{Connection, Server, SlowProxy};

#[test]
fn two_connections_share_the_rate_of_a_slow_link() {
    const BYTES: i64 = 300_000;
    let server = Server::start();
    let proxy = SlowProxy::before(&server, 1_000_000);
    let value = "x".repeat(usize::try_from(BYTES).unwrap());
    let began = Instant::now();

    let mut connections = ["a", "b"].map(|key| {
        let mut connection = Connection::open(&Address::Port(proxy.port())).unwrap();
        connection.command(&["PING"]).unwrap();
        (key, connection)
    });
    std::thread::scope(|scope| {
        for (key, connection) in &mut connections {
            scope.spawn(|| connection.command(&["SET", key, &value]).unwrap());
        }
    });

    let took = began.elapsed();
    assert!(took >= Duration::from_millis(600), "{took:?}");
    for key in ["a", "b"] {
        assert_eq!(server.command(&["STRLEN", key]).integer(), BYTES);
    }
}
