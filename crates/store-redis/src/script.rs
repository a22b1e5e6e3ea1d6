//! The scripts: Lua files with a header as contract, put together with the parts they use.
//!
//! A script's file begins with lines `-- word: …`: `keys` names the keys it may touch, in the order
//! they are declared; `uses` the parts of `lua/lib` it is built on, in order; `flags` what Redis
//! should let it do; `guards: lazy` that it checks the types of keys itself, where it needs them.
//! Everything else in the header is for people.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use crate::keys::{Key, KeyType};

mod fold;

/// Where a script reads the time: from Redis, or from its last argument in tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClockSource {
    /// `TIME`, read once.
    Redis,
    /// The last argument.
    Argument,
}

/// One script, ready to be sent.
#[derive(Debug)]
pub(crate) struct Script {
    /// The verb.
    #[cfg(test)]
    pub(crate) name: &'static str,
    /// The whole text.
    pub(crate) source: String,
    /// The SHA-1 of the text, by which the server knows it.
    pub(crate) sha: String,
    /// The keys it declares, in order.
    pub(crate) keys: Vec<Key>,
}

impl Script {
    /// A script of another system, whose keys are not ours to name.
    pub(crate) fn guest(parts: &[&str]) -> Self {
        let flags = parts.iter().find_map(|part| header(part, "flags"));
        let source = shebang(flags.unwrap_or_default()) + &parts.concat();
        let sha = redis::Script::new(&source).get_hash().to_owned();
        Self {
            #[cfg(test)]
            name: "guest",
            source,
            sha,
            keys: Vec::new(),
        }
    }
}

macro_rules! scripts {
    ($($name:ident: $file:literal,)+) => {
        /// Every script of one clock.
        #[derive(Debug)]
        pub(crate) struct Scripts { $(pub(crate) $name: Script,)+ }

        impl Scripts {
            fn put_together(clock: ClockSource) -> Self {
                Self { $($name: compose(stringify!($name), include_str!(concat!("../lua/", $file)), clock),)+ }
            }

            /// All of them, in the order of the table.
            #[cfg(test)]
            pub(crate) fn all(&self) -> Vec<&Script> {
                vec![$(&self.$name,)+]
            }
        }
    };
}

scripts! {
    accept: "accept.lua",
    audit_begin: "audit/begin.lua",
    audit_claims: "audit/claims.lua",
    audit_count: "audit/count.lua",
    audit_end: "audit/end.lua",
    audit_jobs: "audit/jobs.lua",
    audit_leases: "audit/leases.lua",
    audit_mark: "audit/mark.lua",
    audit_open_claims: "audit/open_claims.lua",
    audit_orphans: "audit/orphans.lua",
    audit_ready_list: "audit/ready_list.lua",
    audit_running: "audit/running.lua",
    audit_stale: "audit/stale.lua",
    audit_tombstones: "audit/tombstones.lua",
    audit_types: "audit/types.lua",
    audit_verify: "audit/verify.lua",
    cancel: "cancel.lua",
    claim: "claim.lua",
    complete: "complete.lua",
    create: "create.lua",
    delete: "delete.lua",
    enqueue: "enqueue.lua",
    fail: "fail.lua",
    find: "find.lua",
    get: "get.lua",
    list: "list.lua",
    maintain: "maintain.lua",
    partition: "partition.lua",
    pause: "pause.lua",
    progress: "progress.lua",
    promote: "promote.lua",
    purge: "purge.lua",
    release: "release.lua",
    renew: "renew.lua",
    resume: "resume.lua",
    retry: "retry.lua",
    set: "set.lua",
    single_claims: "single_claims.lua",
    snooze: "snooze.lua",
    stats: "stats.lua",
    take_back: "take_back.lua",
    watch: "watch.lua",
    worker_command: "workers/command.lua",
    worker_find: "workers/find.lua",
    worker_heartbeat: "workers/heartbeat.lua",
    worker_leave: "workers/leave.lua",
    worker_list: "workers/list.lua",
    worker_register: "workers/register.lua",
}

static BY_REDIS: LazyLock<Scripts> = LazyLock::new(|| Scripts::put_together(ClockSource::Redis));
static BY_ARGUMENT: LazyLock<Scripts> =
    LazyLock::new(|| Scripts::put_together(ClockSource::Argument));

impl Scripts {
    /// The scripts that read their time from `clock`.
    pub(crate) fn of(clock: ClockSource) -> &'static Self {
        match clock {
            ClockSource::Redis => &BY_REDIS,
            ClockSource::Argument => &BY_ARGUMENT,
        }
    }
}

