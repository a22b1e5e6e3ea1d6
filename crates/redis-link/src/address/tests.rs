//! Valid and invalid store URLs.

use super::*;

fn parse(url: &str) -> LinkAddress {
    LinkAddress::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn host(name: &str, port: u16) -> Host {
    Host {
        name: name.to_owned(),
        port,
    }
}

#[test]
fn one_server_is_named_by_host_port_and_database() {
    for (url, name, port, db) in [
        ("redis://localhost", "localhost", 6379, 0),
        ("redis://localhost/", "localhost", 6379, 0),
        ("redis://10.0.0.1:7000/3", "10.0.0.1", 7000, 3),
        ("redis://[::1]:7000/3", "::1", 7000, 3),
        ("redis://[::1]", "::1", 6379, 0),
        ("redis://h?db=7", "h", 6379, 7),
    ] {
        let address = parse(url);
        assert_eq!(
            address.kind,
            Kind::Single(Server::Tcp(host(name, port))),
            "{url}"
        );
        assert_eq!(
            (address.db, address.tls, address.login),
            (db, None, Login::default()),
            "{url}"
        );
        assert_eq!(address.prefix, "windlass");
        assert_eq!(address.timeout, Duration::from_secs(5));
    }
}

#[test]
fn a_login_is_decoded() {
    for (url, user, password) in [
        ("redis://joe:pw@h", Some("joe"), "pw"),
        ("redis://:pw@h", None, "pw"),
        ("redis://jo%65:p%40%3a%2F%25@h/1", Some("joe"), "p@:/%"),
        ("redis://:a@b@h", None, "a@b"),
        ("redis://h?password=p%26w", None, "p&w"),
        (
            "redis+unix:///r.sock?user=joe&password=pw",
            Some("joe"),
            "pw",
        ),
    ] {
        let login = parse(url).login;
        assert_eq!(login.user.as_deref(), user, "{url}");
        assert_eq!(login.password.as_deref(), Some(password), "{url}");
    }
}

#[test]
fn a_socket_sentinels_and_a_cluster_each_have_a_form() {
    let unix = parse("redis+unix:///run/a%20b.sock?db=2");
    assert_eq!(
        (unix.kind, unix.db),
        (Kind::Single(Server::Unix("/run/a b.sock".into())), 2)
    );
    let sentinel = parse("redis-sentinel://u:p@a:1,b/main/4?sentinel_password=x");
    assert_eq!(
        sentinel.kind,
        Kind::Sentinel {
            hosts: vec![host("a", 1), host("b", 26379)],
            master: "main".to_owned()
        }
    );
    assert_eq!(sentinel.db, 4);
    assert_eq!(sentinel.sentinel_login.password.as_deref(), Some("x"));
    let cluster = parse("rediss-cluster://a:1,[::2]:3");
    assert_eq!(
        cluster.kind,
        Kind::Cluster {
            hosts: vec![host("a", 1), host("::2", 3)]
        }
    );
    assert_eq!(cluster.tls, Some(Tls::default()));
}

#[test]
fn options_are_parsed() {
    let address = parse(
        "rediss://h/1?prefix=a.b_c:d-1&durability=replicated:2&timeout=1500ms&ca=/ca&cert=/c&key=/k",
    );
    assert_eq!(address.prefix, "a.b_c:d-1");
    assert_eq!(address.durability, DurabilityLevel::Replicated(2));
    assert_eq!(address.timeout, Duration::from_millis(1500));
    assert_eq!(
        address.tls,
        Some(Tls {
            ca: Some("/ca".into()),
            identity: Some(("/c".into(), "/k".into()))
        })
    );
    assert_eq!(
        parse("redis://h?durability=synced").durability,
        DurabilityLevel::Synced
    );
}

#[test]
fn an_invalid_url_is_rejected_with_help() {
    for url in [
        "",
        "redis",
        "redis:",
        "redis://",
        "redis://:6379",
        "redis:///0",
        "postgres://h",
        "redis://h:",
        "redis://h:0",
        "redis://h:65536",
        "redis://h:-1",
        "redis://h:+1",
        "redis://h:port",
        "redis://[::1",
        "redis://[::1]x:1",
        "redis://h/x",
        "redis://h/-1",
        "redis://h/+1",
        "redis://h/99999999999",
        "redis://h/0/1",
        "redis://h/1?db=1",
        "redis://a,b",
        "redis://joe@h",
        "redis://joe:@h",
        "redis://:p@h?password=q",
        "redis://h?user=joe",
        "redis://:%4@h",
        "redis://:%zz@h",
        "redis://:%ff@h",
        "redis://:%0a@h",
        "redis://a\nb",
        "redis://h?x=1",
        "redis://h?prefix",
        "redis://h?prefix=",
        "redis://h?prefix={a}",
        "redis://h?prefix=%7Ba%7D",
        "redis://h?prefix=a&prefix=b",
        "redis://h?durability=disk",
        "redis://h?durability=replicated",
        "redis://h?durability=replicated:0",
        "redis://h?durability=memory:1",
        "redis://h?timeout=5",
        "redis://h?timeout=0s",
        "redis://h?timeout=1d",
        "redis://h?ca=/ca",
        "rediss://h?cert=/c",
        "redis://h?sentinel_password=x",
        "redis+unix://",
        "redis+unix:///",
        "redis+unix://run/redis.sock",
        "redis-sentinel://a:1",
        "redis-sentinel://a:1/",
        "redis-sentinel://a:1//0",
        "redis-sentinel:///main",
        "redis-sentinel://a:1,/main",
        "redis-cluster://",
        "redis-cluster://a,",
        "redis-cluster://a/1",
    ] {
        let error = LinkAddress::parse(url).expect_err(url);
        assert_eq!(error.code(), "invalid", "{url}");
        assert!(error.to_string().starts_with("invalid store URL"));
        assert!(!error.help().is_empty(), "{url}");
    }
    let long = format!("redis://h?prefix={}", "a".repeat(65));
    assert!(LinkAddress::parse(&long).is_err());
}

#[test]
fn a_secret_is_never_printed() {
    let secret = "hunter2";
    for url in [
        "redis://joe:hunter2@h/0",
        "redis://:hunter2@h/0?prefix=mine",
        "redis+unix:///r.sock?password=hunter2",
        "redis-sentinel://:hunter2@a,b/m?sentinel_password=hunter2",
        "redis-cluster://hunter2:hunter2@a,b",
    ] {
        let address = parse(url);
        let shown = format!("{address} {address:?} {:?}", address.login);
        assert!(!shown.contains(secret), "{shown}");
    }
    for url in [
        "hunter2",
        "hunter2://h",
        "redis://hunter2@h",
        "redis://:x?hunter2@h",
        "redis://:x?hunter2=1@h",
        "redis://h:hunter2",
        "redis://h/hunter2",
        "redis://h?timeout=hunter2",
        "redis://h?prefix={hunter2}",
    ] {
        let error = LinkAddress::parse(url).expect_err(url);
        let shown = format!("{error} {} {error:?}", error.help());
        assert!(!shown.contains(secret), "{url}: {shown}");
    }
}

#[test]
fn an_address_without_secrets_is_printed_so_that_it_can_be_parsed_again() {
    for url in [
        "redis://h:6379/0",
        "rediss://[::1]:7000/3?prefix=mine&durability=replicated:2&timeout=1s500ms",
        "redis+unix:///run/redis.sock?db=3&durability=synced",
        "redis-sentinel://a:1,b:2/main/0",
        "redis-cluster://a:1,b:2",
    ] {
        assert_eq!(parse(url).to_string(), url);
    }
    assert_eq!(parse("redis://u:p@h").to_string(), "redis://***@h:6379/0");
}
