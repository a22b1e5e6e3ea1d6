//! Environment variables that stand in for a flag. An invalid value is a configuration error that
//! names the variable.

use crate::exit::{CliError, Exit, Result};

/// Returns the flag if given, else the variable, both parsed with `parse`.
pub fn flag_or<T>(
    flag: Option<&str>,
    variable: &str,
    parse: impl Fn(&str) -> Result<T>,
) -> Result<Option<T>> {
    match flag {
        Some(text) => parse(text).map(Some),
        None => value(variable, parse),
    }
}

/// Returns the variable, parsed with `parse`. An empty one counts as not set.
pub fn value<T>(variable: &str, parse: impl Fn(&str) -> Result<T>) -> Result<Option<T>> {
    let Some(text) = std::env::var_os(variable).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let Some(text) = text.to_str() else {
        let help = format!("set {variable} to UTF-8 text, or unset it");
        return Err(CliError::config(format!("{variable} is not UTF-8"), help));
    };
    let parsed = parse(text).map_err(|error| name_variable(variable, error));
    parsed.map(Some)
}

/// Turns a usage error into a configuration error that names the variable. Other errors are returned
/// unchanged.
pub fn name_variable(variable: &str, error: CliError) -> CliError {
    if error.exit != Exit::Usage {
        return error;
    }
    let message = format!("{variable}: {}", error.details.message);
    CliError::config(message, error.details.help)
}

/// Environment variable with a token for the HTTP API. Not a flag: other users can read those.
pub const HTTP_TOKEN: &str = "WINDLASS_HTTP_TOKEN";

/// Returns the token for the HTTP API, if set.
pub fn http_token() -> Option<String> {
    let secret = std::env::var_os(HTTP_TOKEN)?;
    // A token that is not UTF-8 fails validation later.
    Some(secret.to_string_lossy().into_owned()).filter(|secret| !secret.is_empty())
}