macro_rules! parts {
    ($($name:literal,)+) => {
        /// A part of `lua/lib` by its name.
        fn part(name: &str) -> &'static str {
            match name {
                $($name => include_str!(concat!("../lua/lib/", $name, ".lua")),)+
                _ => panic!("no part of the scripts is called {name}"),
            }
        }
    };
}

parts! {
    "audit/claim",
    "audit/fingerprint",
    "audit/job",
    "audit/mark",
    "audit/opts",
    "audit/rename",
    "audit/report",
    "audit/state",
    "audit/validate",
    "byte_order",
    "change",
    "claim",
    "claim_fast",
    "clock",
    "clock_argument",
    "enqueue",
    "enqueue_fast",
    "extend",
    "fast_path",
    "finish",
    "lease",
    "notify",
    "opts",
    "outcome",
    "pick",
    "read",
    "reap",
    "record_claim",
    "scan",
    "state",
    "stats",
    "waiters",
    "waiting",
    "workers/registry",
}

/// What follows `-- word:` in the header of a script.
fn header<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let lines = text.lines().map_while(|line| line.strip_prefix("-- "));
    let mut values = lines.filter_map(|line| line.strip_prefix(word)?.strip_prefix(':'));
    values.next().map(str::trim)
}

fn shebang(flags: &str) -> String {
    match flags {
        "" => "#!lua\n".to_owned(),
        flags => format!("#!lua flags={flags}\n"),
    }
}

/// Puts a script together: flags, keys by their names, a check of their types, the clock, the
/// parts it uses, and its own text. The parts come from this crate, so what is wrong with them is
/// found by the first test and never by a user.
fn compose(name: &'static str, text: &'static str, clock: ClockSource) -> Script {
    let keys: Vec<Key> = header(text, "keys")
        .unwrap_or_default()
        .split(' ')
        .map(|key| Key::named(key).unwrap_or_else(|| panic!("{name} names the unknown key {key}")))
        .collect();
    let mut source = shebang(header(text, "flags").unwrap_or_default());
    source.push_str(&declared(&keys));
    if header(text, "guards") != Some("lazy") {
        source.push_str("guard_all()\n");
    }
    source.push_str(part(match clock {
        ClockSource::Redis => "clock",
        ClockSource::Argument => "clock_argument",
    }));
    for used in header(text, "uses").unwrap_or_default().split_whitespace() {
        source.push_str(part(used));
    }
    source.push_str(text);
    let source = fold::fold(&source, &places(&keys));
    let sha = redis::Script::new(&source).get_hash().to_owned();
    Script {
        #[cfg(test)]
        name,
        source,
        sha,
        keys,
    }
}

/// Where each key stands among those declared; the ready lists are a table by priority.
fn places(keys: &[Key]) -> HashMap<String, String> {
    let mut places = HashMap::new();
    let mut at = 0;
    for key in keys {
        if key.count() == 1 {
            places.insert(format!("k_{}", key.name()), format!("KEYS[{}]", at + 1));
        }
        at += key.count();
    }
    places
}

/// The lines that name the lists of keys, and the check that each key is of its type: a script that
/// writes must not fail half-way.
fn declared(keys: &[Key]) -> String {
    let (mut names, mut checks) = (String::new(), String::new());
    let mut at = 0;
    for key in keys {
        let name = key.name();
        let command = match key.kind() {
            KeyType::Hash => Some("HLEN"),
            KeyType::List => Some("LLEN"),
            KeyType::Set => Some("SCARD"),
            KeyType::SortedSet => Some("ZCARD"),
            KeyType::Text => Some("STRLEN"),
            KeyType::Channel => None,
        };
        let is_one = key.count() == 1;
        if !is_one {
            let each = (0..key.count()).map(|n| format!("[{n}] = KEYS[{}]", at + n + 1));
            let each: Vec<_> = each.collect();
            let _ = writeln!(names, "local k_{name} = {{ {} }}", each.join(", "));
        }
        at += key.count();
        let _ = match command {
            None => Ok(()),
            Some(command) if is_one => {
                writeln!(checks, "  redis.call('{command}', k_{name})")
            }
            Some(command) => {
                let last = key.count() - 1;
                writeln!(
                    checks,
                    "  for i = 0, {last} do redis.call('{command}', k_{name}[i]) end"
                )
            }
        };
    }
    format!("{names}local function guard_all()\n{checks}end\n")
}

#[cfg(test)]
mod tests;
