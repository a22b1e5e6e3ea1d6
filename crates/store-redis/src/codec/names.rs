//! Names of the positions, letters and codes that scripts and Rust share. `lua/lib/names.lua` has
//! the same names with the same values.

/// Fields of the hash `state`.
pub(crate) const STATS_FIELD: &str = "figures";
pub(crate) const EARLIER_FIELD: &str = "earlier";
pub(crate) const CALLS_FIELD: &str = "@";
pub(crate) const RATE_NEXT_FIELD: &str = "rate";
pub(crate) const GROUPS_FIELD: &str = "groups";
pub(crate) const REST_FIELD: &str = "rest";
pub(crate) const HISTORY_FIELD: &str = "history";
pub(crate) const FAILED_FIELD: &str = "failed";

/// Positions in the packed stats, counted from 1.
pub(crate) const SCHEMA: usize = 1;
pub(crate) const CLOCK_MARK: usize = 2;
pub(crate) const PAUSED: usize = 4;
pub(crate) const STALE_ENTRIES: usize = 7;
pub(crate) const BYTES: usize = 8;
pub(crate) const TOTAL_ENQUEUED: usize = 9;
pub(crate) const TOTAL_SUCCEEDED: usize = 10;
pub(crate) const TOTAL_DEAD: usize = 45;
pub(crate) const TOTAL_CANCELLED: usize = 46;
pub(crate) const TOTAL_RESCUED: usize = 47;
pub(crate) const ENQUEUED_MINUTE: usize = 11;
pub(crate) const ENDED_MINUTE: usize = 18;
/// Plus the priority.
pub(crate) const READY: usize = 21;
pub(crate) const PARTITIONS: usize = 16;
pub(crate) const STATS_COUNT: usize = 47;
pub(crate) const SCHEMA_VERSION: u64 = 2;
/// Of a queue that uses groups.
pub(crate) const GROUPS_SCHEMA: u64 = 3;

pub(crate) const RULES_COUNT: usize = 23;

/// Positions in the numbers of all groups, counted from 1.
pub(crate) const LIMITS_VERSION: usize = 1;
pub(crate) const LIMITS_CHANGED: usize = 2;
pub(crate) const UNGROUPED_TURN: usize = 8;
/// Plus the priority.
pub(crate) const GROUPED_READY: usize = 10;
pub(crate) const GROUP_NUMBERS: usize = 19;
/// Instead of a limit of a single group.
pub(crate) const DEFAULT_LIMIT: &str = "-";

/// Letters of opts.
pub(crate) const CUSTOM_ID: char = 'n';
pub(crate) const ENQUEUED_AT: char = 'c';
pub(crate) const DUE_AT: char = 'd';
pub(crate) const PRIORITY: char = 'p';
pub(crate) const KIND: char = 'k';
pub(crate) const UNIQUE_KEY: char = 'u';
/// The key is free when the job is first claimed.
pub(crate) const UNTIL_START: char = 'b';
/// How long the key is held at least (ms).
pub(crate) const UNIQUE_FOR: char = 'f';
pub(crate) const RETRY_POLICY: char = 'r';
pub(crate) const DEADLINE: char = 'l';
pub(crate) const TIMEOUT: char = 't';
pub(crate) const EXPIRES_AT: char = 'e';
pub(crate) const KEEP_OUTCOME: char = 'w';
pub(crate) const ATTEMPT: char = 'a';
pub(crate) const EXPIRIES: char = 'x';
pub(crate) const GENERATION: char = 'g';
pub(crate) const GROUP: char = 'q';
/// The place in the line of the group.
pub(crate) const IN_LINE: char = 'z';
pub(crate) const IS_SCHEDULED: char = 's';
pub(crate) const HEADERS: char = 'h';
/// The headers are only a content type, `application/json`.
pub(crate) const IS_JSON: char = 'j';

/// Letters of a spec that are not stored: what it does to a waiting job that has its id or unique key.
pub(crate) const ON_DUPLICATE: char = 'o';
pub(crate) const POSTPONE_MAX: char = 'm';
/// The job may only change an existing one.
pub(crate) const ONLY_EXISTING: char = 'i';
pub(crate) const REPLACE: char = 'r';
pub(crate) const POSTPONE: char = 'p';

