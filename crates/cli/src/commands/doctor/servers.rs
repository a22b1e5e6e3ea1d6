//! The servers of a Redis store: durability, memory and clock.

use std::collections::BTreeSet;

use windlass::redis::{RedisInfo, ServerInfo};
use windlass::store::DurabilityLevel;

use super::Check;

/// Largest clock difference. Absolute due times use the caller's clock, all else uses that of Redis.
const CLOCK_SKEW_MAX_MS: u64 = 1000;

/// Memory use, in percent, from which a server is nearly full.
const NEARLY_FULL: u64 = 80;

/// Checks every server.
pub(super) fn examine(info: &RedisInfo, checks: &mut Vec<Check>) {
    for server in &info.servers {
        if let Some(error) = &server.error {
            let message = describe(server, &error.to_string());
            checks.push(Check::fail("server", message, error.help()));
            continue;
        }
        checks.push(version(server));
        checks.extend(eviction(server));
        checks.extend(memory(server));
        checks.push(disk(server));
        checks.push(durability(server, info.requested));
        checks.extend(clock(server));
    }
    checks.extend(versions(&info.servers));
}

/// Returns a warning if the servers run different versions.
fn versions(servers: &[ServerInfo]) -> Option<Check> {
    let versions = servers
        .iter()
        .filter_map(|server| server.version.as_deref());
    let versions: BTreeSet<_> = versions.collect();
    (versions.len() > 1).then(|| {
        let versions: Vec<_> = versions.into_iter().collect();
        let message = format!(
            "the servers run different versions: {}",
            versions.join(", ")
        );
        let fix =
            "ignore this during an upgrade; otherwise upgrade all servers to the newest version";
        Check::warn("server", message, fix)
    })
}

fn describe(server: &ServerInfo, message: &str) -> String {
    format!("{}: {message}", server.address)
}

fn ok(server: &ServerInfo, name: &str, message: &str) -> Check {
    Check::ok(name, describe(server, message))
}

fn warn(server: &ServerInfo, name: &str, message: &str, fix: &str) -> Check {
    Check::warn(name, describe(server, message), fix)
}

fn fail(server: &ServerInfo, name: &str, message: &str, fix: &str) -> Check {
    Check::fail(name, describe(server, message), fix)
}

fn version(server: &ServerInfo) -> Check {
    let version = server.version.as_deref().unwrap_or("unknown version");
    match server.role.as_deref() {
        Some("master") => ok(server, "server", &format!("{version}, primary")),
        role => warn(
            server,
            "server",
            &format!(
                "{version}, not a primary (role: {})",
                role.unwrap_or("unknown")
            ),
            "use the address of the primary, or of its sentinels; a failover may be in progress",
        ),
    }
}

fn eviction(server: &ServerInfo) -> Option<Check> {
    let policy = server.policy.as_deref()?;
    Some(if policy == "noeviction" {
        ok(server, "eviction", "noeviction: jobs are never evicted")
    } else {
        fail(
            server,
            "eviction",
            &format!("{policy}: jobs are evicted when memory is full"),
            "run CONFIG SET maxmemory-policy noeviction, and set it in redis.conf",
        )
    })
}

fn memory(server: &ServerInfo) -> Option<Check> {
    let (used, limit) = (server.used_memory?, server.max_memory?);
    if limit == 0 {
        return Some(warn(
            server,
            "memory",
            &format!(
                "{used} bytes used and no maxmemory; the kernel may kill the server when memory runs out"
            ),
            "set maxmemory below the memory of the machine, so that enqueue fails first",
        ));
    }
    let percent = used.saturating_mul(100) / limit;
    let message = format!("{used} of {limit} bytes used ({percent}%)");
    Some(if percent < NEARLY_FULL {
        ok(server, "memory", &message)
    } else {
        warn(
            server,
            "memory",
            &format!("{message}; enqueue fails when it is full"),
            "start workers, keep fewer finished jobs with `windlass queue set`, or raise maxmemory",
        )
    })
}

fn disk(server: &ServerInfo) -> Check {
    match (server.is_append_only, server.fsync.as_deref()) {
        (Some(true), Some("always")) => ok(server, "disk", "appendonly, synced before each reply"),
        (Some(true), Some("everysec")) => ok(
            server,
            "disk",
            "appendonly, synced every second; a power loss may lose the last second",
        ),
        (Some(true), fsync) => warn(
            server,
            "disk",
            &format!(
                "appendonly, appendfsync {}; a power loss may lose many seconds",
                fsync.unwrap_or("unknown")
            ),
            "run CONFIG SET appendfsync everysec (or always for durability=synced), and set it in redis.conf",
        ),
        (Some(false), _) => warn(
            server,
            "disk",
            "no append-only file; a restart may lose accepted jobs",
            "run CONFIG SET appendonly yes, and set it in redis.conf",
        ),
        (None, _) => warn(
            server,
            "disk",
            "cannot determine whether jobs are written to disk",
            "allow this user to run INFO, or ask the operator of the server",
        ),
    }
}

