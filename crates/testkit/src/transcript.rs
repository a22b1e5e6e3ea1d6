//! Compares the replies of a session with those that a test or a document shows.
//!
//! A reply may have more fields than are written. The text `…` matches any text.

use serde_json::Value;

/// Compares a reply with the expected one of line `at`. Panics if it does not fit.
pub fn compare(at: usize, expected: &str, reply: Option<&str>) {
    let reply = reply.unwrap_or_else(|| panic!("line {at}: no reply for {expected}"));
    let read = |text: &str| -> Value {
        let read = serde_json::from_str(text);
        read.unwrap_or_else(|error| panic!("line {at}: {error}: {text}"))
    };
    if let Err(why) = fits(&read(expected), &read(reply)) {
        panic!("line {at}: {why}\nexpected {expected}\nreceived {reply}");
    }
}

fn fits(expected: &Value, reply: &Value) -> Result<(), String> {
    match (expected, reply) {
        (Value::String(any), Value::String(_)) if any == "…" => Ok(()),
        (Value::Object(expected), Value::Object(reply)) => {
            for (name, expected) in expected {
                let reply = reply.get(name).ok_or(format!("{name} is missing"))?;
                fits(expected, reply).map_err(|why| format!("{name}: {why}"))?;
            }
            Ok(())
        }
        (Value::Array(expected), Value::Array(reply)) if expected.len() == reply.len() => {
            let mut pairs = expected.iter().zip(reply);
            pairs.try_for_each(|(expected, reply)| fits(expected, reply))
        }
        _ if expected == reply => Ok(()),
        _ => Err(format!("{reply} is not {expected}")),
    }
}

/// The sessions of a document: its blocks that start with a request.
pub fn of_document(text: &str) -> Vec<String> {
    let blocks = text.split("```").skip(1).step_by(2);
    let bodies = blocks.filter_map(|block| block.split_once('\n').map(|(_, body)| body.to_owned()));
    bodies.filter(|body| body.starts_with("> ")).collect()
}
