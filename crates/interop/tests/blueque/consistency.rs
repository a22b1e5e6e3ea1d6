//! Every task in one place, and its status says which.

use std::collections::BTreeMap;

use windlass_testkit::redis::Reply;

use super::place::{Place, QUEUE, texts};

/// Where each id is, for every place it is in.
pub(crate) fn places(place: &Place) -> BTreeMap<String, Vec<&'static str>> {
    let mut found: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    let mut add = |key: &str, word| {
        for id in place.list(key) {
            found.entry(id).or_default().push(word);
        }
    };
    add(&format!("blueque_pending_tasks_{QUEUE}"), "pending");
    add(&format!("blueque_scheduled_tasks_{QUEUE}"), "scheduled");
    add(&format!("blueque_complete_tasks_{QUEUE}"), "complete");
    add(&format!("blueque_failed_tasks_{QUEUE}"), "failed");
    for key in texts(place.redis("KEYS blueque_reserved_tasks_*")) {
        add(&key, "held");
    }
    found
}

/// Asserts that each task is in one place that fits its status, that nobody holds any, and that the
/// listeners are counted right.
#[track_caller]
pub(crate) fn assert_sound(place: &Place, context: &str) {
    let places = places(place);
    for key in texts(place.redis("KEYS blueque_task_*")) {
        let id = key.strip_prefix("blueque_task_").unwrap();
        let status = place.field(id, "status").unwrap_or_default();
        let found = places.get(id).cloned().unwrap_or_default();
        assert_eq!(found, [status.as_str()], "{context}: {id}");
    }
    for id in places.keys() {
        let has_record = place.redis(&format!("EXISTS blueque_task_{id}"));
        assert!(
            matches!(has_record, Reply::Integer(1)),
            "{context}: {id} has no record"
        );
    }
    let started = place.list(&format!("blueque_started_tasks_{QUEUE}"));
    assert!(started.is_empty(), "{context}: {started:?}");
    let listeners = place.list(&format!("blueque_listeners_{QUEUE}")).len();
    let figure = place.figure();
    let is_counted = figure == listeners.to_string() || (figure.is_empty() && listeners == 0);
    assert!(is_counted, "{context}: {figure} for {listeners} listeners");
}