fn durability(server: &ServerInfo, asked: DurabilityLevel) -> Check {
    let replicas = server.replicas.unwrap_or(0);
    let connected = format!("{replicas} replicas connected");
    match asked {
        DurabilityLevel::Replicated(count) if replicas < u64::from(count) => fail(
            server,
            "durability",
            &format!("replicated:{count} required, {connected}"),
            "reconnect the replicas, or require fewer with ?durability=replicated:N",
        ),
        DurabilityLevel::Replicated(count)
            if server
                .min_replicas
                .is_some_and(|min| min < u64::from(count)) =>
        {
            warn(
                server,
                "durability",
                &format!(
                    "replicated:{count} required, {connected}; it accepts writes while it is cut off from them"
                ),
                &format!("run CONFIG SET min-replicas-to-write {count}, and set it in redis.conf"),
            )
        }
        DurabilityLevel::Replicated(count) => ok(
            server,
            "durability",
            &format!("replicated:{count} required, {connected}"),
        ),
        // Opening the store fails if a server does not support it.
        DurabilityLevel::Synced => ok(
            server,
            "durability",
            &format!("synced required and supported, {connected}"),
        ),
        _ => ok(
            server,
            "durability",
            &format!("memory required; a failover may lose the latest changes, {connected}"),
        ),
    }
}

fn clock(server: &ServerInfo) -> Option<Check> {
    let ahead = server.clock_ahead_ms?;
    let skew = ahead.unsigned_abs();
    let side = if ahead < 0 { "behind" } else { "ahead of" };
    let message = format!("{skew} ms {side} this machine");
    Some(if skew <= CLOCK_SKEW_MAX_MS {
        ok(server, "clock", &message)
    } else {
        warn(
            server,
            "clock",
            &format!("{message}; jobs with an absolute due time run early or late by as much"),
            "synchronize both clocks with NTP, or enqueue with --delay",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    fn healthy() -> ServerInfo {
        ServerInfo {
            address: "h:6379".to_owned(),
            version: Some("7.0.15".to_owned()),
            role: Some("master".to_owned()),
            policy: Some("noeviction".to_owned()),
            used_memory: Some(79),
            max_memory: Some(100),
            is_append_only: Some(true),
            fsync: Some("everysec".to_owned()),
            replicas: Some(1),
            min_replicas: Some(1),
            clock_ahead_ms: Some(-1000),
            error: None,
        }
    }

    /// Returns the checks that are not ok.
    fn unhealthy(asked: DurabilityLevel, server: ServerInfo) -> Vec<(String, Status)> {
        let info = RedisInfo {
            prefix: "windlass".to_owned(),
            requested: asked,
            servers: vec![server],
        };
        let mut checks = Vec::new();
        examine(&info, &mut checks);
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
    fn a_healthy_server_passes_every_check() {
        for asked in [
            DurabilityLevel::Memory,
            DurabilityLevel::Replicated(1),
            DurabilityLevel::Synced,
        ] {
            assert_eq!(unhealthy(asked, healthy()), []);
        }
    }

    #[test]
    fn each_risk_to_jobs_is_reported_with_a_fix() {
        let changed = |change: fn(&mut ServerInfo)| {
            let mut server = healthy();
            change(&mut server);
            unhealthy(DurabilityLevel::Replicated(1), server)
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
        assert_eq!(changed(|it| it.min_replicas = Some(0)), warn("durability"));
        assert_eq!(changed(|it| it.clock_ahead_ms = Some(1001)), warn("clock"));
        assert_eq!(changed(|it| it.clock_ahead_ms = Some(-1001)), warn("clock"));
    }

    #[test]
    fn servers_of_different_versions_are_a_warning() {
        let other = ServerInfo {
            version: Some("7.2.0".to_owned()),
            ..healthy()
        };
        assert!(versions(&[healthy(), healthy()]).is_none());
        let check = versions(&[healthy(), other]).unwrap();
        assert_eq!(check.status, Status::Warn);
        assert!(check.message.ends_with("7.0.15, 7.2.0"), "{check:?}");
    }

    #[test]
    fn a_server_that_does_not_answer_is_a_failure() {
        let kind = windlass::ErrorKind::StoreUnreachable;
        let server = ServerInfo {
            address: "h:6379".to_owned(),
            error: Some(windlass::Error::new(kind, "connection refused", "start it")),
            ..ServerInfo::default()
        };
        assert_eq!(
            unhealthy(DurabilityLevel::Memory, server),
            one("server", Status::Fail)
        );
    }
}
