//! Computes the instants that a store asks for, and sends them.

use std::collections::VecDeque;

use windlass_core::limits::{CAUGHT_UP_MAX, FRESH_FOR, INSTANTS_AHEAD, INSTANTS_MAX, PAST_MAX};
use windlass_core::schedule::KNOWN_FOREVER;
use windlass_core::store::{Maintained, Refill, RefillRequest, SchedulePut};
use windlass_core::{QueueName, Result, Schedule, Store, Timestamp};

use crate::plan::Plan;

/// Puts a schedule, and sends its first instants. An invalid rule is refused before anything is stored.
///
/// # Errors
///
/// Returns an error if the schedule is invalid or the store failed.
pub async fn put(
    store: &dyn Store,
    queue: &QueueName,
    schedule: Schedule,
    is_paused: Option<bool>,
) -> Result<SchedulePut> {
    let plan = Plan::new(&schedule.rule)?;
    let mut put = store.put_schedule(queue, schedule, is_paused).await?;
    if let Some(request) = put.refill.take() {
        let refill = compute(&plan, &request);
        store.refill_schedules(queue, vec![refill]).await?;
    }
    Ok(put)
}

/// Maintains a queue, and sends the instants that its schedules need. The reply has those requests left
/// whose rule this version cannot read.
///
/// # Errors
///
/// Returns an error if the store failed.
pub async fn maintain(store: &dyn Store, queue: &QueueName, limit: usize) -> Result<Maintained> {
    let mut maintained = store.maintain(queue, limit).await?;
    let mut refills = Vec::new();
    maintained.refills.retain(|request| {
        let plan = Plan::new(&request.rule);
        refills.extend(plan.as_ref().map(|plan| compute(plan, request)).ok());
        plan.is_err()
    });
    if !refills.is_empty() {
        store.refill_schedules(queue, refills).await?;
    }
    Ok(maintained)
}

/// Computes the instants that a store asks for: the newest of those that passed, and the next ones.
pub fn compute(plan: &Plan, request: &RefillRequest) -> Refill {
    let ahead = request.now.max(request.after).plus(INSTANTS_AHEAD);
    let mut instants = VecDeque::new();
    let (mut missed, mut missed_until) = (0, request.after);
    let mut future = 0;
    let mut known_until = KNOWN_FOREVER;
    for at in plan.after(request.after) {
        if at > ahead {
            known_until = ahead;
            break;
        }
        if at > request.now && future == INSTANTS_MAX {
            known_until = Timestamp::from_ms(at.as_ms() - 1);
            break;
        }
        instants.push_back(plan.planned(&request.name, at));
        if at > request.now {
            future += 1;
        } else if let Some(oldest) = instants.front().copied()
            && instants.len() > CAUGHT_UP_MAX
            && (oldest.fires_at().plus(FRESH_FOR) < request.now || instants.len() > PAST_MAX)
        {
            missed += 1;
            missed_until = oldest.at;
            instants.pop_front();
        }
    }
    Refill {
        name: request.name.clone(),
        revision: request.revision,
        after: request.after,
        missed,
        missed_until,
        instants: instants.into(),
        known_until,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use windlass_core::ScheduleName;
    use windlass_core::store::Rule;

    use super::*;

    fn refill(rule: &Rule, after: u64, now: u64) -> Refill {
        let at = |second: u64| Timestamp::from_ms(second * 1000);
        let request = RefillRequest {
            name: ScheduleName::new("s").expect("valid"),
            revision: 1,
            rule: rule.clone(),
            after: at(after),
            now: at(now),
        };
        let refill = compute(&Plan::new(rule).expect("valid"), &request);
        refill.check().expect("valid");
        refill
    }

    #[test]
    fn a_refill_has_the_next_instants() {
        let rule = Rule::every(Duration::from_secs(1)).expect("valid");
        let refill = refill(&rule, 100, 100);
        assert_eq!(refill.instants.len(), INSTANTS_MAX);
        assert_eq!(refill.instants[0].at, Timestamp::from_ms(101_000));
        assert_eq!(refill.known_until, Timestamp::from_ms(164_999));
        assert_eq!(refill.missed, 0);
    }

    #[test]
    fn a_refill_after_a_gap_counts_what_it_leaves_out() {
        let rule = Rule::every(Duration::from_secs(1)).expect("valid");
        let refill = refill(&rule, 100, 1100);
        let fresh = 61;
        assert_eq!(refill.missed, 1000 - fresh);
        assert_eq!(refill.missed_until, Timestamp::from_ms(1_039_000));
        assert_eq!(refill.instants.len(), 61 + INSTANTS_MAX);
    }

    #[test]
    fn a_rare_rule_is_known_for_a_month_and_an_ended_one_forever() {
        let mut rule = Rule::cron("0 0 1 1 *", "UTC").expect("valid");
        let rare = refill(&rule, 100, 100);
        assert_eq!(
            rare.known_until,
            Timestamp::from_ms(100_000).plus(INSTANTS_AHEAD)
        );
        assert!(rare.instants.is_empty());
        rule.until = Some(Timestamp::from_ms(0));
        assert_eq!(refill(&rule, 100, 100).known_until, KNOWN_FOREVER);
    }
}
