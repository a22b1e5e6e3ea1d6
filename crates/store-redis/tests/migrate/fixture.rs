//! Plants a store of schema 1, and reads all keys of a server.

use std::collections::BTreeMap;

use windlass_core::{Error, ErrorKind, Result};
use windlass_store_redis::{MigratedPage, RedisStore};
use windlass_testkit::redis::{Reply, Server};

const SCHEMA_1: &str = include_str!("schema1.txt");

/// A server with what the scenario leaves in a store of schema 1.
pub(crate) fn planted() -> Server {
    let server = Server::start();
    let lines = SCHEMA_1.lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        let mut words = line.splitn(3, ' ');
        let (command, key) = (words.next().unwrap(), words.next().unwrap());
        let mut args: Vec<Vec<u8>> = words
            .flat_map(|rest| rest.split(' '))
            .map(unescape)
            .collect();
        let command = match command {
            "PACK" => {
                let numbers = String::from_utf8(args.pop().unwrap()).unwrap();
                let numbers: Vec<f64> = numbers.split(',').map(|n| n.parse().unwrap()).collect();
                args.push(pack(&numbers));
                "HSET"
            }
            command => command,
        };
        args.splice(0..0, [command.into(), key.into()]);
        server.command(&args).ok();
    }
    server
}

/// Reads `\n`, `\t`, `\r`, `\xff`, and `x*9`.
fn unescape(word: &str) -> Vec<u8> {
    if let Some((byte, count)) = word.split_once('*') {
        return byte.as_bytes().repeat(count.parse().unwrap());
    }
    let (mut bytes, mut rest) = (Vec::new(), word.as_bytes());
    while let [first, tail @ ..] = rest {
        let (byte, tail) = match (*first, tail) {
            (b'\\', [b'n', tail @ ..]) => (b'\n', tail),
            (b'\\', [b't', tail @ ..]) => (b'\t', tail),
            (b'\\', [b'r', tail @ ..]) => (b'\r', tail),
            (b'\\', [b'x', tail @ ..]) => {
                let digits = str::from_utf8(&tail[..2]).unwrap();
                (u8::from_str_radix(digits, 16).unwrap(), &tail[2..])
            }
            (byte, tail) => (byte, tail),
        };
        bytes.push(byte);
        rest = tail;
    }
    bytes
}

pub(crate) fn pack(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// The stats of a queue as they are stored.
pub(crate) fn stats_of(server: &Server, tag: &str) -> Vec<f64> {
    let state = format!("windlass:{{{tag}}}:state");
    let Reply::Bulk(packed) = server.command(&["HGET", &state, "figures"]).ok() else {
        panic!("{tag} has no stats");
    };
    let (numbers, _) = packed.as_chunks::<8>();
    numbers.iter().copied().map(f64::from_le_bytes).collect()
}

/// Each member of a key, with its value or score if it has one.
type Members = Vec<Vec<Vec<u8>>>;

/// Everything that a server stores, by key. Members are sorted unless the key is a list.
pub(crate) fn stored(server: &Server) -> BTreeMap<String, Members> {
    let keys = server.command(&["KEYS", "*"]).ok();
    let keys = keys.array().iter().map(Reply::text);
    keys.map(|key| (key.clone(), members(server, &key)))
        .collect()
}

fn members(server: &Server, key: &str) -> Members {
    let bytes = |item: &Reply| match item {
        Reply::Bulk(bytes) => bytes.clone(),
        other => panic!("{key} has {other:?}"),
    };
    let read = |command: &[&str], width: usize| -> Members {
        let reply = server.command(command).ok();
        let members = reply.array().chunks(width);
        members
            .map(|member| member.iter().map(bytes).collect())
            .collect()
    };
    let mut found = match server.command(&["TYPE", key]).ok().text().as_str() {
        "list" => return read(&["LRANGE", key, "0", "-1"], 1),
        "hash" => read(&["HGETALL", key], 2),
        "zset" => read(&["ZRANGE", key, "0", "-1", "WITHSCORES"], 2),
        "set" => read(&["SMEMBERS", key], 1),
        _ => vec![vec![bytes(&server.command(&["GET", key]).ok())]],
    };
    found.sort();
    found
}

/// Migrates a store and returns the pages.
pub(crate) async fn migrate(server: &Server) -> Result<Vec<MigratedPage>> {
    let mut pages = Vec::new();
    let on_page = |page: &MigratedPage| {
        pages.push(page.clone());
        Ok(())
    };
    RedisStore::migrate(&server.url(), on_page).await?;
    Ok(pages)
}

/// Stops a migration after some pages. Returns whether it had so many.
pub(crate) async fn migrate_pages(server: &Server, count: usize) -> bool {
    let mut done = 0;
    let on_page = |_: &MigratedPage| {
        done += 1;
        if done == count {
            return Err(Error::new(ErrorKind::Conflict, "stopped", "go on"));
        }
        Ok(())
    };
    let stopped = RedisStore::migrate(&server.url(), on_page).await;
    stopped.is_err_and(|error| error.kind() == ErrorKind::Conflict)
}
