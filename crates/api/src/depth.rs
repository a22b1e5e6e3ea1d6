//! The nesting limit of JSON. Payloads are not parsed here, but a deeply nested one could crash the consumer.

use windlass_core::{Error, Result};

/// The maximum nesting depth.
const DEPTH_MAX: usize = 128;

/// Rejects text that is nested too deeply. Does not check whether it is valid JSON.
pub fn check(text: &str) -> Result<()> {
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        if is_string {
            (is_string, is_escaped) = match byte {
                _ if is_escaped => (true, false),
                b'\\' => (true, true),
                b'"' => (false, false),
                _ => (true, false),
            };
            continue;
        }
        match byte {
            b'"' => is_string = true,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_brackets_outside_of_strings_count() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(check(&nested(DEPTH_MAX)).is_ok());
        assert!(check(&nested(DEPTH_MAX + 1)).is_err());
        assert!(check(&format!(r#"{{"a":"\"{}"}}"#, nested(1000))).is_ok());
        assert!(check(&"[]".repeat(1000)).is_ok());
        assert!(check(&"{".repeat(1_000_000)).is_err());
    }
}
