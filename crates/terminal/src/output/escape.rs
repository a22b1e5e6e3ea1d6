//! Escapes untrusted text for a terminal, so that it can neither move the cursor nor hide itself.

/// Escapes control characters and characters that reorder text.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_reordering(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

const fn is_reordering(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_command_the_terminal() {
        assert_eq!(escape("a\x1b[2Jb\n\tc"), "a\\u{1b}[2Jb\\n\\tc");
        assert_eq!(escape("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(escape("räksmörgås 🦐"), "räksmörgås 🦐");
    }
}
