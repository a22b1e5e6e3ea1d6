//! Lua scripts, built from one file per verb and the shared files it uses.
//!
//! A script's file starts with a header of lines `-- field: …`. `keys` lists the keys it may access,
//! in the order of `KEYS`; `uses` the files of `lua/lib` it needs, in order; `flags` the flags of
//! its shebang; `guards: lazy` says that the script checks the types of keys itself. `args` and
//! `reply` document the call. `lua/lib/names.lua` names constants; it is part of every script.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use windlass_redis_link::script::header;

use crate::keys::{Key, KeyType};

mod fold;

/// Where a script reads the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClockSource {
    /// The command `TIME`.
    Redis,
    /// Its last argument, in tests.
    Argument,
}

#[derive(Debug)]
pub(crate) struct Script {
    /// Its name in the table below.
    #[cfg(test)]
    pub(crate) name: &'static str,
    pub(crate) sent: windlass_redis_link::Script,
    /// The keys it declares, in order.
    pub(crate) keys: Vec<Key>,
    /// Whether it remembers its reply for a call that is sent again (`lua/lib/call.lua`). Its first
    /// arguments name the call.
    pub(crate) is_remembered: bool,
}

macro_rules! scripts {
    ($($name:ident: $file:literal,)+) => {
        /// All scripts, for one source of time.
        #[derive(Debug)]
        pub(crate) struct Scripts { $(pub(crate) $name: Script,)+ }

        impl Scripts {
            fn build(clock: ClockSource) -> Self {
                Self { $($name: build(stringify!($name), include_str!(concat!("../lua/", $file)), clock),)+ }
            }

            /// All of them, in table order.
            #[cfg(test)]
            pub(crate) fn all(&self) -> Vec<&Script> {
                vec![$(&self.$name,)+]
            }

            /// The name and the file of each script.
            #[cfg(test)]
            fn files() -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($name), include_str!(concat!("../lua/", $file))),)+]
            }
        }
    };
}

scripts! {
    accept: "accept.lua",
    actions_list: "actions/list.lua",
    actions_log: "actions/log.lua",
    amend: "amend.lua",
    audit_begin: "audit/begin.lua",
    audit_claims: "audit/claims.lua",
    audit_count: "audit/count.lua",
    audit_end: "audit/end.lua",
    audit_group_records: "audit/group_records.lua",
    audit_groups: "audit/groups.lua",
    audit_jobs: "audit/jobs.lua",
    audit_key_types: "audit/key_types.lua",
    audit_leases: "audit/leases.lua",
    audit_mark: "audit/mark.lua",
    audit_open_claims: "audit/open_claims.lua",
    audit_orphans: "audit/orphans.lua",
    audit_ready_list: "audit/ready_list.lua",
    audit_running: "audit/running.lua",
    audit_schedules: "audit/schedules.lua",
    audit_stale: "audit/stale.lua",
    audit_tombstones: "audit/tombstones.lua",
    audit_verify: "audit/verify.lua",
    cancel: "cancel.lua",
    complete: "complete.lua",
    create: "create.lua",
    delete: "delete.lua",
    delete_queue: "delete_queue.lua",
    enqueue: "enqueue.lua",
    errors_clear: "errors/clear.lua",
    errors_list: "errors/list.lua",
    explain: "explain.lua",
    fail: "fail.lua",
    fast_complete: "fast/complete.lua",
    fast_enqueue: "fast/enqueue.lua",
    fast_group_complete: "fast/group_complete.lua",
    fast_group_enqueue: "fast/group_enqueue.lua",
    find: "find.lua",
    get: "get.lua",
    group_list: "group/list.lua",
    group_set: "group/set.lua",
    history: "history.lua",
    list: "list.lua",
    maintain: "maintain.lua",
    migrate: "migrate.lua",
    partition: "partition.lua",
    pause: "pause.lua",
    progress: "progress.lua",
    promote: "promote.lua",
    purge: "purge.lua",
    release: "release.lua",
    renew: "renew.lua",
    resume: "resume.lua",
    retry: "retry.lua",
    schedule_change: "schedule/change.lua",
    schedule_list: "schedule/list.lua",
    schedule_put: "schedule/put.lua",
    schedule_refill: "schedule/refill.lua",
    schedule_run: "schedule/run.lua",
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

static BY_REDIS: LazyLock<Scripts> = LazyLock::new(|| Scripts::build(ClockSource::Redis));
static BY_ARGUMENT: LazyLock<Scripts> = LazyLock::new(|| Scripts::build(ClockSource::Argument));

impl Scripts {
    /// The scripts that read their time from `clock`.
    pub(crate) fn of(clock: ClockSource) -> &'static Self {
        match clock {
            ClockSource::Redis => &BY_REDIS,
            ClockSource::Argument => &BY_ARGUMENT,
        }
    }
}

