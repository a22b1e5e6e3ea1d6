//! The command of a worker: arguments with placeholders for a job's values, which never become code.

mod script;
mod value;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use windlass_core::{Error, Result};
use windlass_worker::AttemptContext;

use value::Field;

/// The longest single argument that every system supports; larger values must be read from stdin.
const ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;

/// A command with placeholders that are filled in for each job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The program, which has no placeholder, and its arguments.
    words: Vec<Argument>,
}

/// The program or an argument; it stays a single one whatever is filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Argument {
    parts: Vec<Part>,
    /// Follows a `--`, so that it cannot be an option.
    is_after_dashes: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(OsString),
    Value {
        field: Field,
        default: Option<String>,
    },
}

impl Template {
    /// Parses a program and its arguments. `{id}`, `{kind}`, `{queue}`, `{attempt}`, `{payload}` and
    /// `{payload.a.b}` are placeholders for a job's values, `{kind:-none}` has a default, and `{{id}}`
    /// is the text `{id}`.
    pub fn new(command_line: &[OsString]) -> Result<Self> {
        let Some(program) = command_line.first().filter(|program| !program.is_empty()) else {
            return Err(Error::invalid(
                "command",
                "no command is given",
                "write it after the queue: `windlass exec mail ./send-mail`",
            ));
        };
        let mut is_after_dashes = false;
        let mut words = Vec::new();
        for word in command_line {
            words.push(Argument {
                parts: parts(word)?,
                is_after_dashes,
            });
            is_after_dashes |= word == "--" && words.len() > 1;
        }
        if words[0].has_placeholder() {
            return Err(Error::invalid(
                "command",
                format!("the program has a placeholder: {}", program.display()),
                "name the program itself; only arguments may have placeholders",
            ));
        }
        words[0] = literal(program);
        if let Some(name) = script::with_placeholder(&words) {
            return Err(Error::invalid(
                "command",
                format!("a placeholder would make a job's value part of a script that {name} runs"),
                "pass the value as an argument of the script, sh -c 'echo \"$1\"' sh {payload}; or read the \
                payload from stdin, or use --shell -- 'echo \"$WINDLASS_JOB_ID\"'",
            ));
        }
        Ok(Self { words })
    }

    /// Creates a command for `/bin/sh -c`. Values of the job never become part of the script: they are in
    /// the environment and on stdin.
    pub fn shell(command_line: &[OsString]) -> Result<Self> {
        let [text] = command_line else {
            return Err(Error::invalid(
                "command",
                format!("--shell takes one argument, got {}", command_line.len()),
                "quote the script: --shell -- 'one | two'",
            ));
        };
        if let Some(name) = text.to_str().and_then(placeholder_in_shell) {
            return Err(Error::invalid(
                "command",
                format!("{{{name}}} would make a job's value part of the shell script"),
                "use \"$WINDLASS_JOB_ID\" and similar variables, or read the payload from stdin",
            ));
        }
        let words = [OsStr::new("/bin/sh"), OsStr::new("-c"), text];
        Ok(Self {
            words: words.map(literal).into(),
        })
    }

    /// Creates a command without placeholders.
    pub fn without_placeholders(command_line: &[OsString]) -> Result<Self> {
        let template = Self::new(command_line)?;
        if template.words.iter().any(Argument::has_placeholder) {
            return Err(Error::invalid(
                "command",
                "it has a placeholder, but a resident process runs many jobs",
                "remove it and read the jobs as JSON lines from stdin",
            ));
        }
        Ok(template)
    }

    /// Returns the program as given.
    pub fn program(&self) -> &OsStr {
        self.words[0].literal().unwrap_or_default()
    }

    /// Returns the program and arguments for a job, or why it can never be run.
    pub(crate) fn fill(&self, context: &AttemptContext) -> Result<Vec<OsString>, String> {
        self.words.iter().map(|word| word.fill(context)).collect()
    }

    /// Returns the program and arguments of a command without placeholders.
    pub(crate) fn command_line(&self) -> Vec<OsString> {
        let literals = self.words.iter().filter_map(Argument::literal);
        literals.map(OsStr::to_owned).collect()
    }
}

fn literal(text: &OsStr) -> Argument {
    Argument {
        parts: vec![Part::Text(text.to_owned())],
        is_after_dashes: false,
    }
}

