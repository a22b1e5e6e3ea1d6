//! Durations on the command line. Clap keeps them as text; commands parse them, so that an invalid
//! one gets the same error code and help as in the other interfaces.

use std::time::Duration;

use windlass::duration::parse;

use crate::exit::Result;

/// Parses an optional duration.
pub fn duration(text: Option<&str>) -> Result<Option<Duration>> {
    Ok(text.map(parse).transpose()?)
}

/// Parses an optional duration; `default` if it is missing.
pub fn duration_or(text: Option<&str>, default: Duration) -> Result<Duration> {
    Ok(duration(text)?.unwrap_or(default))
}
