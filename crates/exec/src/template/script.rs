//! Finds placeholders in a script that the command passes to a shell or another interpreter: there, a
//! job's value would become code.

use std::ffi::OsStr;
use std::path::Path;

use super::{Argument, Part};

/// Programs whose option with a `c` makes the first argument after the options a script.
const SHELLS: [&str; 14] = [
    "ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "pwsh", "rbash", "rksh", "sh", "tcsh",
    "yash", "zsh",
];

/// Interpreters, the last letters of the short options whose argument is code, and the long options.
const INTERPRETERS: [(&str, &str, &[&str]); 7] = [
    ("lua", "e", &[]),
    ("node", "ep", &["--eval", "--print"]),
    ("perl", "eE", &[]),
    ("php", "r", &["--run"]),
    ("python", "c", &[]),
    ("pypy", "c", &[]),
    ("ruby", "e", &[]),
];

/// Returns the interpreter whose script has a placeholder. Every word may be its name, since programs
/// such as `env`, `nice` and `busybox` start it from their arguments.
pub(super) fn with_placeholder(words: &[Argument]) -> Option<&str> {
    (0..words.len()).find_map(|index| {
        let name = interpreter(words[index].literal()?)?;
        let options = &words[index + 1..];
        let script = if SHELLS.contains(&name) {
            shell_script(options)
        } else {
            code(name, options)
        };
        script
            .is_some_and(Argument::has_placeholder)
            .then_some(name)
    })
}

/// The name of a program without its folder and version: `bash`, `python` for `/usr/bin/python3.12`.
fn interpreter(program: &OsStr) -> Option<&str> {
    let name = Path::new(program).file_name()?.to_str()?;
    Some(name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Returns the script of a shell: the first argument after the options, if one of them has a `c`.
fn shell_script(mut options: &[Argument]) -> Option<&Argument> {
    let mut is_script = false;
    while let Some((word, rest)) = options.split_first() {
        options = rest;
        let start = word.start();
        if !start.starts_with(['-', '+']) {
            return is_script.then_some(word);
        }
        if word.has_placeholder() {
            return Some(word);
        }
        if start == "--" || start == "-" {
            return rest.first().filter(|_| is_script);
        }
        let is_long = start.starts_with("--");
        is_script |= !is_long && start.contains('c');
        let has_value = matches!(start, "--rcfile" | "--init-file");
        if has_value || (!is_long && start.ends_with(['o', 'O'])) {
            options = rest.get(1..).unwrap_or_default();
        }
    }
    None
}

/// Returns the code of another interpreter: the argument after an option for it.
fn code<'a>(name: &str, options: &'a [Argument]) -> Option<&'a Argument> {
    let (_, letters, long) = INTERPRETERS.iter().find(|(known, ..)| *known == name)?;
    let is_cluster = |option: &str| {
        let letters_only = option.chars().skip(1).all(|c| c.is_ascii_alphabetic());
        letters_only && option.starts_with('-') && option.ends_with(|c| letters.contains(c))
    };
    for (index, word) in options.iter().enumerate() {
        let start = word.start();
        if !start.starts_with('-') {
            return None;
        }
        if word.has_placeholder() {
            return Some(word);
        }
        if is_cluster(start) || long.contains(&start) {
            return options.get(index + 1);
        }
    }
    None
}

impl Argument {
    /// The text before the first placeholder.
    fn start(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text.to_str().unwrap_or_default(),
            _ => "",
        }
    }

    pub(super) fn has_placeholder(&self) -> bool {
        let is_value = |part: &Part| matches!(part, Part::Value { .. });
        self.parts.iter().any(is_value)
    }
}