macro_rules! libraries {
    ($($name:literal,)+) => {
        /// The text of a file of `lua/lib`.
        fn library(name: &str) -> &'static str {
            match name {
                $($name => include_str!(concat!("../lua/lib/", $name, ".lua")),)+
                _ => panic!("lua/lib has no file {name}"),
            }
        }
    };
}

libraries! {
    "attempts",
    "audit/claim",
    "audit/fingerprint",
    "audit/group",
    "audit/group_numbers",
    "audit/job",
    "audit/mark",
    "audit/opts",
    "audit/rename",
    "audit/report",
    "audit/schedule",
    "audit/state",
    "audit/validate",
    "byte_order",
    "call",
    "cancel",
    "change",
    "claim",
    "clock",
    "clock_argument",
    "enqueue",
    "errors",
    "extend",
    "fast/group",
    "fast/group_claim",
    "fast/group_completions",
    "fast/group_turns",
    "filter",
    "finish",
    "group/line",
    "group/page",
    "group/pick",
    "group/place",
    "group/record",
    "group/reply",
    "group/turn",
    "history",
    "lease",
    "limit",
    "load",
    "load_call",
    "names",
    "notify",
    "opts",
    "outcome",
    "pick",
    "plan",
    "read",
    "reap",
    "record_claim",
    "requeue",
    "scan",
    "schedule/definition",
    "schedule/enqueue",
    "schedule/fire",
    "stale",
    "state",
    "stats",
    "store_jobs",
    "tombstone",
    "waiters",
    "waiting",
    "workers/registry",
}

/// Builds a script: flags, keys, a check of their types, names, the clock, the files it uses, and
/// its own text.
///
/// # Panics
///
/// If a file is wrong. All files are part of this crate, so tests find that.
fn build(name: &'static str, text: &'static str, clock: ClockSource) -> Script {
    let keys: Vec<Key> = header(text, "keys")
        .unwrap_or_default()
        .split(' ')
        .map(|key| {
            Key::named(key).unwrap_or_else(|| panic!("{name} declares the unknown key {key}"))
        })
        .collect();
    let mut source = String::new();
    if header(text, "guards") != Some("lazy") {
        source.push_str("check_types()\n");
    }
    source.push_str(library(match clock {
        ClockSource::Redis => "clock",
        ClockSource::Argument => "clock_argument",
    }));
    let uses = || header(text, "uses").unwrap_or_default().split_whitespace();
    let is_remembered = uses().any(|used| used == "call") || text.contains("CALL_SLOT");
    for used in uses() {
        match used {
            "stats" if is_remembered => source.push_str(library("load_call")),
            "stats" => source.push_str(library("load")),
            _ => {}
        }
        source.push_str(library(used));
    }
    source.push_str(text);
    for name in ["check_types", "check_schedule_types", "check_group_types"] {
        if source.contains(&format!("{name}()")) {
            let keys = keys.iter().filter(|key| checked_by(**key) == name);
            source.insert_str(0, &type_checks(name, keys));
        }
    }
    source.insert_str(0, library("names"));
    let flags = header(text, "flags").unwrap_or_default();
    let source = fold::fold(&source, &positions(&keys));
    Script {
        #[cfg(test)]
        name,
        sent: windlass_redis_link::Script::new(flags, &source),
        keys,
        is_remembered,
    }
}

/// The expression for each key: `k_jobs` is `KEYS[3]`; `k_ready[n]`, the list of a priority, is
/// `KEYS[7 + n]`.
fn positions(keys: &[Key]) -> HashMap<String, String> {
    let mut positions = HashMap::new();
    let mut at = 0;
    for key in keys {
        let end = if key.count() == 1 { "]" } else { " + " };
        positions.insert(format!("k_{}", key.name()), format!("KEYS[{}{end}", at + 1));
        at += key.count();
    }
    positions
}

/// The function of a script that checks the type of a key.
fn checked_by(key: Key) -> &'static str {
    if key.is_of_schedules() {
        "check_schedule_types"
    } else if key.is_of_groups() {
        "check_group_types"
    } else if key.name() == "history" {
        // Written by `pcall`: a history must not stop a queue.
        "unchecked"
    } else {
        "check_types"
    }
}

/// Declares a function that fails if a key has the wrong type: a script that writes must not fail
/// half-way. Those of schedules and groups are checked only in a queue that has them.
fn type_checks<'a>(function: &str, keys: impl Iterator<Item = &'a Key>) -> String {
    let mut checks = String::new();
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
        let _ = match command {
            None => Ok(()),
            Some(command) if key.count() == 1 => {
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
    format!("local function {function}()\n{checks}end\n")
}

#[cfg(test)]
mod tests;
