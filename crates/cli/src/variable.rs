//! Variables of the environment that stand in for a flag. A bad one is bad configuration and is
//! named: nobody typed the flag.

use crate::exit::{Exit, Failure, Result};

/// What was typed, else what the variable says, as `read` understands both.
pub(crate) fn flag_or<T>(
    flag: Option<&str>,
    variable: &str,
    read: impl Fn(&str) -> Result<T>,
) -> Result<Option<T>> {
    match flag {
        Some(typed) => read(typed).map(Some),
        None => value(variable, read),
    }
}

/// What the variable says, as `read` understands it; an empty one says nothing.
pub(crate) fn value<T>(variable: &str, read: impl Fn(&str) -> Result<T>) -> Result<Option<T>> {
    let Some(text) = std::env::var_os(variable).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let Some(text) = text.to_str() else {
        let help = format!("set {variable} to plain text, or unset it");
        return Err(Failure::config(format!("{variable} is not UTF-8"), help));
    };
    let read = read(text).map_err(|failure| blame(variable, failure));
    read.map(Some)
}

/// A refusal of what was typed, as one of the variable; any other failure stays what it is.
pub(crate) fn blame(variable: &str, failure: Failure) -> Failure {
    if failure.exit != Exit::Usage {
        return failure;
    }
    let message = format!("{variable}: {}", failure.problem.message);
    Failure::config(message, failure.problem.help)
}
