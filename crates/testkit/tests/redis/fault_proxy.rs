//! The proxy disconnects a client at a chosen command.

use std::io;

use windlass_testkit::redis::resp::Address;
use windlass_testkit::redis::{Connection, CutPoint, FaultProxy, Server};

/// A client that sends three commands; fails where it is disconnected.
fn run_client(proxy: &FaultProxy) -> io::Result<()> {
    let mut connection = Connection::open(&Address::Port(proxy.port()))?;
    connection.command(&["PING"])?;
    connection.command(&["SET", "a", "1"])?;
    connection.command(&["INCR", "a"])?;
    connection.command(&["LPUSH", "done", "x"])?;
    Ok(())
}

#[test]
fn a_client_is_cut_off_before_and_after_each_of_its_commands() {
    let server = Server::start();
    let proxy = FaultProxy::before(&server);
    let mut left = Vec::new();
    for cut in CutPoint::each() {
        server.command(&["FLUSHALL"]).ok();
        proxy.arm(cut);
        let result = run_client(&proxy);
        assert_eq!(result.is_err(), proxy.was_cut(), "{cut:?}");
        let a = server.command(&["EVAL", "return redis.call('GET', 'a') or '-'", "0"]);
        let done = server.command(&["LLEN", "done"]).integer();
        left.push(format!("{}{done}", a.text()));
        if !proxy.was_cut() {
            break;
        }
    }
    assert_eq!(left, ["-0", "10", "10", "20", "20", "21", "21"]);
    assert_eq!(proxy.commands(), ["SET a 1", "INCR a", "LPUSH done x"]);
}

#[test]
fn a_client_that_was_cut_off_is_turned_away_until_the_next_cut() {
    let server = Server::start();
    let proxy = FaultProxy::before(&server);
    proxy.arm(CutPoint::Before(0));
    assert!(run_client(&proxy).is_err());
    assert!(run_client(&proxy).is_err());
    proxy.arm(CutPoint::Never);
    run_client(&proxy).unwrap();
    assert_eq!(server.command(&["GET", "a"]).text(), "2");
}

#[test]
fn all_connections_of_a_client_are_cut_off_together() {
    let server = Server::start();
    let proxy = FaultProxy::before(&server);
    let mut other = Connection::open(&Address::Port(proxy.port())).unwrap();
    other.command(&["PING"]).unwrap();
    proxy.arm(CutPoint::After(1));
    let mut idle = Connection::open(&Address::Port(proxy.port())).unwrap();
    idle.command(&["PING"]).unwrap();
    assert!(run_client(&proxy).is_err());
    assert!(idle.command(&["PING"]).is_err());
    assert!(other.command(&["PING"]).is_err(), "arming closes all");
}

#[test]
fn commands_sent_together_are_cut_apart() {
    let server = Server::start();
    let proxy = FaultProxy::before(&server);
    proxy.arm(CutPoint::After(1));
    let mut connection = Connection::open(&Address::Port(proxy.port())).unwrap();
    for value in ["a", "b", "c"] {
        connection.send(&["LPUSH", "list", value]).unwrap();
    }
    assert_eq!(connection.receive().unwrap().integer(), 1);
    assert!(connection.receive().is_err());
    assert_eq!(server.command(&["LLEN", "list"]).integer(), 2);
}

#[test]
fn a_blocking_pop_is_cut_after_it_popped_an_element() {
    let server = Server::start();
    let proxy = FaultProxy::before(&server);
    proxy.arm(CutPoint::After(0));
    let mut connection = Connection::open(&Address::Port(proxy.port())).unwrap();
    connection.send(&["BRPOPLPUSH", "from", "to", "0"]).unwrap();
    assert!(!proxy.was_cut());
    server.command(&["LPUSH", "from", "x"]).ok();
    assert!(connection.receive().is_err());
    assert!(proxy.was_cut());
    assert_eq!(server.command(&["LLEN", "to"]).integer(), 1);
}
