//! The words for what an audit finds, and what was done about each.

use windlass_core::{JobId, Repair, Result};

use crate::reply::short;

/// The faults: a word, and a sentence in which `{}` is the detail that a script gives.
const FAULTS: [(&str, &str); 37] = [
    (
        "anchor_missing",
        "`{}` had lost the field that keeps it a hash table; it was put back",
    ),
    ("claim_miscounted", "claim {}"),
    (
        "claim_unowned",
        "claim {} and its owner did not know of each other; the one that is open does now",
    ),
    (
        "claim_unreadable",
        "claim {} could not be read; what its record says was written, or it was dropped",
    ),
    (
        "claim_unrecorded",
        "the record of claim {} did not show what it holds; it was completed",
    ),
    (
        "claim_without_lease",
        "claim {} was under no lease; it was given one",
    ),
    ("end_wrong", "its end was not known everywhere; it is {}"),
    (
        "entered_twice",
        "it stood in its ready list twice; the later entry was taken out",
    ),
    (
        "entry_unreadable",
        "an entry of a ready list could not be read; it was taken out",
    ),
    (
        "entry_wrong",
        "it stood in {}, where it does not belong; it was taken out of there",
    ),
    (
        "expiry_unwatched",
        "nobody watched for its expiry; it is watched",
    ),
    (
        "figures_lost",
        "the figures of the queue were lost; they were made anew, totals begin at zero",
    ),
    ("figures_wrong", "counted again: {}"),
    (
        "ghosts_miscounted",
        "stale entries of it in the ready lists: {}",
    ),
    (
        "ghosts_unreadable",
        "the number of its stale entries could not be read; it was dropped",
    ),
    (
        "hold_unreadable",
        "its hold could not be read; it was put back",
    ),
    (
        "hold_wrong",
        "its hold did not fit the job; it was written anew",
    ),
    (
        "id_unreadable",
        "its id could not be read; it is ready under this one",
    ),
    (
        "in_no_place",
        "it was in no place; it is ready, at the back",
    ),
    (
        "in_two_places",
        "it was in two places, {}; the latter counts",
    ),
    (
        "lease_endless",
        "the lease of {} had no end; it ends when a lease from now would",
    ),
    (
        "lease_without_claim",
        "the lease of {} was one of nobody; it was dropped",
    ),
    (
        "left_behind",
        "`{}` held something for it of which it has no use; that was dropped",
    ),
    (
        "left_wrong",
        "how jobs left claim {} did not fit the claim; what did not was dropped",
    ),
    (
        "opts_unreadable",
        "its options could not be read ({}); what could be read was kept",
    ),
    (
        "owner_wrong",
        "what is known of the owner {} did not fit its claims; it was written anew",
    ),
    (
        "owner_without_lease",
        "the owner {} had no lease and held nothing; it was dropped",
    ),
    (
        "queue_not_listed",
        "the queue was not on the list of queues; it is",
    ),
    (
        "rules_lost",
        "the rules of the queue were lost; they are set again as its settings say",
    ),
    (
        "running_without_lease",
        "no open claim stood behind it; it was put back",
    ),
    (
        "setting_unreadable",
        "the setting {} could not be read; it is at its default",
    ),
    (
        "token_wrong",
        "the token {} was on record as ended though it is open, or the other way round",
    ),
    (
        "tombstone_wrong",
        "what was remembered of its id did not fit; it was mended or dropped",
    ),
    ("unique_key_lost", "it did not hold its unique key; it does"),
    (
        "unique_key_shared",
        "job {} holds the same unique key; this one gave it up",
    ),
    (
        "value_unreadable",
        "what `{}` held for it could not be read; it was mended or dropped",
    ),
    (
        "without_job",
        "`{}` named a job that does not exist; that was dropped",
    ),
];

/// The repair that a script reported.
pub(super) fn repair(word: &str, id: &str, detail: &str) -> Result<Repair> {
    let (fault, what) = FAULTS
        .iter()
        .find(|(known, _)| *known == word)
        .ok_or_else(|| short("it names a fault that is none"))?;
    Ok(Repair {
        code: fault,
        id: JobId::new(id).ok(),
        message: what.replace("{}", detail),
    })
}
