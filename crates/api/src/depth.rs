//! The nesting limit of JSON. Payloads are not parsed here, but a deeply nested one could crash the consumer.

use windlass_core::{Error, Result};

/// The maximum nesting depth.
const DEPTH_MAX: usize = 128;

/// Rejects text that is nested too deeply. Does not check whether it is valid JSON.
pub fn check(text: &str) -> Result<()> {
    let mut depth = 0_usize;
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => rest = after_string(rest),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            let why = format!("nested deeper than {DEPTH_MAX} levels");
            let help = "send deeply nested data as a JSON string, or as payload_base64";
            return Err(Error::invalid("JSON", why, help));
        }
    }
    Ok(())
}

/// Returns what follows the end of a string.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        if rest[at] == b'"' {
            return &rest[at + 1..];
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_brackets_outside_of_strings_count() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(check(&nested(DEPTH_MAX)).is_ok());
        assert!(check(&nested(DEPTH_MAX + 1)).is_err());
        let (shallow, deep) = (nested(DEPTH_MAX), nested(1000));
        for (text, is_ok) in [
            (format!(r#"{{"a":"\"{deep}"}}"#), true),
            (format!(r#"["\\",{deep}]"#), false),
            (format!(r#""\\\"{deep}"#), true),
            (format!(r#""",{deep}"#), false),
            (format!(r#""{deep}\"#), true),
            (format!(r#""a","b",{shallow}"#), true),
        ] {
            assert_eq!(check(&text).is_ok(), is_ok, "{}", &text[..10]);
        }
        assert!(check(&"[]".repeat(1000)).is_ok());
        assert!(check(&"{".repeat(1_000_000)).is_err());
    }
}
