//! Bounded reads of payloads from arguments and stdin.

use std::ffi::OsString;
use std::io::{self, Read};

use windlass::store::Limits;
use windlass::{Bytes, Error, ErrorKind};

use crate::exit::{CliError, Result};

/// How much more is read to tell how large an oversized input is.
const COUNTED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Returns the bytes of an argument, or reads stdin if it is `-`. Keeps no more than the largest payload.
pub fn bytes_or_stdin(argument: OsString) -> Result<Bytes> {
    if argument != "-" {
        return Ok(Bytes::from(argument.into_encoded_bytes()));
    }
    let read = tokio::task::block_in_place(|| read_bounded(io::stdin().lock()));
    let read = read.map_err(|error| CliError::unreadable("stdin", &error))?;
    read.map(Bytes::from).map_err(|size| {
        let max = Limits::default().payload_bytes_max;
        let message = format!("stdin too large: {size} bytes; maximum {max}");
        let help = "store large data elsewhere and put a reference to it into the job";
        Error::new(ErrorKind::Invalid, message, help).into()
    })
}

/// Reads all input, or returns its size if that is more than the largest payload.
fn read_bounded(mut input: impl Read) -> io::Result<Result<Vec<u8>, String>> {
    let max = Limits::default().payload_bytes_max as u64;
    let mut bytes = Vec::new();
    let kept = input.by_ref().take(max + 1).read_to_end(&mut bytes)? as u64;
    if kept <= max {
        return Ok(Ok(bytes));
    }
    let rest = io::copy(&mut input.take(COUNTED_BYTES_MAX), &mut io::sink())?;
    let size = kept + rest;
    Ok(Err(if rest < COUNTED_BYTES_MAX {
        size.to_string()
    } else {
        format!("more than {size}")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_oversized_input_is_counted() {
        let max = Limits::default().payload_bytes_max as u64;
        let read = |size| read_bounded(io::repeat(b'x').take(size)).unwrap();
        assert_eq!(read(max).unwrap().len() as u64, max);
        assert_eq!(read(3_000_000).unwrap_err(), "3000000");
        assert!(read(u64::MAX).unwrap_err().starts_with("more than 6"));
    }
}