/// Prefixes of owners.
pub(crate) const BOOT_OWNER: &str = "b:";
pub(crate) const TOKEN_OWNER: &str = "t:";

/// The longest value of a job that may have opts, and the first byte of one that the fast scripts must
/// not claim.
pub(crate) const INLINE_MAX: usize = 8192;
pub(crate) const NEEDS_CARE: u8 = 42;

/// Flags of a lease: whether the value is all there is to remove when the job is completed.
pub(crate) const VALUE_ONLY: u8 = b'-';
pub(crate) const MORE: u8 = b'o';
/// In a lease, instead of the time a dispatched job was accepted.
pub(crate) const NOT_ACCEPTED: &str = "d";

/// Modes of a claim.
pub(crate) const AT_MOST_ONCE: &str = "m";
pub(crate) const DISPATCH: &str = "d";
/// The argument of an enqueue instead of the spec of all jobs.
pub(crate) const OWN_SPECS: &str = "s";
/// The first letter of how to retry a failed job.
pub(crate) const RETRY_BY_POLICY: char = 'j';
pub(crate) const RETRY_AT: char = 'd';
pub(crate) const RETRY_NEVER: char = 'p';

/// The reply to an enqueue, per job.
pub(crate) const STORED_READY: &str = "r";
pub(crate) const STORED_SCHEDULED: &str = "s";
pub(crate) const STORED_PENDING: &str = "p";
pub(crate) const DUPLICATE: &str = "=";
pub(crate) const REPLACED: &str = "~";
pub(crate) const POSTPONED: &str = ">";
/// There is no job for `ONLY_EXISTING`.
pub(crate) const NOT_FOUND: &str = "";
pub(crate) const OVERLAP: &str = "!";

/// The reply to a claim without jobs; of `NEXT_DUE` the milliseconds until a job is due are
/// subtracted.
pub(crate) const NOTHING_FOUND: i64 = 0;
pub(crate) const CLAIM_AGAIN: i64 = 1;
pub(crate) const NEXT_DUE: i64 = -1;
/// What follows the ids in the reply to a claim; the other possibility is `VALUES_AND_OPTS`.
pub(crate) const VALUES_ONLY: u64 = 1;

/// Entries of a ready list, in an audit.
pub(crate) const CURRENT_ENTRY: char = '+';
pub(crate) const STALE_ENTRY: char = '-';
/// The reply to the first page of an audit.
pub(crate) const RULES_LOST: &str = "rules";

/// Published lines.
pub(crate) const NOTIFY_WORK: &str = "w";
pub(crate) const NOTIFY_CANCEL: &str = "c";

/// The range of scores of one priority in `suspects`.
pub(crate) const SUSPECT_LANE: f64 = 1_099_511_627_776.0;

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    const LUA: &str = include_str!("../../lua/lib/names.lua");
    const RUST: &str = include_str!("names.rs");

    /// The constants of `names.lua`, without quotes.
    fn lua() -> HashMap<&'static str, &'static str> {
        let mut constants = HashMap::new();
        let lines = LUA.lines().filter_map(|line| line.strip_prefix("local "));
        for (names, values) in lines.filter_map(|line| line.split_once(" = ")) {
            let values = values.split(" --").next().unwrap_or_default();
            let values = values.split(", ").map(|value| value.trim_matches('\''));
            constants.extend(names.split(", ").zip(values));
        }
        constants
    }

    #[test]
    fn names_have_the_same_values_in_rust_and_in_lua() {
        let lua = lua();
        let consts = RUST
            .lines()
            .filter_map(|line| line.strip_prefix("pub(crate) const "));
        let mut count = 0;
        for (name, rest) in consts.filter_map(|line| line.split_once(": ")) {
            let (_, value) = rest.split_once(" = ").expect("it has a value");
            let value = value
                .trim_end_matches(';')
                .trim_end_matches(".0")
                .replace('_', "");
            let value = value.trim_start_matches('b').trim_matches(['\'', '"']);
            assert_eq!(lua.get(name).copied(), Some(value), "{name}");
            count += 1;
        }
        assert!(count > 50, "{count}");
    }
}
