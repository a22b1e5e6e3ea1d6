//! What goes wrong beside the stores, in the words of Windlass.

use std::fmt::Display;

use windlass::{Error, ErrorKind};

/// The bare engine did not do its part.
pub(crate) fn bare(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let what = format!("the bare engine did not answer: {error}");
    let help = "see that the store is reachable and idle, then run the bench again";
    Error::new(ErrorKind::StoreUnreachable, what, help).caused_by(error)
}

/// A fault of the bench itself.
pub(crate) fn internal(why: impl Display) -> Error {
    let help = "this is a fault of Windlass: report it with the command and this message";
    Error::new(ErrorKind::Internal, why.to_string(), help)
}