impl Argument {
    /// Returns the text of an argument without placeholders.
    fn literal(&self) -> Option<&OsStr> {
        match &self.parts[..] {
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    fn fill(&self, context: &AttemptContext) -> Result<OsString, String> {
        let mut bytes = Vec::new();
        let mut has_leading_dash = false;
        for part in &self.parts {
            let (piece, is_job) = part.fill(context)?;
            if is_job && piece.contains(&0) {
                return Err(
                    "a value of the job contains a NUL byte, which an argument cannot; \
                    read it from stdin"
                        .to_owned(),
                );
            }
            has_leading_dash |= is_job && bytes.is_empty() && piece.starts_with(b"-");
            bytes.extend_from_slice(&piece);
        }
        if has_leading_dash && !self.is_after_dashes {
            return Err(
                "a value of the job starts with \"-\" and would be parsed as an option; \
                put -- before it in the command"
                    .to_owned(),
            );
        }
        if bytes.len() > ARGUMENT_BYTES_MAX {
            return Err(format!(
                "an argument has {} bytes, the limit is {ARGUMENT_BYTES_MAX}; \
                read the payload from stdin",
                bytes.len()
            ));
        }
        Ok(OsString::from_vec(bytes))
    }
}

impl Part {
    /// Returns the bytes, and whether they come from the job.
    fn fill(&self, context: &AttemptContext) -> Result<(Vec<u8>, bool), String> {
        match self {
            Self::Text(text) => Ok((text.as_encoded_bytes().to_vec(), false)),
            Self::Value { field, default } => match (field.value(context)?, default) {
                (Some(value), _) => Ok((value, true)),
                (None, Some(default)) => Ok((default.as_bytes().to_vec(), false)),
                (None, None) => Err(format!(
                    "the job has no {{{field}}} and the command sets no default; write {{{field}:-DEFAULT}}"
                )),
            },
        }
    }
}

/// Splits an argument at its placeholders. Braces that do not enclose a name are text.
fn parts(argument: &OsStr) -> Result<Vec<Part>> {
    let Some(mut rest) = argument.to_str() else {
        return Ok(vec![Part::Text(argument.to_owned())]);
    };
    let mut parts = Vec::new();
    let mut text = String::new();
    while let Some(open) = rest.find('{') {
        text.push_str(&rest[..open]);
        rest = &rest[open..];
        let doubled = named(&rest[1..]).filter(|name| rest[name.len() + 3..].starts_with('}'));
        if let Some(name) = doubled {
            text.push_str(&rest[1..name.len() + 3]);
            rest = &rest[name.len() + 4..];
        } else if let Some(name) = named(rest) {
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text).into()));
            }
            parts.push(placeholder(name)?);
            rest = &rest[name.len() + 2..];
        } else {
            text.push('{');
            rest = &rest[1..];
        }
    }
    text.push_str(rest);
    if !text.is_empty() || parts.is_empty() {
        parts.push(Part::Text(text.into()));
    }
    Ok(parts)
}

/// Returns the text between the braces at the start, if it looks like a name. Code and JSON do not:
/// `{print $1}`, `{"a":1}`, `{}`.
fn named(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?;
    let inner = &inner[..inner.find(['{', '}'])?];
    // It may have ended at an opening brace.
    text[inner.len() + 1..].strip_prefix('}')?;
    let (path, _) = inner.split_once(":-").unwrap_or((inner, ""));
    let head = path.split('.').next()?;
    let is_head = !head.is_empty() && head.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let is_path = !path.contains(|c: char| c.is_whitespace() || "\"':;,".contains(c));
    (is_head && is_path).then_some(inner)
}

fn placeholder(name: &str) -> Result<Part> {
    let (path, default) = match name.split_once(":-") {
        Some((path, default)) => (path, Some(default.to_owned())),
        None => (name, None),
    };
    let field = Field::parse(path).ok_or_else(|| {
        Error::invalid(
            "command",
            format!("unknown placeholder {{{path}}}"),
            format!(
                "use {{id}}, {{kind}}, {{queue}}, {{attempt}}, {{payload}} or {{payload.a.b}}; \
                write {{{{{path}}}}} for the literal text"
            ),
        )
    })?;
    Ok(Part::Value { field, default })
}

/// Returns the first placeholder in a shell script; `${id}` is a shell variable.
fn placeholder_in_shell(text: &str) -> Option<&str> {
    text.match_indices('{')
        .filter(|(at, _)| !text[..*at].ends_with('$'))
        .filter_map(|(at, _)| named(&text[at..]))
        .map(|name| name.split_once(":-").map_or(name, |(path, _)| path))
        .find(|path| Field::parse(path).is_some())
}

#[cfg(test)]
mod tests;
