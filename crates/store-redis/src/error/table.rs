//! The table: each error code of Redis, what it means for a job queue and what to do about it.

use windlass_core::ErrorKind;

/// What to do about a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Course {
    /// Ask the same server again: it will soon do it.
    Again,
    /// Find out anew which server is in charge, then ask that.
    Rediscover,
    /// Give the server time, then ask it again.
    BackOff,
    /// Repeating does not help now: tell the caller.
    Fatal,
    /// It may have been carried out; only a repeatable call may be sent again.
    Unknown,
}

pub(super) struct Row {
    code: &'static str,
    /// Words of the text that tell apart what has no code of its own.
    words: &'static str,
    pub(super) course: Course,
    pub(super) kind: ErrorKind,
    /// Continues "Redis at SERVER …".
    pub(super) what: &'static str,
    pub(super) help: &'static str,
    pub(super) hides_detail: bool,
}

const fn row(
    code: &'static str,
    course: Course,
    kind: ErrorKind,
    what: &'static str,
    help: &'static str,
) -> Row {
    Row {
        code,
        words: "",
        course,
        kind,
        what,
        help,
        hides_detail: false,
    }
}

impl Row {
    const fn with(mut self, words: &'static str) -> Self {
        self.words = words;
        self
    }

    const fn hidden(mut self) -> Self {
        self.hides_detail = true;
        self
    }
}

use Course::{Again, BackOff, Fatal, Rediscover};
use ErrorKind::{
    Internal, Invalid, StoreBusy, StoreDamaged, StoreFull, StoreNewer, StoreReadOnly,
    StoreUnreachable, StoreUnsupported,
};

const LATER: &str = "try again later";
const TOPOLOGY: &str = "the servers are changing places: try again in some seconds; if it stays so, \
                        look at the state of the Cluster or the sentinels";
const RIGHTS: &str = "let the ACL user run the commands of Windlass on its keys and channels, as \
                      docs/redis.md lists them";
const REPORT: &str = "this is a fault of Windlass: report it with this message";

