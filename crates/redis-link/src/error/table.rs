//! The table of Redis error codes: what each means for a job queue and how to recover.

use windlass_core::ErrorKind;

/// How to recover from an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// Retry on the same server after a short delay.
    Retry,
    /// Find the primary again, then retry there.
    Rediscover,
    /// Back off, then retry.
    BackOff,
    /// Return the error: retrying does not help.
    Fatal,
    /// The call may have been executed: retry only if it is idempotent.
    Unknown,
}

pub(super) struct Row {
    code: &'static str,
    /// Text that distinguishes errors that share a code.
    contains: &'static str,
    pub(super) recovery: Recovery,
    pub(super) kind: ErrorKind,
    /// Continues "Redis at SERVER …".
    pub(super) message: &'static str,
    pub(super) help: &'static str,
    pub(super) hides_detail: bool,
}

const fn row(
    code: &'static str,
    recovery: Recovery,
    kind: ErrorKind,
    message: &'static str,
    help: &'static str,
) -> Row {
    Row {
        code,
        contains: "",
        recovery,
        kind,
        message,
        help,
        hides_detail: false,
    }
}

impl Row {
    const fn containing(mut self, text: &'static str) -> Self {
        self.contains = text;
        self
    }

    const fn without_detail(mut self) -> Self {
        self.hides_detail = true;
        self
    }
}

use ErrorKind::{
    Internal, Invalid, StoreBusy, StoreDamaged, StoreFull, StoreNewer, StoreOlder, StoreReadOnly,
    StoreUnreachable, StoreUnsupported,
};
use Recovery::{BackOff, Fatal, Rediscover, Retry};

const LATER: &str = "retry later";
const TOPOLOGY: &str = "a failover or a slot migration is in progress: retry in a few seconds; if it \
persists, check CLUSTER INFO or the sentinels";
const PERMISSIONS: &str =
    "grant the ACL user the commands, keys and channels listed in docs/redis.md";
const REPORT: &str = "this is a bug in Windlass; report it with this message";

