//! The checks of the doctor, read from its JSON.

use serde_json::Value;

use super::sandbox::Ran;

fn named(ran: &Ran, name: &str) -> Vec<Value> {
    let reply = ran.json();
    let checks = reply["checks"].as_array().unwrap().iter();
    let checks = checks.filter(|check| check["name"] == name);
    checks.cloned().collect()
}

/// Returns the statuses of all checks with this name.
pub(crate) fn statuses(ran: &Ran, name: &str) -> Vec<Value> {
    let checks = named(ran, name);
    checks.iter().map(|check| check["status"].clone()).collect()
}

/// Asserts that there is one check with this name and status, with `what` in its message and a fix.
#[track_caller]
pub(crate) fn assert_check(ran: &Ran, name: &str, status: &str, what: &str) {
    let checks = named(ran, name);
    let [check] = checks.as_slice() else {
        panic!("expected one {name}: {}", ran.text());
    };
    assert_eq!(check["status"], status, "{check}");
    let message = check["message"].as_str().unwrap();
    assert!(message.contains(what), "{what:?} in {check}");
    assert!(check["fix"].is_string(), "{check}");
}
