//! Folds named constants into a script: keys become `KEYS[n]`, names become their values.
//!
//! A script creates its functions in every call, and each outer local that a function uses costs
//! time and counts against Lua's limit of 60. Names that never change need not be locals: without
//! them a call for one job takes a third less time. Folding also lets the Lua sources name letters
//! and positions without making the text sent to Redis any longer; comments are dropped for the
//! same reason.

use std::collections::HashMap;

/// Folds the named constants of a script, drops its comments and blank lines, and replaces `keys`,
/// the keys it declares.
///
/// # Panics
///
/// If a constant is declared twice.
pub(super) fn fold(source: &str, keys: &HashMap<String, String>) -> String {
    let mut names = keys.clone();
    let mut code = Vec::new();
    for line in source.lines() {
        match constants(line) {
            Some(constants) => {
                for (name, value) in constants {
                    let before = names.insert(name.to_owned(), value.to_owned());
                    assert!(before.is_none(), "{name} is declared twice");
                }
            }
            None => code.push(line),
        }
    }
    let mut folded = String::with_capacity(source.len());
    for line in code {
        let start = folded.len();
        fold_line(line, &names, &mut folded);
        folded.truncate(folded.trim_end().len().max(start));
        if folded.len() > start {
            folded.push('\n');
        }
    }
    folded
}

/// The names and values of a declaration `local ONE, TWO = 1, 'two'`: names in capitals, values that
/// are numbers or quoted strings.
fn constants(line: &str) -> Option<Vec<(&str, &str)>> {
    let (names, mut rest) = line.strip_prefix("local ")?.split_once(" = ")?;
    let mut constants = Vec::new();
    for name in names.split(", ") {
        if !name.bytes().all(|c| c.is_ascii_uppercase() || c == b'_') {
            return None;
        }
        if !constants.is_empty() {
            rest = rest.strip_prefix(", ")?;
        }
        let value;
        (value, rest) = rest.split_at(literal_length(rest)?);
        constants.push((name, value));
    }
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with("--")).then_some(constants)
}

/// The length of the number or quoted string that a text starts with.
fn literal_length(text: &str) -> Option<usize> {
    if text.starts_with('\'') {
        return Some(string_length(text));
    }
    let sign = usize::from(text.starts_with('-'));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then_some(sign + digits)
}

/// Folds one line. Strings, and fields after a dot, keep their text.
fn fold_line(line: &str, names: &HashMap<String, String>, folded: &mut String) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = line;
    let mut before = ' ';
    // Where the last string ends in `folded`.
    let mut string_end = None;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("--") {
            return;
        }
        let length = if first == '\'' {
            string_length(rest)
        } else if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        let value = names.get(token).filter(|_| before != '.');
        let token = value.map_or(token, String::as_str);
        before = first;
        if value.is_some_and(|value| value.ends_with("+ ")) {
            // One of a list of keys: `k_ready[n]` becomes `KEYS[7 + n]`.
            rest = rest.strip_prefix('[').expect("a list of keys has an index");
        }
        if value.is_some() && fold_index(token, &mut rest, folded) {
            continue;
        }
        if token.starts_with('\'') {
            push_string(token, string_end, folded);
            string_end = Some(folded.len());
        } else {
            folded.push_str(token);
        }
    }
}

/// Writes `opts['u']` as `opts.u`, and `{ ['u'] = 1 }` as `{ u = 1 }`, for a constant of one letter.
fn fold_index(token: &str, rest: &mut &str, folded: &mut String) -> bool {
    let [b'\'', letter @ b'a'..=b'z', b'\''] = *token.as_bytes() else {
        return false;
    };
    let (Some(after), true) = (rest.strip_prefix(']'), folded.ends_with('[')) else {
        return false;
    };
    folded.pop();
    let is_index = |c: char| c.is_ascii_alphanumeric() || "_])".contains(c);
    if folded.ends_with(is_index) {
        folded.push('.');
    }
    folded.push(char::from(letter));
    *rest = after;
    true
}

/// Writes a string; `'a' .. 'b'` becomes `'ab'`, so that it is not joined in every call.
fn push_string(token: &str, string_end: Option<usize>, folded: &mut String) {
    // A digit would continue an escape such as `\9`.
    let can_join = !token[1..].starts_with(|c: char| c.is_ascii_digit());
    match string_end {
        Some(end) if can_join && &folded[end..] == " .. " => {
            folded.truncate(end - 1);
            folded.push_str(&token[1..]);
        }
        _ => folded.push_str(token),
    }
}

fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\'' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let keys = [("k_jobs", "KEYS[2]"), ("k_ready", "KEYS[3 + ")];
        let keys = keys.map(|(name, expression)| (name.to_owned(), expression.to_owned()));
        fold(text, &keys.into())
    }

    #[test]
    fn keys_and_constants_are_replaced_by_their_values() {
        let text =
            "local ONE, TEN = 1, 10 -- two of them\nf[ONE] = TEN + redis.call('HLEN', k_jobs)";
        assert_eq!(folded(text), "f[1] = 10 + redis.call('HLEN', KEYS[2])\n");
        let text = "local LESS, WORD = -1, 'it\\'s, so'\nreturn LESS - ms, WORD";
        assert_eq!(folded(text), "return -1 - ms, 'it\\'s, so'\n");
    }

    #[test]
    fn a_list_of_keys_is_replaced_by_positions() {
        let text = "redis.call('LLEN', k_ready[cuts[i].priority])";
        assert_eq!(
            folded(text),
            "redis.call('LLEN', KEYS[3 + cuts[i].priority])\n"
        );
    }

    #[test]
    fn a_letter_as_an_index_is_written_as_a_field() {
        let text =
            "local KIND, KEY = 'k', 'u'\nf(o[KIND], g(i)[KEY]).x = { [KIND] = 1, [KEY] = 2 }";
        assert_eq!(folded(text), "f(o.k, g(i).u).x = { k = 1, u = 2 }\n");
        assert_eq!(folded("local WORD = 'end'\no[WORD] = 1"), "o['end'] = 1\n");
    }

    #[test]
    fn neighbouring_strings_are_joined() {
        let text = "local KIND, NINE = 'k', '9'\nfind('\\n' .. KIND .. '(%d)' .. x .. KIND)";
        assert_eq!(folded(text), "find('\\nk(%d)' .. x .. 'k')\n");
        // `\19` would be another character.
        assert_eq!(
            folded("local NINE = '9'\nreturn '\\1' .. NINE"),
            "return '\\1' .. '9'\n"
        );
    }

    #[test]
    fn comments_and_blank_lines_are_dropped() {
        let text = "-- why\n\nlocal a = '--' -- ONE\n  -- k_jobs\nreturn a";
        assert_eq!(folded(text), "local a = '--'\nreturn a\n");
    }

    #[test]
    fn strings_fields_and_other_declarations_are_left_alone() {
        for text in [
            "local a = 'k_jobs it\\'s k_jobs'",
            "ending.k_jobs = k_jobs_of",
            "local FORMAT = '<' .. string.rep('d', 47)",
            "local FIRST, WIDTH = 6, ARGV[5]",
            "local LEFT = { 1 }",
        ] {
            assert_eq!(folded(text), format!("{text}\n"));
        }
    }

    #[test]
    #[should_panic(expected = "ONE is declared twice")]
    fn a_constant_declared_twice_is_found() {
        folded("local ONE = 1\nlocal ONE = 2");
    }
}
