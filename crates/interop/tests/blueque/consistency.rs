//! Checks that every task is in exactly one list, matching its status.

use std::collections::BTreeMap;

use windlass_testkit::redis::Reply;

use super::fixture::{Fixture, QUEUE, texts};

/// Returns the lists that each id is in.
pub(crate) fn locations(fixture: &Fixture) -> BTreeMap<String, Vec<&'static str>> {
    let mut found: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    let mut add = |key: &str, list| {
        for id in fixture.list(key) {
            found.entry(id).or_default().push(list);
        }
    };
    add(&format!("blueque_pending_tasks_{QUEUE}"), "pending");
    add(&format!("blueque_scheduled_tasks_{QUEUE}"), "scheduled");
    add(&format!("blueque_complete_tasks_{QUEUE}"), "complete");
    add(&format!("blueque_failed_tasks_{QUEUE}"), "failed");
    for key in texts(fixture.redis("KEYS blueque_reserved_tasks_*")) {
        add(&key, "held");
    }
    found
}

/// Asserts that each task is in exactly one list that matches its status, that no task is held, and
/// that the recorded number of listeners is correct.
#[track_caller]
pub(crate) fn assert_consistent(fixture: &Fixture, context: &str) {
    let locations = locations(fixture);
    for key in texts(fixture.redis("KEYS blueque_task_*")) {
        let id = key.strip_prefix("blueque_task_").unwrap();
        let status = fixture.field(id, "status").unwrap_or_default();
        let found = locations.get(id).cloned().unwrap_or_default();
        assert_eq!(found, [status.as_str()], "{context}: {id}");
    }
    for id in locations.keys() {
        let has_record = fixture.redis(&format!("EXISTS blueque_task_{id}"));
        assert!(
            matches!(has_record, Reply::Integer(1)),
            "{context}: {id} has no record"
        );
    }
    let started = fixture.list(&format!("blueque_started_tasks_{QUEUE}"));
    assert!(started.is_empty(), "{context}: {started:?}");
    let listeners = fixture.list(&format!("blueque_listeners_{QUEUE}")).len();
    let recorded = fixture.recorded_listeners();
    let is_counted = recorded == listeners.to_string() || (recorded.is_empty() && listeners == 0);
    assert!(
        is_counted,
        "{context}: {recorded} for {listeners} listeners"
    );
}
