//! Errors of the bench.

use std::fmt::Display;

use windlass::{Error, ErrorKind};

/// The bare engine failed.
pub(crate) fn bare_engine(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let what = format!("the bare engine failed: {error}");
    let help = "check that the store is reachable and idle, then run the benchmark again";
    Error::new(ErrorKind::StoreUnreachable, what, help).caused_by(error)
}

/// A bug in the bench.
pub(crate) fn internal(why: impl Display) -> Error {
    let help = "this is a bug in Windlass; report it with the command and this message";
    Error::new(ErrorKind::Internal, why.to_string(), help)
}
