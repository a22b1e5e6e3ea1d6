//! What comes from outside the command line: payloads and lines, read with bounds.

use std::ffi::OsString;
use std::io::{self, BufRead, Read};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat, tell};
use rustix::io::ioctl_fionread;
use windlass::Bytes;
use windlass::store::Limits;

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

/// How long a pipe may take to show what is in it: the program before it may just be starting.
const SHOW_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 250_000_000,
};

/// What waits on standard input while nobody asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unasked {
    /// Nothing: a terminal, or an end.
    Nothing,
    /// A pipe that has said nothing so far, and may do so yet.
    Silent,
    /// Bytes.
    Bytes,
}

/// Looks at standard input without taking anything from it. Where that cannot be told, nothing is
/// there.
pub(crate) fn unasked(input: impl AsFd) -> Unasked {
    look(input.as_fd()).unwrap_or(Unasked::Nothing)
}

fn look(input: impl AsFd) -> rustix::io::Result<Unasked> {
    let file = fstat(&input)?;
    let has_bytes = match FileType::from_raw_mode(file.st_mode) {
        FileType::RegularFile => {
            let size = u64::try_from(file.st_size).unwrap_or_default();
            tell(&input)? < size
        }
        FileType::Fifo | FileType::Socket => {
            let mut polled = [PollFd::new(&input, PollFlags::IN)];
            if poll(&mut polled, Some(&SHOW_WAIT))? == 0 {
                return Ok(Unasked::Silent);
            }
            ioctl_fionread(&input)? > 0
        }
        _ => false,
    };
    Ok(if has_bytes {
        Unasked::Bytes
    } else {
        Unasked::Nothing
    })
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
    use std::io::{BufReader, Seek, Write};

    use super::*;

    #[test]
    fn what_waits_unasked_is_seen_and_left_where_it_is() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        assert_eq!(unasked(&reader), Unasked::Silent);
        writer.write_all(b"x").unwrap();
        assert_eq!(unasked(&reader), Unasked::Bytes);
        drop(writer);
        assert_eq!(unasked(&reader), Unasked::Bytes);
        reader.read_exact(&mut [0]).unwrap();
        assert_eq!(unasked(&reader), Unasked::Nothing);

        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(unasked(&file), Unasked::Nothing);
        file.write_all(b"x").unwrap();
        assert_eq!(unasked(&file), Unasked::Nothing);
        file.rewind().unwrap();
        assert_eq!(unasked(&file), Unasked::Bytes);

        let nothing = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(unasked(&nothing), Unasked::Nothing);
    }

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
