//! Folds names into a script's text: keys become `KEYS[n]`, numbers with a name become numbers.
//!
//! A script builds its functions anew in every call, and each name from outside that a function uses
//! is searched for among all such names of the script. Names that never change need not be there:
//! without them a call for one job takes a third less time.

use std::collections::HashMap;
use std::fmt::Write as _;

/// A script's text with names folded; `keys` are the keys it declares, each with its place.
///
/// # Panics
///
/// When a number is named twice: the second would be lost.
pub(super) fn fold(source: &str, keys: &HashMap<String, String>) -> String {
    let mut names = keys.clone();
    let mut folded = String::with_capacity(source.len());
    let mut rest = String::with_capacity(source.len());
    for line in source.lines() {
        match named_numbers(line) {
            Some(numbers) => {
                for (name, number) in numbers {
                    let before = names.insert(name.to_owned(), number.to_owned());
                    assert!(before.is_none(), "{name} is named twice");
                }
            }
            None => {
                let _ = writeln!(rest, "{line}");
            }
        }
    }
    for line in rest.lines() {
        fold_line(line, &names, &mut folded);
        folded.push('\n');
    }
    folded
}

/// The names and numbers of a line `local ONE, TWO = 1, 2`.
fn named_numbers(line: &str) -> Option<Vec<(&str, &str)>> {
    let (names, values) = line.strip_prefix("local ")?.split_once(" = ")?;
    let values = values.split(" --").next().unwrap_or_default().trim_end();
    let names: Vec<_> = names.split(", ").collect();
    let values: Vec<_> = values.split(", ").collect();
    let is_name = |name: &&str| name.bytes().all(|c| c.is_ascii_uppercase() || c == b'_');
    let is_number = |value: &&str| !value.is_empty() && value.bytes().all(|c| c.is_ascii_digit());
    let is_plain = names.iter().all(is_name) && values.iter().all(is_number);
    (is_plain && names.len() == values.len()).then(|| names.into_iter().zip(values).collect())
}

/// Folds what stands outside of texts and comments, and is no field of a table.
fn fold_line(line: &str, names: &HashMap<String, String>, folded: &mut String) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = line;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("--") {
            rest.len()
        } else if first == '\'' {
            text_length(rest)
        } else if is_part(first) {
            rest.find(|c| !is_part(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(length);
        let name = names.get(word).filter(|_| before != '.');
        folded.push_str(name.map_or(word, String::as_str));
        before = first;
        rest = after;
    }
}

/// The length of a text in quotes.
fn text_length(text: &str) -> usize {
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
        let keys = [("k_jobs".to_owned(), "KEYS[2]".to_owned())];
        fold(text, &keys.into())
    }

    #[test]
    fn keys_and_named_numbers_stand_in_the_text_itself() {
        let text =
            "local ONE, TEN = 1, 10 -- two of them\nf[ONE] = TEN + redis.call('HLEN', k_jobs)";
        assert_eq!(folded(text), "f[1] = 10 + redis.call('HLEN', KEYS[2])\n");
    }

    #[test]
    fn texts_comments_fields_and_other_names_are_left_alone() {
        for text in [
            "local a = 'k_jobs it\\'s k_jobs' -- k_jobs",
            "ending.k_jobs = k_jobs_of",
            "local FORMAT = '<d'",
            "local FIRST, WIDTH = 6, ARGV[5]",
            "local LEFT = { 1 }",
        ] {
            assert_eq!(folded(text), format!("{text}\n"));
        }
    }

    #[test]
    #[should_panic(expected = "ONE is named twice")]
    fn a_number_named_twice_is_found() {
        folded("local ONE = 1\nlocal ONE = 2");
    }
}
