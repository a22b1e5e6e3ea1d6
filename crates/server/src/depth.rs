//! How deep JSON is nested: payloads are kept as text, so no parser counts for us.

use crate::refusal::Refusal;

/// The deepest nesting that is taken.
pub(crate) const DEPTH_MAX: usize = 128;

/// Refuses text that is nested deeper; whether it is JSON at all is for the parser to say.
pub(crate) fn check(text: &str) -> Result<(), Refusal> {
    let mut depth = 0_usize;
    let mut is_text = false;
    let mut is_escaped = false;
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => depth += 1,
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            let why = format!("the JSON is nested deeper than {DEPTH_MAX} levels");
            let help = "send deeply nested data as text or as payload_base64";
            return Err(Refusal::new("invalid", why, help));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_of_texts() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(check(&nested(DEPTH_MAX)).is_ok());
        assert!(check(&nested(DEPTH_MAX + 1)).is_err());
        assert!(check(&format!("[{:?}]", "[".repeat(1000))).is_ok());
        assert!(check(&format!(r#"["\"{}"]"#, "[".repeat(1000))).is_ok());
        assert!(check(&"[]".repeat(1000)).is_ok());
        assert!(check(&"[".repeat(1_000_000)).is_err());
    }
}
