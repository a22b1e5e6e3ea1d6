//! The fields of a reply as JSON.

use serde::Serialize;
use serde_json::value::RawValue;
use windlass_api::{Code, Error};

/// The JSON of a reply, or an error.
pub(super) type ReplyResult = Result<Box<RawValue>, Error>;

/// Serializes the fields of a reply.
pub(super) fn fields(fields: &impl Serialize) -> ReplyResult {
    serde_json::value::to_raw_value(fields).map_err(|error| {
        let help = "this is a bug in Windlass; please report it";
        Error::new(
            Code::Internal,
            format!("cannot serialize the reply: {error}"),
            help,
        )
    })
}

pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("replies are structs of plain values")
}
