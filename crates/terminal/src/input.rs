//! Bounded reads of payloads from arguments and stdin.

use std::ffi::OsString;
use std::io::{self, Read};

use windlass::Bytes;
use windlass::store::Limits;

use crate::exit::{CliError, Result};

/// Returns the bytes of an argument, or reads stdin if it is `-`.
///
/// Reads at most one byte more than the largest payload, so that an oversized one is detected.
pub fn bytes_or_stdin(argument: OsString) -> Result<Bytes> {
    if argument != "-" {
        return Ok(Bytes::from(argument.into_encoded_bytes()));
    }
    let limit = Limits::default().payload_bytes_max as u64 + 1;
    let mut bytes = Vec::new();
    tokio::task::block_in_place(|| io::stdin().lock().take(limit).read_to_end(&mut bytes))
        .map_err(|error| CliError::unreadable("stdin", &error))?;
    Ok(Bytes::from(bytes))
}
