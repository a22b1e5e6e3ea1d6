//! The checks of the doctor, read from its JSON.

use serde_json::Value;

use super::sandbox::Ran;

fn named(ran: &Ran, name: &str) -> Vec<Value> {
    let reply = ran.json();
    let checks = reply["checks"].as_array().unwrap().iter();
    let checks = checks.filter(|check| check["name"] == name);
    checks.cloned().collect()
}

/// How every check of that name came out.
pub(crate) fn statuses(ran: &Ran, name: &str) -> Vec<Value> {
    let checks = named(ran, name);
    checks.iter().map(|check| check["status"].clone()).collect()
}

/// Asserts that one check of that name came out so, and says what is wrong and what to do.
#[track_caller]
pub(crate) fn assert_told(ran: &Ran, name: &str, status: &str, what: &str) {
    let checks = named(ran, name);
    let [check] = checks.as_slice() else {
        panic!("not one {name}: {}", ran.text());
    };
    assert_eq!(check["status"], status, "{check}");
    let message = check["message"].as_str().unwrap();
    assert!(message.contains(what), "{what:?} in {check}");
    assert!(check["fix"].is_string(), "{check}");
}
