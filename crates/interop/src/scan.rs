//! Scans keys or members of a set in pages, so that no command blocks the server for long.

use redis::{Cmd, Value};
use windlass_core::Result;

use crate::{InteropServer, reply};

/// Returns a pattern that matches keys with exactly this prefix.
pub(crate) fn prefix_pattern(prefix: &str) -> String {
    let mut pattern = String::with_capacity(prefix.len() + 1);
    for character in prefix.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '^' | '-' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('*');
    pattern
}

/// Parses a cursor and its page.
pub(crate) fn parse_page(value: Value) -> Result<(String, Vec<Value>)> {
    let mut parts = reply::list(value)?.into_iter();
    let mut next = || parts.next().unwrap_or(Value::Nil);
    Ok((reply::text(next())?, reply::list(next())?))
}

impl InteropServer {
    /// Runs the command of each cursor to the end of the scan. A value may be found twice.
    pub(crate) async fn scan(
        &self,
        command: impl Fn(&str) -> Cmd,
        mut found: impl FnMut(Value) -> Result<()>,
    ) -> Result<()> {
        let mut cursor = "0".to_owned();
        loop {
            let (next, page) = parse_page(self.client.ask(&command(&cursor)).await?)?;
            page.into_iter().try_for_each(&mut found)?;
            if next == "0" {
                return Ok(());
            }
            cursor = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_characters_in_a_prefix_are_escaped() {
        assert_eq!(prefix_pattern("a[b]*?"), r"a\[b\]\*\?*");
        assert_eq!(prefix_pattern("a*b?[c]\\:"), "a\\*b\\?\\[c\\]\\\\:*");
    }
}
