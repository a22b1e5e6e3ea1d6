//! The servers of a Redis store: whether jobs are safe there, and time is the same.

use std::collections::BTreeSet;

use windlass::DurabilityLevel;
use windlass::redis::{Facts, ServerFacts};

use super::{Check, Status};

/// How far apart clocks may be: times that callers name are by theirs, all else is by Redis'.
const CLOCK_APART_MS: u64 = 1000;

/// Past this share of its memory a server needs attention, in percent.
const NEARLY_FULL: u64 = 80;

/// Looks at the facts about every server.
pub(super) fn examine(facts: &Facts, checks: &mut Vec<Check>) {
    for server in &facts.servers {
        if let Some(error) = &server.error {
            let message = said(server, &error.to_string());
            checks.push(Check::new(Status::Fail, "server", message, error.help()));
            continue;
        }
        checks.push(version(server));
        checks.extend(eviction(server));
        checks.extend(memory(server));
        checks.push(disk(server));
        checks.push(durability(server, facts.asked));
        checks.extend(clock(server));
    }
    checks.extend(versions(&facts.servers));
}

/// Nothing where all servers run the same version, as they should.
fn versions(servers: &[ServerFacts]) -> Option<Check> {
    let told = servers
        .iter()
        .filter_map(|server| server.version.as_deref());
    let told: BTreeSet<_> = told.collect();
    (told.len() > 1).then(|| {
        let told: Vec<_> = told.into_iter().collect();
        let message = format!("the servers run different versions: {}", told.join(", "));
        let fix = "while you upgrade, nothing; else bring all servers to the newest of them";
        Check::new(Status::Warn, "server", message, fix)
    })
}

fn said(server: &ServerFacts, what: &str) -> String {
    format!("{}: {what}", server.address)
}

fn ok(server: &ServerFacts, name: &str, what: &str) -> Check {
    Check::ok(name, said(server, what))
}

fn bad(server: &ServerFacts, name: &str, status: Status, what: &str, fix: &str) -> Check {
    Check::new(status, name, said(server, what), fix)
}

fn version(server: &ServerFacts) -> Check {
    let version = server.version.as_deref().unwrap_or("of unknown version");
    match server.role.as_deref() {
        Some("master") => ok(server, "server", &format!("{version}, primary")),
        role => bad(
            server,
            "server",
            Status::Warn,
            &format!(
                "{version}, {} and not a primary",
                role.unwrap_or("role unknown")
            ),
            "name the primary, or sentinels that know it: the servers may be changing places",
        ),
    }
}

fn eviction(server: &ServerFacts) -> Option<Check> {
    let policy = server.policy.as_deref()?;
    Some(if policy == "noeviction" {
        ok(server, "eviction", "noeviction: jobs are never thrown away")
    } else {
        bad(
            server,
            "eviction",
            Status::Fail,
            &format!("{policy}: jobs are thrown away when memory is short"),
            "CONFIG SET maxmemory-policy noeviction, and the same in the server's file",
        )
    })
}

fn memory(server: &ServerFacts) -> Option<Check> {
    let (used, limit) = (server.used_memory?, server.max_memory?);
    if limit == 0 {
        return Some(bad(
            server,
            "memory",
            Status::Warn,
            &format!("{used} bytes used and no limit: the system may end the server"),
            "set maxmemory below the memory of the machine: enqueue is then refused in time",
        ));
    }
    let percent = used.saturating_mul(100) / limit;
    let what = format!("{used} of {limit} bytes used ({percent} %)");
    Some(if percent < NEARLY_FULL {
        ok(server, "memory", &what)
    } else {
        bad(
            server,
            "memory",
            Status::Warn,
            &format!("{what}; enqueue is refused when it is full"),
            "start workers, purge what is kept, or raise maxmemory",
        )
    })
}

fn disk(server: &ServerFacts) -> Check {
    match (server.is_append_only, server.fsync.as_deref()) {
        (Some(true), Some("always")) => ok(server, "disk", "appendonly, synced before an answer"),
        (Some(true), Some("everysec")) => ok(
            server,
            "disk",
            "appendonly, synced every second: a loss of power may lose the last second",
        ),
        (Some(true), fsync) => bad(
            server,
            "disk",
            Status::Warn,
            &format!(
                "appendonly, appendfsync {}: a loss of power may lose many seconds",
                fsync.unwrap_or("unknown")
            ),
            "CONFIG SET appendfsync everysec, or always for durability=synced",
        ),
        (Some(false), _) => bad(
            server,
            "disk",
            Status::Warn,
            "no append-only file: a restart may lose jobs that were accepted",
            "CONFIG SET appendonly yes, and the same in the server's file",
        ),
        (None, _) => bad(
            server,
            "disk",
            Status::Warn,
            "whether jobs are written to disk is not known",
            "let this user run INFO, or ask whoever runs the server",
        ),
    }
}

