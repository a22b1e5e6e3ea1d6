//! No Lua script compares strings with `<`: Redis compares them by its locale, while sorted sets and
//! the other stores compare bytes.
//!
//! Lua values have no static types. So one side of every comparison must be a number by its form: a
//! length, an arithmetic expression, or a name that is only used for numbers. Lua itself raises an
//! error when it compares a number with a string.

use super::tree::Tree;
use super::violation::Violation;

/// Names, and last parts of names, that are only used for numbers.
const NUMBERS: [&str; 12] = [
    "attempt", "clock_us", "high", "highest", "limit", "max", "now", "number", "of_a", "rank",
    "rule", "settled",
];

/// Tokens that end an operand of a comparison.
const ENDS: [&str; 12] = [
    "and", "or", "not", "if", "elseif", "while", "until", "return", "then", "do", "=", ",",
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let wrong = |line: &str| {
        let tokens = tokens(line);
        let mut places = 0..tokens.len();
        let is_wrong = places.any(|at| may_compare_strings(&tokens, at));
        let what = "this may compare strings, which depends on the server's locale";
        is_wrong.then(|| what.to_owned()).into_iter().collect()
    };
    let fix = "use `is_before` of crates/store-redis/lua/lib/byte_order.lua; for numbers, use \
               `tonumber` or add the name in xtask/src/tidy/lua_comparisons.rs";
    tree.check_lines(|file| file.is("lua"), wrong, fix)
}

/// Returns whether the token at `at` sorts by `<`, or compares what may be two strings.
fn may_compare_strings(tokens: &[&str], at: usize) -> bool {
    let (before, after) = (&tokens[..at], &tokens[at + 1..]);
    match tokens[at] {
        "<" | "<=" | ">" | ">=" => {
            let backwards = before.iter().rev();
            let left = &before[at - operand(backwards, ")", "(")..];
            let right = &after[..operand(after.iter(), "(", ")")];
            !is_number(left) && !is_number(right)
        }
        // A second argument is a comparison function.
        "table.sort" => !after.contains(&","),
        _ => false,
    }
}

/// Counts the tokens of one operand, starting next to the operator.
fn operand<'a>(mut tokens: impl Iterator<Item = &'a &'a str>, open: &str, close: &str) -> usize {
    let mut depth = 0;
    let mut length = 0;
    tokens.all(|token| {
        depth += i32::from(*token == open) - i32::from(*token == close);
        let is_inside = depth > 0 || depth == 0 && !ENDS.contains(token);
        length += usize::from(is_inside);
        is_inside
    });
    length
}

/// Returns whether an operand is a number by its form. Indexes and function arguments do not
/// count.
fn is_number(operand: &[&str]) -> bool {
    let mut hidden = 0;
    let mut before = "";
    operand.iter().any(|token| {
        let is_call = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        hidden += match *token {
            "[" => 1,
            "(" if is_call || hidden > 0 => 1,
            "]" => -1,
            ")" if hidden > 0 => -1,
            _ => 0,
        };
        before = token;
        hidden == 0 && is_numeric(token)
    })
}

fn is_numeric(token: &str) -> bool {
    let name = token.rsplit('.').next().unwrap_or(token);
    let is_constant = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    is_constant
        || NUMBERS.contains(&name)
        || ["#", "+", "-", "*", "/", "%", "tonumber", "stats"].contains(&token)
        || token.starts_with("math.")
        || token.starts_with(|c: char| c.is_ascii_digit())
}

/// Splits a line into tokens, without its comment. A quoted string is one token.
fn tokens(line: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut tokens = Vec::new();
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
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
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
    fn comparisons_of_strings_are_caught() {
        for line in [
            "if redis.call('ZRANGE', key, middle, middle)[1] <= member then",
            "return a.id < b.id",
            "local first = stats[X] > 0 and one > other",
            "while not (ids[i] >= ids[j]) do",
            "table.sort(ids)",
        ] {
            assert!(caught(line), "{line}");
        }
    }

    #[test]
    fn comparisons_of_numbers_are_not() {
        for line in [
            "if tonumber(text) <= most then",
            "if #a < other or stats[READY + priority] > other then",
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
