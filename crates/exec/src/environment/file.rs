//! A file of variables, one `NAME=VALUE` per line. Errors name lines, never their text: it is often secret.

use std::path::Path;

use windlass_core::{Error, Result};

const HELP: &str = "write one NAME=VALUE per line; lines that begin with # are comments";

/// Returns the variables of a file as `NAME=VALUE`.
pub(super) fn read(path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::invalid(
            "--env-file",
            format!("cannot read {}: {error}", path.display()),
            "check that the file exists, is readable and is UTF-8",
        )
    })?;
    parse(&text).map_err(|(line, why)| {
        let why = format!("{} line {line}: {why}", path.display());
        Error::invalid("--env-file", why, HELP)
    })
}

/// Parses the lines. The error has the number of the line.
fn parse(text: &str) -> Result<Vec<String>, (usize, &'static str)> {
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let lines = lines.map(|(at, line)| (at + 1, line.trim()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(at, line)| variable(line).map_err(|why| (at, why)))
        .collect()
}

fn variable(line: &str) -> Result<String, &'static str> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=').ok_or("there is no =")?;
    let name = name.trim();
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty()
        || name.starts_with(|c: char| c.is_ascii_digit())
        || !name.chars().all(is_allowed)
    {
        return Err("the name is not one of a variable");
    }
    Ok(format!("{name}={}", unquoted(value.trim())))
}

/// Removes one pair of quotes around a value, as shells and other tools do.
fn unquoted(value: &str) -> &str {
    let between = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    between('"').or_else(|| between('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_sets_a_variable() {
        let text =
            "\u{feff}# keys\r\nA=1\r\n\n  export B = two words \nC=\"x=y\"\nD='$A'\nE=\nF=\"";
        let expected = ["A=1", "B=two words", "C=x=y", "D=$A", "E=", "F=\""];
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn a_bad_line_is_named_by_its_number() {
        for bad in ["hunter2", "=hunter2", "hunter-2=x", "2=x", "A B=x"] {
            let (line, why) = parse(&format!("A=1\n\n{bad}\n")).unwrap_err();
            assert_eq!(line, 3, "{bad}");
            assert!(!why.contains("hunter"), "{why}");
        }
    }
}
