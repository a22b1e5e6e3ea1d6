//! No Lua script orders texts by `<`: a server compares them by its locale, while its sorted sets,
//! and the other stores, go by bytes.
//!
//! A script's values have no types to look at. So one side of every comparison must be a number for
//! all to see: a length, something computed, or a name that is only ever given to numbers. Lua itself
//! refuses to compare a number with a text.

use super::tree::Tree;
use super::violation::Violation;

/// Names, and ends of names, that are only ever given to numbers.
const NUMBERS: [&str; 12] = [
    "attempt", "clock_us", "high", "highest", "limit", "max", "now", "number", "of_a", "place",
    "rule", "settled",
];

/// What ends a side of a comparison.
const ENDS: [&str; 12] = [
    "and", "or", "not", "if", "elseif", "while", "until", "return", "then", "do", "=", ",",
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files().iter().filter(|file| file.is("lua")) {
        for (number, line) in file.lines() {
            let words = words(line);
            if words
                .iter()
                .enumerate()
                .any(|(at, _)| may_order_texts(&words, at))
            {
                violations.push(Violation::new(
                    &file.path,
                    number,
                    "this may order texts, which goes by the server's locale",
                    "compare them with `is_before` of crates/store-redis/lua/lib/order.lua; if they \
                     are numbers, say so with `tonumber` or a name in xtask/src/tidy/text_order.rs",
                ));
            }
        }
    }
    violations
}

/// Whether the word at a place sorts by `<`, or compares what may be two texts.
fn may_order_texts(words: &[&str], at: usize) -> bool {
    let (before, after) = (&words[..at], &words[at + 1..]);
    match words[at] {
        "<" | "<=" | ">" | ">=" => {
            let backwards = before.iter().rev();
            let left = &before[at - side(backwards, ")", "(")..];
            let right = &after[..side(after.iter(), "(", ")")];
            !is_number(left) && !is_number(right)
        }
        // With a second argument it is told how.
        "table.sort" => !after.contains(&","),
        _ => false,
    }
}

/// How many words one side of a comparison has, from the nearest on.
fn side<'a>(mut words: impl Iterator<Item = &'a &'a str>, open: &str, close: &str) -> usize {
    let mut depth = 0;
    let mut length = 0;
    words.all(|word| {
        depth += i32::from(*word == open) - i32::from(*word == close);
        let is_inside = depth > 0 || depth == 0 && !ENDS.contains(word);
        length += usize::from(is_inside);
        is_inside
    });
    length
}

/// Whether a side is a number for all to see. What stands in brackets, or is handed to a function,
/// says nothing of it.
fn is_number(side: &[&str]) -> bool {
    let mut hidden = 0;
    let mut before = "";
    side.iter().any(|word| {
        let is_call = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        hidden += match *word {
            "[" => 1,
            "(" if is_call || hidden > 0 => 1,
            "]" => -1,
            ")" if hidden > 0 => -1,
            _ => 0,
        };
        before = word;
        hidden == 0 && says_number(word)
    })
}

fn says_number(word: &str) -> bool {
    let name = word.rsplit('.').next().unwrap_or(word);
    let is_constant = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    is_constant
        || NUMBERS.contains(&name)
        || ["#", "+", "-", "*", "/", "%", "tonumber", "f"].contains(&word)
        || word.starts_with("math.")
        || word.starts_with(|c: char| c.is_ascii_digit())
}

/// The words and signs of a line, without its comment; a text in quotes is one word.
fn words(line: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("--") {
            break;
        } else if first == '\'' {
            rest[1..].find('\'').map_or(rest.len(), |end| end + 2)
        } else if is_part(first) {
            rest.find(|c| !is_part(c)).unwrap_or(rest.len())
        } else if ["<=", ">=", "==", "~="]
            .iter()
            .any(|sign| rest.starts_with(sign))
        {
            2
        } else {
            first.len_utf8()
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    fn caught(line: &str) -> bool {
        let tree = Tree::of(&[("a.lua", line), ("b.rs", "a < b\n")]);
        let caught = briefly(&check(&tree));
        assert!(caught.iter().all(|what| what.starts_with("a.lua:1: ")));
        !caught.is_empty()
    }

    #[test]
    fn texts_that_are_ordered_are_caught() {
        for line in [
            "if redis.call('ZRANGE', key, middle, middle)[1] <= member then",
            "return a.id < b.id",
            "local first = f[X] > 0 and one > other",
            "while not (ids[i] >= ids[j]) do",
            "table.sort(ids)",
        ] {
            assert!(caught(line), "{line}");
        }
    }

    #[test]
    fn numbers_that_are_ordered_are_not() {
        for line in [
            "if tonumber(text) <= most then",
            "if #a < other or f[READY + priority] > other then",
            "return a.number < b.number",
            "if word == text and done * cost > BUDGET then",
            "table.sort(back, function(a, b)",
            "local x = y -- a < b",
            "local text = 'a < b'",
        ] {
            assert!(!caught(line), "{line}");
        }
    }
}
