//! What comes from outside the command line: payloads and lines, read with bounds.

use std::ffi::OsString;
use std::io::{self, BufRead, Read};

use windlass::{Bytes, Limits};

use crate::exit::{Failure, Result};

/// The longest line of NDJSON: a payload of 1 MiB with every byte escaped, and its fields.
pub(crate) const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The bytes of an argument, or of standard input where it is `-`.
///
/// No more is read than a store takes, and one byte that shows it was too much.
pub(crate) fn bytes_or_stdin(argument: OsString) -> Result<Bytes> {
    if argument != "-" {
        return Ok(Bytes::from(argument.into_encoded_bytes()));
    }
    let limit = Limits::default().payload_bytes_max as u64 + 1;
    let mut bytes = Vec::new();
    tokio::task::block_in_place(|| io::stdin().lock().take(limit).read_to_end(&mut bytes))
        .map_err(|error| Failure::unreadable("standard input", &error))?;
    Ok(Bytes::from(bytes))
}

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Its bytes, without the line end.
    Read(Vec<u8>),
    /// It is longer than allowed and was passed over.
    TooLong,
}

/// Reads the next line, holding no more than the bound; `None` at the end.
pub(crate) fn next_line(input: &mut dyn BufRead, bytes_max: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    let mut has_begun = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            break;
        }
        has_begun = true;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        is_too_long = is_too_long || line.len() + part.len() > bytes_max;
        if !is_too_long {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            break;
        }
    }
    Ok(match (has_begun, is_too_long) {
        (false, _) => None,
        (true, true) => Some(Line::TooLong),
        (true, false) => Some(Line::Read(line)),
    })
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn lines_are_read_to_the_last_one_and_long_ones_passed_over() {
        let text = b"one\n\nfar too long\nlast";
        let mut input = BufReader::with_capacity(4, &text[..]);

        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut input, 5).unwrap() {
            lines.push(line);
        }

        let read = |text: &str| Line::Read(text.as_bytes().to_vec());
        assert_eq!(lines, [read("one"), read(""), Line::TooLong, read("last")]);
    }
}
