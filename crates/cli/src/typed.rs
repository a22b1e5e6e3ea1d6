//! Durations on the command line. They stay text until a command reads them, so that a bad one is
//! refused with the same code and help as everywhere.

use std::time::Duration;

use windlass::duration::parse;

use crate::exit::Result;

/// A duration where one was typed.
pub(crate) fn duration(text: Option<&str>) -> Result<Option<Duration>> {
    Ok(text.map(parse).transpose()?)
}

/// A duration that was typed, or what it is otherwise.
pub(crate) fn duration_or(text: Option<&str>, otherwise: Duration) -> Result<Duration> {
    Ok(duration(text)?.unwrap_or(otherwise))
}
