//! The command of a worker: words in which a job's values take their places, never as code.

mod value;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use windlass_core::{Error, Result};
use windlass_worker::AttemptContext;

use value::{Field, Values};

/// The longest single argument that every system takes; more belongs on standard input.
const ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;

/// A command, ready to be filled in for each job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    program: OsString,
    arguments: Vec<Argument>,
}

/// One argument: however it is filled in, it stays one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Argument {
    parts: Vec<Part>,
    /// An argument before it is `--`: what follows is never an option.
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
    /// Reads a program and its arguments. `{id}`, `{kind}`, `{queue}`, `{attempt}`, `{payload}`
    /// and `{payload.a.b}` are places for a job's values, `{kind:-none}` has a default, and
    /// `{{id}}` stands for `{id}` itself.
    pub fn new(words: Vec<OsString>) -> Result<Self> {
        let mut words = words.into_iter();
        let program = words.next().filter(|program| !program.is_empty());
        let program = program.ok_or_else(no_command)?;
        if parts(&program)?
            .iter()
            .any(|part| matches!(part, Part::Value { .. }))
        {
            return Err(Error::invalid(
                "command",
                format!("the program is a placeholder: {}", program.display()),
                "name the program itself; only arguments take a job's values",
            ));
        }
        let mut is_after_dashes = false;
        let mut arguments = Vec::new();
        for word in words {
            arguments.push(Argument {
                parts: parts(&word)?,
                is_after_dashes,
            });
            is_after_dashes |= word == "--";
        }
        Ok(Self { program, arguments })
    }

    /// A text for the shell. The job's values never become part of it: they are in the environment
    /// and on standard input.
    pub fn shell(words: &[OsString]) -> Result<Self> {
        let [text] = words else {
            return Err(Error::invalid(
                "command",
                format!("a shell takes one text, here are {} words", words.len()),
                "put the whole text in quotes: --shell -- 'one | two'",
            ));
        };
        if let Some(name) = text.to_str().and_then(placeholder_in_shell) {
            return Err(Error::invalid(
                "command",
                format!("{{{name}}} would make a job's value part of the shell's text"),
                "use \"$WINDLASS_JOB_ID\" and its like, or read the payload from standard input",
            ));
        }
        let literal = |text: &OsStr| Argument {
            parts: vec![Part::Text(text.to_owned())],
            is_after_dashes: false,
        };
        Ok(Self {
            program: "/bin/sh".into(),
            arguments: vec![literal(OsStr::new("-c")), literal(text)],
        })
    }

    /// A command that takes no values at all.
    pub fn plain(words: Vec<OsString>) -> Result<Self> {
        let template = Self::new(words)?;
        if template
            .arguments
            .iter()
            .flat_map(|argument| &argument.parts)
            .any(|part| matches!(part, Part::Value { .. }))
        {
            return Err(Error::invalid(
                "command",
                "it has a placeholder, and the process outlives each job",
                "leave it out: jobs come as JSON lines on standard input",
            ));
        }
        Ok(template)
    }

    /// The program, as it was named.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// The words for a job, or why it cannot be run; trying again would be useless.
    pub(crate) fn fill(&self, context: &AttemptContext) -> Result<Vec<OsString>, String> {
        let values = Values::new(context);
        let mut words = vec![self.program.clone()];
        for argument in &self.arguments {
            words.push(argument.fill(&values)?);
        }
        Ok(words)
    }

    /// The words as they stand.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let text = |argument: &Argument| {
            let texts = argument.parts.iter().filter_map(|part| match part {
                Part::Text(text) => Some(text.as_os_str()),
                Part::Value { .. } => None,
            });
            texts.collect::<OsString>()
        };
        let arguments = self.arguments.iter().map(text);
        std::iter::once(self.program.clone())
            .chain(arguments)
            .collect()
    }
}

impl Argument {
    fn fill(&self, values: &Values<'_>) -> Result<OsString, String> {
        let mut bytes = Vec::new();
        let mut is_led_by_job = false;
        for part in &self.parts {
            let (piece, is_job) = part.fill(values)?;
            if is_job && piece.contains(&0) {
                return Err(
                    "a value of the job has a NUL byte in it, which no argument can hold: \
                    read it from standard input"
                        .to_owned(),
                );
            }
            is_led_by_job |= is_job && bytes.is_empty() && piece.starts_with(b"-");
            bytes.extend_from_slice(&piece);
        }
        if is_led_by_job && !self.is_after_dashes {
            return Err(
                "a value of the job begins with \"-\" and would be taken for an option: \
                put -- before it in the command"
                    .to_owned(),
            );
        }
        if bytes.len() > ARGUMENT_BYTES_MAX {
            return Err(format!(
                "an argument has {} bytes, the limit is {ARGUMENT_BYTES_MAX}: \
                read the payload from standard input",
                bytes.len()
            ));
        }
        Ok(OsString::from_vec(bytes))
    }
}

impl Part {
    /// The bytes, and whether they are the job's.
    fn fill(&self, values: &Values<'_>) -> Result<(Vec<u8>, bool), String> {
        match self {
            Self::Text(text) => Ok((text.as_encoded_bytes().to_vec(), false)),
            Self::Value { field, default } => match (values.get(field)?, default) {
                (Some(value), _) => Ok((value, true)),
                (None, Some(default)) => Ok((default.as_bytes().to_vec(), false)),
                (None, None) => Err(format!(
                    "the job has no {{{field}}}, and the command gives no default ({{{field}:-…}})"
                )),
            },
        }
    }
}

/// Splits a word at its placeholders. Braces that do not hold a name are text.
fn parts(word: &OsStr) -> Result<Vec<Part>> {
    let Some(mut rest) = word.to_str() else {
        return Ok(vec![Part::Text(word.to_owned())]);
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

/// What stands between the braces at the start of a text, where it has the shape of a name. Code
/// and JSON have other shapes: `{print $1}`, `{"a":1}`, `{}`.
fn named(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?;
    let inner = &inner[..inner.find(['{', '}'])?];
    // The brace that ended it may be one that opens.
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
            format!("the placeholder {{{path}}} is unknown"),
            format!(
                "use {{id}}, {{kind}}, {{queue}}, {{attempt}}, {{payload}} or {{payload.a.b}}; \
                write {{{{{path}}}}} for the text itself"
            ),
        )
    })?;
    Ok(Part::Value { field, default })
}

/// The first placeholder in a shell's text; `${id}` is a variable of the shell and is none.
fn placeholder_in_shell(text: &str) -> Option<&str> {
    text.match_indices('{')
        .filter(|(at, _)| !text[..*at].ends_with('$'))
        .filter_map(|(at, _)| named(&text[at..]))
        .map(|name| name.split_once(":-").map_or(name, |(path, _)| path))
        .find(|path| Field::parse(path).is_some())
}

fn no_command() -> Error {
    Error::invalid(
        "command",
        "there is none",
        "write it after --, for example `windlass exec --queue mail -- ./send-mail`",
    )
}

#[cfg(test)]
mod tests;
