//! The proxy that cuts a client off at any command.

use std::io;

use windlass_private_redis::resp::Address;
use windlass_private_redis::{Connection, Cut, Server, Steps};

/// A client with three commands; it fails where it is cut off.
fn work(steps: &Steps) -> io::Result<()> {
    let mut link = Connection::open(&Address::Port(steps.port()))?;
    link.command(&["PING"])?;
    link.command(&["SET", "a", "1"])?;
    link.command(&["INCR", "a"])?;
    link.command(&["LPUSH", "done", "x"])?;
    Ok(())
}

#[test]
fn a_client_is_cut_off_before_and_after_each_of_its_commands() {
    let server = Server::start();
    let steps = Steps::before(&server);
    let mut left = Vec::new();
    for cut in Cut::each() {
        server.command(&["FLUSHALL"]).ok();
        steps.arm(cut);
        let ended = work(&steps);
        assert_eq!(ended.is_err(), steps.was_cut(), "{cut:?}");
        let a = server.command(&["EVAL", "return redis.call('GET', 'a') or '-'", "0"]);
        let done = server.command(&["LLEN", "done"]).integer();
        left.push(format!("{}{done}", a.text()));
        if !steps.was_cut() {
            break;
        }
    }
    assert_eq!(left, ["-0", "10", "10", "20", "20", "21", "21"]);
    assert_eq!(steps.commands(), ["SET a 1", "INCR a", "LPUSH done x"]);
}

#[test]
fn a_client_that_was_cut_off_is_turned_away_until_the_next_cut() {
    let server = Server::start();
    let steps = Steps::before(&server);
    steps.arm(Cut::Before(0));
    assert!(work(&steps).is_err());
    assert!(work(&steps).is_err());
    steps.arm(Cut::Never);
    work(&steps).unwrap();
    assert_eq!(server.command(&["GET", "a"]).text(), "2");
}

#[test]
fn all_connections_of_a_client_are_cut_off_together() {
    let server = Server::start();
    let steps = Steps::before(&server);
    let mut other = Connection::open(&Address::Port(steps.port())).unwrap();
    other.command(&["PING"]).unwrap();
    steps.arm(Cut::After(1));
    let mut idle = Connection::open(&Address::Port(steps.port())).unwrap();
    idle.command(&["PING"]).unwrap();
    assert!(work(&steps).is_err());
    assert!(idle.command(&["PING"]).is_err());
    assert!(other.command(&["PING"]).is_err(), "arming ends all");
}

#[test]
fn commands_sent_together_are_cut_apart() {
    let server = Server::start();
    let steps = Steps::before(&server);
    steps.arm(Cut::After(1));
    let mut link = Connection::open(&Address::Port(steps.port())).unwrap();
    for word in ["a", "b", "c"] {
        link.send(&["LPUSH", "list", word]).unwrap();
    }
    assert_eq!(link.receive().unwrap().integer(), 1);
    assert!(link.receive().is_err());
    assert_eq!(server.command(&["LLEN", "list"]).integer(), 2);
}

#[test]
fn a_wait_that_ends_is_cut_after_it_took_something() {
    let server = Server::start();
    let steps = Steps::before(&server);
    steps.arm(Cut::After(0));
    let mut link = Connection::open(&Address::Port(steps.port())).unwrap();
    link.send(&["BRPOPLPUSH", "from", "to", "0"]).unwrap();
    assert!(!steps.was_cut());
    server.command(&["LPUSH", "from", "x"]).ok();
    assert!(link.receive().is_err());
    assert!(steps.was_cut());
    assert_eq!(server.command(&["LLEN", "to"]).integer(), 1);
}
