//! The codes of what an audit finds, and the message for each.

use windlass_core::store::Repair;
use windlass_core::{JobId, Result};

use windlass_redis_link::reply::unexpected_reply;

/// Each code with its message, in which `{}` stands for the detail that the script reports.
const MESSAGES: [(&str, &str); 51] = [
    (
        "anchor_missing",
        "`{}` had lost the field that keeps it a hash table; restored",
    ),
    (
        "claim_history_wrong",
        "the statuses of jobs that left claim {} did not match the claim; dropped those that did not",
    ),
    ("claim_miscounted", "claim {}; corrected"),
    (
        "claim_unowned",
        "claim {} and its owner did not refer to each other; corrected",
    ),
    (
        "claim_unreadable",
        "claim {} was unreadable; restored from its record, or dropped",
    ),
    (
        "claim_unrecorded",
        "the record of claim {} was incomplete; completed",
    ),
    ("claim_without_lease", "claim {} had no lease; added one"),
    (
        "end_state_wrong",
        "the records of how the job ended did not agree; it is {}",
    ),
    (
        "entry_unreadable",
        "an entry of a ready list was unreadable; removed",
    ),
    (
        "entry_wrong",
        "the job had an entry in the wrong list ({}); removed",
    ),
    (
        "error_group_not_listed",
        "the error group {} was not in the list of groups; added",
    ),
    (
        "expiry_not_indexed",
        "the expiry of the job was not indexed; indexed",
    ),
    ("group_miscounted", "group {}"),
    ("group_misplaced", "group {}: found its place again"),
    (
        "group_not_listed",
        "group {} was not in the list of groups; added",
    ),
    (
        "group_rate_wrong",
        "group {}: its rate was closed for too long; it opens after one period at most",
    ),
    (
        "group_unreadable",
        "the record of group {} was missing or unreadable; rebuilt, its own limits are lost",
    ),
    (
        "id_unreadable",
        "the id of the job was unreadable; renamed to this id and made ready",
    ),
    (
        "in_two_states",
        "the job was in two states ({}); kept the second",
    ),
    (
        "lease_endless",
        "the lease of {} had no end; set it to end one lease length from now",
    ),
    (
        "lease_unreadable",
        "the lease of the job was unreadable; requeued",
    ),
    (
        "lease_without_claim",
        "the lease of {} had no claim; dropped",
    ),
    (
        "lease_wrong",
        "the lease of the job did not match the job; rewritten",
    ),
    (
        "leftover",
        "`{}` had a value that the job does not need; dropped",
    ),
    (
        "listed_twice",
        "the job was in its ready list twice; removed the later entry",
    ),
    (
        "not_listed",
        "the ready job was in no list; added at the back of its list",
    ),
    (
        "opts_unreadable",
        "the options of the job were damaged ({}); kept the valid ones",
    ),
    (
        "owner_without_lease",
        "the owner {} had no lease and no jobs; dropped",
    ),
    (
        "owner_wrong",
        "the record of the owner {} did not match its claims; rewritten",
    ),
    (
        "pending_alone",
        "no schedule waited to release the pending job; released",
    ),
    (
        "queue_not_listed",
        "the queue was not in the list of queues; added",
    ),
    (
        "rules_lost",
        "the rules of the queue were missing; restored from its settings",
    ),
    (
        "running_without_lease",
        "the running job had no open claim; requeued",
    ),
    (
        "schedule_copied",
        "schedule {} was in two partitions; removed the newer copy, its jobs stay",
    ),
    (
        "schedule_not_indexed",
        "schedule {} was not indexed by its instants; indexed",
    ),
    (
        "schedule_state_wrong",
        "the state of schedule {} was unreadable or did not match its jobs; corrected",
    ),
    (
        "schedule_unreadable",
        "schedule {} was unreadable; dropped, its jobs stay",
    ),
    (
        "setting_unreadable",
        "the setting {} was unreadable; reset to its default",
    ),
    (
        "slot_missing",
        "the job held no slot of its group, although it started; added",
    ),
    (
        "stale_entries_miscounted",
        "stale entries of the job in the ready lists: {}; corrected",
    ),
    (
        "stale_entries_unreadable",
        "the count of stale entries of the job was unreadable; dropped",
    ),
    (
        "stats_lost",
        "stats were missing; recounted, totals restart at 0",
    ),
    ("stats_wrong", "stats were wrong ({}); corrected"),
    (
        "token_wrong",
        "the token {} was recorded as ended while open, or as open after its end; corrected",
    ),
    (
        "tombstone_wrong",
        "the tombstone of the id was wrong; corrected or dropped",
    ),
    (
        "unique_key_lost",
        "the job did not hold its unique key; restored",
    ),
    (
        "unique_key_shared",
        "job {} holds the same unique key; removed it from this job",
    ),
    (
        "value_unreadable",
        "the value in `{}` was unreadable; corrected or dropped",
    ),
    (
        "without_group",
        "`{}` named a group that does not exist; dropped",
    ),
    (
        "without_job",
        "`{}` named a job that does not exist; dropped",
    ),
    (
        "without_schedule",
        "`{}` named a schedule that does not exist; dropped",
    ),
];

/// The repair that a script reported.
pub(super) fn repair(code: &str, id: &str, detail: &str) -> Result<Repair> {
    let (code, message) = MESSAGES
        .iter()
        .find(|(known, _)| *known == code)
        .ok_or_else(|| unexpected_reply("it has an unknown repair code"))?;
    Ok(Repair {
        code,
        id: JobId::new(id).ok(),
        message: message.replace("{}", detail),
    })
}