/// The first matching row applies.
pub(super) static TABLE: &[Row] = &[
    // A Cluster is migrating slots, or has not agreed on their owners.
    row(
        "MOVED",
        Rediscover,
        StoreUnreachable,
        "kept redirecting the call until it timed out",
        TOPOLOGY,
    ),
    row(
        "ASK",
        Rediscover,
        StoreUnreachable,
        "is still migrating the queue to another node",
        TOPOLOGY,
    ),
    row(
        "TRYAGAIN",
        Retry,
        StoreBusy,
        "is still migrating the queue to another node",
        LATER,
    ),
    row(
        "CLUSTERDOWN",
        Rediscover,
        StoreUnreachable,
        "belongs to a Cluster that is down",
        TOPOLOGY,
    ),
    row(
        "CROSSSLOT",
        Fatal,
        Internal,
        "rejected a call with keys in different slots",
        REPORT,
    ),
    // Another server is primary, or is about to be.
    row(
        "READONLY",
        Rediscover,
        StoreUnreachable,
        "is now a replica",
        TOPOLOGY,
    ),
    row(
        "MASTERDOWN",
        Rediscover,
        StoreUnreachable,
        "lost the connection to its primary",
        TOPOLOGY,
    ),
    row(
        "UNBLOCKED",
        Rediscover,
        StoreUnreachable,
        "is now a replica",
        TOPOLOGY,
    ),
    // Temporary conditions.
    row(
        "LOADING",
        BackOff,
        StoreBusy,
        "is still loading its data from disk",
        LATER,
    ),
    row(
        "BUSY",
        BackOff,
        StoreBusy,
        "is blocked by a long-running script or function",
        "find it with SLOWLOG GET or CLIENT LIST, and stop it with SCRIPT KILL or FUNCTION KILL",
    ),
    row(
        "UNKILLABLE",
        BackOff,
        StoreBusy,
        "is blocked by a script that cannot be killed",
        "wait for the script to end",
    ),
    row(
        "NOREPLICAS",
        BackOff,
        StoreBusy,
        "has too few replicas to accept writes (min-replicas-to-write)",
        "reconnect the replicas, or lower min-replicas-to-write",
    ),
    row(
        "MISCONF",
        BackOff,
        StoreBusy,
        "rejects writes because it cannot save to disk",
        "free disk space on the server and check its log; writes resume automatically",
    ),
    row(
        "NOSCRIPT",
        Retry,
        StoreBusy,
        "keeps losing a script",
        "find the client that keeps running SCRIPT FLUSH",
    ),
    // Out of memory is reported immediately: only finished jobs free memory.
    row(
        "OOM",
        Fatal,
        StoreFull,
        "is out of memory (maxmemory)",
        "let workers complete jobs, delete finished jobs that are kept, or raise maxmemory; then enqueue again",
    ),
    // Authentication and permissions.
    row(
        "NOAUTH",
        Fatal,
        StoreUnreachable,
        "requires a password",
        "add the user and password to the store URL: redis://USER:PASSWORD@HOST",
    )
    .without_detail(),
    row(
        "WRONGPASS",
        Fatal,
        StoreUnreachable,
        "rejected the user or password",
        "correct the user and password in the store URL; write special characters as %XX",
    )
    .without_detail(),
    row(
        "DENIED",
        Fatal,
        StoreUnreachable,
        "accepts no remote connections (protected mode)",
        "set a password and a bind address on the server",
    )
    .without_detail(),
    row(
        "NOPERM",
        Fatal,
        StoreReadOnly,
        "denies this user a command, key or channel",
        PERMISSIONS,
    ),
    // Unsupported servers and corrupt data.
    row(
        "NOPROTO",
        Fatal,
        StoreUnsupported,
        "is too old, or is not Redis",
        "use Redis 7.0 or later, or Valkey",
    ),
    row(
        "WRONGTYPE",
        Fatal,
        StoreDamaged,
        "has a key of the wrong type under the prefix of the store",
        "find the key with `windlass audit`, or use a separate prefix: ?prefix=NAME",
    ),
    row(
        "DAMAGED",
        Fatal,
        StoreDamaged,
        "has corrupt Windlass data",
        "run `windlass audit`; if that does not repair it, restore a backup",
    ),
    row(
        "NEWER",
        Fatal,
        StoreNewer,
        "has a store written by a newer Windlass",
        "use that version of Windlass or a later one",
    ),
    row(
        "OLDER",
        Fatal,
        StoreOlder,
        "has a queue of an older Windlass, or one that is being migrated",
        "stop the programs of that version, then run `windlass store migrate --store URL`",
    ),
    row(
        "EXECABORT",
        Fatal,
        Internal,
        "aborted a transaction",
        REPORT,
    ),
    // Errors with the generic code.
    row(
        "ERR",
        BackOff,
        StoreBusy,
        "has reached its connection limit (maxclients)",
        "raise maxclients, or close unused clients",
    )
    .containing("max number of clients"),
    row(
        "ERR",
        Fatal,
        Invalid,
        "does not have this database",
        "choose a database number below the `databases` setting of the server",
    )
    .containing("DB index"),
    row(
        "ERR",
        Fatal,
        Invalid,
        "belongs to a Cluster, which only has database 0",
        "use redis-cluster://HOST:PORT",
    )
    .containing("SELECT is not allowed in cluster mode"),
    row(
        "ERR",
        Fatal,
        StoreUnsupported,
        "is not part of a Cluster",
        "use redis://HOST:PORT for a single server",
    )
    .containing("cluster support disabled"),
    row(
        "ERR",
        Fatal,
        StoreUnsupported,
        "does not support a command that Windlass needs",
        "use Redis 7.0 or later, or Valkey, without renamed commands",
    )
    // `unknown command`, `unknown subcommand`, and from a script `Unknown Redis command` (Valkey: `Unknown command`).
    .containing("nknown "),
    row("ERR", Fatal, Internal, "failed to run a script", REPORT).containing("user_script"),
    row("ERR", Fatal, Internal, "failed to compile a script", REPORT)
        .containing("compiling script"),
    row("ERR", Fatal, Internal, "rejected a call", REPORT),
];

static UNKNOWN_CODE: Row = row("", Fatal, Internal, "returned an unknown error", REPORT);

pub(super) fn find(code: &str, detail: &str) -> &'static Row {
    TABLE
        .iter()
        .find(|row| row.code == code && detail.contains(row.contains))
        .unwrap_or(&UNKNOWN_CODE)
}