fn durability(server: &ServerFacts, asked: DurabilityLevel) -> Check {
    let replicas = server.replicas.unwrap_or(0);
    let have = format!("{replicas} replicas connected");
    match asked {
        DurabilityLevel::Replicated(count) if replicas < u64::from(count) => bad(
            server,
            "durability",
            Status::Fail,
            &format!("replicated:{count} is asked for, {have}"),
            "bring the replicas back, or ask for fewer with ?durability=replicated:N",
        ),
        DurabilityLevel::Replicated(count) => ok(
            server,
            "durability",
            &format!("replicated:{count} is asked for, {have}"),
        ),
        // A server that cannot do it is refused when the store is opened.
        DurabilityLevel::Synced => ok(
            server,
            "durability",
            &format!("synced is asked for and given, {have}"),
        ),
        _ => ok(
            server,
            "durability",
            &format!("memory is asked for: a failover may undo the latest changes, {have}"),
        ),
    }
}

fn clock(server: &ServerFacts) -> Option<Check> {
    let ahead = server.clock_ahead_ms?;
    let apart = ahead.unsigned_abs();
    let side = if ahead < 0 { "behind" } else { "ahead of" };
    let what = format!("{apart} ms {side} this machine");
    Some(if apart <= CLOCK_APART_MS {
        ok(server, "clock", &what)
    } else {
        bad(
            server,
            "clock",
            Status::Warn,
            &format!("{what}: jobs due at a moment you name are early or late by that"),
            "set both clocks by the network (NTP), or enqueue with --delay",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> ServerFacts {
        ServerFacts {
            address: "h:6379".to_owned(),
            version: Some("7.0.15".to_owned()),
            role: Some("master".to_owned()),
            policy: Some("noeviction".to_owned()),
            used_memory: Some(79),
            max_memory: Some(100),
            is_append_only: Some(true),
            fsync: Some("everysec".to_owned()),
            replicas: Some(1),
            clock_ahead_ms: Some(-1000),
            error: None,
        }
    }

    /// The names of the checks that are not well.
    fn unwell(asked: DurabilityLevel, server: ServerFacts) -> Vec<(String, Status)> {
        let facts = Facts {
            prefix: "windlass".to_owned(),
            asked,
            servers: vec![server],
        };
        let mut checks = Vec::new();
        examine(&facts, &mut checks);
        let bad = checks.iter().filter(|check| check.status != Status::Ok);
        bad.map(|check| {
            assert!(check.fix.is_some(), "{check:?}");
            assert!(check.message.starts_with("h:6379: "), "{check:?}");
            (check.name.clone(), check.status)
        })
        .collect()
    }

    fn one(name: &str, status: Status) -> Vec<(String, Status)> {
        vec![(name.to_owned(), status)]
    }

    #[test]
    fn a_sound_server_has_nothing_to_mend() {
        for asked in [
            DurabilityLevel::Memory,
            DurabilityLevel::Replicated(1),
            DurabilityLevel::Synced,
        ] {
            assert_eq!(unwell(asked, sound()), []);
        }
    }

    #[test]
    fn each_thing_that_endangers_jobs_is_told_with_a_fix() {
        let changed = |change: fn(&mut ServerFacts)| {
            let mut server = sound();
            change(&mut server);
            unwell(DurabilityLevel::Replicated(1), server)
        };
        let warn = |name| one(name, Status::Warn);
        let fail = |name| one(name, Status::Fail);
        assert_eq!(changed(|it| it.role = Some("slave".into())), warn("server"));
        assert_eq!(
            changed(|it| it.policy = Some("allkeys-lru".into())),
            fail("eviction")
        );
        assert_eq!(changed(|it| it.used_memory = Some(80)), warn("memory"));
        assert_eq!(changed(|it| it.max_memory = Some(0)), warn("memory"));
        assert_eq!(changed(|it| it.is_append_only = Some(false)), warn("disk"));
        assert_eq!(changed(|it| it.fsync = Some("no".into())), warn("disk"));
        assert_eq!(changed(|it| it.is_append_only = None), warn("disk"));
        assert_eq!(changed(|it| it.replicas = Some(0)), fail("durability"));
        assert_eq!(changed(|it| it.clock_ahead_ms = Some(1001)), warn("clock"));
        assert_eq!(changed(|it| it.clock_ahead_ms = Some(-1001)), warn("clock"));
    }

    #[test]
    fn servers_of_different_versions_are_told() {
        let other = ServerFacts {
            version: Some("7.2.0".to_owned()),
            ..sound()
        };
        assert!(versions(&[sound(), sound()]).is_none());
        let check = versions(&[sound(), other]).unwrap();
        assert_eq!(check.status, Status::Warn);
        assert!(check.message.ends_with("7.0.15, 7.2.0"), "{check:?}");
    }

    #[test]
    fn a_server_that_does_not_answer_is_a_failure() {
        let kind = windlass::ErrorKind::StoreUnreachable;
        let server = ServerFacts {
            address: "h:6379".to_owned(),
            error: Some(windlass::Error::new(kind, "it is away", "start it")),
            ..ServerFacts::default()
        };
        assert_eq!(
            unwell(DurabilityLevel::Memory, server),
            one("server", Status::Fail)
        );
    }
}