/// The first row that fits, counts.
pub(super) static TABLE: &[Row] = &[
    // A Cluster moves slots, or has not settled who owns them.
    row(
        "MOVED",
        Rediscover,
        StoreUnreachable,
        "sent the call elsewhere until time ran out",
        TOPOLOGY,
    ),
    row(
        "ASK",
        Rediscover,
        StoreUnreachable,
        "is moving the queue to another node and time ran out",
        TOPOLOGY,
    ),
    row(
        "TRYAGAIN",
        Again,
        StoreBusy,
        "is moving the queue to another node and time ran out",
        LATER,
    ),
    row(
        "CLUSTERDOWN",
        Rediscover,
        StoreUnreachable,
        "is part of a Cluster that is down",
        TOPOLOGY,
    ),
    row(
        "CROSSSLOT",
        Fatal,
        Internal,
        "got a call with keys of several slots",
        REPORT,
    ),
    // Another server is in charge, or will be.
    row(
        "READONLY",
        Rediscover,
        StoreUnreachable,
        "has become a replica",
        TOPOLOGY,
    ),
    row(
        "MASTERDOWN",
        Rediscover,
        StoreUnreachable,
        "has lost its primary",
        TOPOLOGY,
    ),
    row(
        "UNBLOCKED",
        Rediscover,
        StoreUnreachable,
        "has become a replica",
        TOPOLOGY,
    ),
    // It will do it later.
    row(
        "LOADING",
        BackOff,
        StoreBusy,
        "is still reading its data from disk",
        LATER,
    ),
    row(
        "BUSY",
        BackOff,
        StoreBusy,
        "is held up by a long script or function",
        "find out whose it is (SLOWLOG, CLIENT LIST) and end it with SCRIPT KILL or FUNCTION KILL",
    ),
    row(
        "UNKILLABLE",
        BackOff,
        StoreBusy,
        "is held up by a script that cannot be ended",
        "wait for the script to end",
    ),
    row(
        "NOREPLICAS",
        BackOff,
        StoreBusy,
        "has too few replicas to take writes (min-replicas-to-write)",
        "bring the replicas back, or lower min-replicas-to-write",
    ),
    row(
        "MISCONF",
        BackOff,
        StoreBusy,
        "takes no writes because it cannot save to its disk",
        "make room on the server's disk and look at its log; it goes on by itself",
    ),
    row(
        "NOSCRIPT",
        Again,
        StoreBusy,
        "forgot a script again and again",
        "find out what runs SCRIPT FLUSH all the time",
    ),
    // Full: the caller is told, since only ending jobs makes room.
    row(
        "OOM",
        Fatal,
        StoreFull,
        "has no memory left (maxmemory)",
        "let workers complete jobs, purge what is kept, or raise maxmemory; enqueue again later",
    ),
    // Who may do what.
    row(
        "NOAUTH",
        Fatal,
        StoreUnreachable,
        "asks for a password",
        "put user and password into the store URL",
    )
    .hidden(),
    row(
        "WRONGPASS",
        Fatal,
        StoreUnreachable,
        "does not accept the user and password",
        "correct user and password in the store URL; write special characters as %XX",
    )
    .hidden(),
    row(
        "DENIED",
        Fatal,
        StoreUnreachable,
        "takes no connections from other machines (protected mode)",
        "set a password and a bind address on the server",
    )
    .hidden(),
    row(
        "NOPERM",
        Fatal,
        StoreReadOnly,
        "does not let this user do that",
        RIGHTS,
    ),
    // Not what it should be.
    row(
        "NOPROTO",
        Fatal,
        StoreUnsupported,
        "is too old or not Redis",
        "use Redis 7.0 or later, or Valkey",
    ),
    row(
        "WRONGTYPE",
        Fatal,
        StoreDamaged,
        "holds something else under a key of Windlass",
        "find the key with `windlass clean --deep`, or give Windlass keys of its own with ?prefix=NAME",
    ),
    row(
        "DAMAGED",
        Fatal,
        StoreDamaged,
        "holds data of Windlass that make no sense",
        "run `windlass clean --deep`; if that does not mend it, restore a backup",
    ),
    row(
        "NEWER",
        Fatal,
        StoreNewer,
        "holds a store that a newer Windlass wrote",
        "use that version of Windlass or a later one",
    ),
    row(
        "EXECABORT",
        Fatal,
        Internal,
        "gave up a transaction",
        REPORT,
    ),
    // Errors without a code of their own.
    row(
        "ERR",
        BackOff,
        StoreBusy,
        "has as many clients as it takes (maxclients)",
        "raise maxclients, or end clients that are not needed",
    )
    .with("max number of clients"),
    row(
        "ERR",
        Fatal,
        Invalid,
        "does not have this database",
        "choose a database that the server has (databases in its settings)",
    )
    .with("DB index"),
    row(
        "ERR",
        Fatal,
        Invalid,
        "is part of a Cluster, which has no databases but 0",
        "write redis-cluster://HOST:PORT",
    )
    .with("SELECT is not allowed in cluster mode"),
    row(
        "ERR",
        Fatal,
        StoreUnsupported,
        "is not part of a Cluster",
        "write redis://HOST:PORT for a single server",
    )
    .with("cluster support disabled"),
    row(
        "ERR",
        Fatal,
        StoreUnsupported,
        "does not know a command that Windlass needs",
        "use Redis 7.0 or later, or Valkey, without renamed commands",
    )
    .with("nknown command"),
    row(
        "ERR",
        Fatal,
        StoreUnsupported,
        "does not know a command that Windlass needs",
        "use Redis 7.0 or later, or Valkey, without renamed commands",
    )
    .with("nknown subcommand"),
    row(
        "ERR",
        Fatal,
        Internal,
        "could not carry a script out to its end",
        REPORT,
    )
    .with("user_script"),
    row("ERR", Fatal, Internal, "could not take a script in", REPORT).with("compiling script"),
    row("ERR", Fatal, Internal, "refused a call", REPORT),
];

static UNHEARD_OF: Row = row(
    "",
    Fatal,
    Internal,
    "answered with an error that Windlass does not know",
    REPORT,
);

pub(super) fn find(code: &str, detail: &str) -> &'static Row {
    TABLE
        .iter()
        .find(|row| row.code == code && detail.contains(row.words))
        .unwrap_or(&UNHEARD_OF)
}
