//! Bounded reads of lines from files and stdin.

use std::io::{self, BufRead};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat, tell};
use rustix::io::ioctl_fionread;

pub(crate) use windlass_terminal::input::bytes_or_stdin;

/// Longest NDJSON line: a payload of 1 MiB with every byte escaped, plus the other fields.
pub(crate) const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How long to wait for the first byte on a pipe: the program writing to it may still be starting.
const PEEK_TIMEOUT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 250_000_000,
};

/// What is available on an input that the command will not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnreadInput {
    /// A terminal, or the end of the input.
    Empty,
    /// A pipe without data so far; some may still arrive.
    Pending,
    /// At least one byte.
    Bytes,
}

/// Checks an input for data without consuming any. Returns `Empty` if that cannot be determined.
pub(crate) fn peek(input: impl AsFd) -> UnreadInput {
    try_peek(input.as_fd()).unwrap_or(UnreadInput::Empty)
}

fn try_peek(input: impl AsFd) -> rustix::io::Result<UnreadInput> {
    let file = fstat(&input)?;
    let has_bytes = match FileType::from_raw_mode(file.st_mode) {
        FileType::RegularFile => {
            let size = u64::try_from(file.st_size).unwrap_or_default();
            tell(&input)? < size
        }
        FileType::Fifo | FileType::Socket => {
            let mut polled = [PollFd::new(&input, PollFlags::IN)];
            if poll(&mut polled, Some(&PEEK_TIMEOUT))? == 0 {
                return Ok(UnreadInput::Pending);
            }
            ioctl_fionread(&input)? > 0
        }
        _ => false,
    };
    Ok(if has_bytes {
        UnreadInput::Bytes
    } else {
        UnreadInput::Empty
    })
}

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Its bytes, without the line end.
    Read(Vec<u8>),
    /// Longer than the limit; skipped.
    TooLong,
}

/// Reads the next line, buffering at most `bytes_max` bytes. Returns `None` at the end of the input.
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
        let piece = &chunk[..end.unwrap_or(chunk.len())];
        is_too_long = is_too_long || line.len() + piece.len() > bytes_max;
        if !is_too_long {
            line.extend_from_slice(piece);
        }
        let used = piece.len() + usize::from(end.is_some());
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
    use std::io::{BufReader, Read, Seek, Write};

    use super::*;

    #[test]
    fn peeking_sees_waiting_bytes_and_leaves_them_unread() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        assert_eq!(peek(&reader), UnreadInput::Pending);
        writer.write_all(b"x").unwrap();
        assert_eq!(peek(&reader), UnreadInput::Bytes);
        drop(writer);
        assert_eq!(peek(&reader), UnreadInput::Bytes);
        reader.read_exact(&mut [0]).unwrap();
        assert_eq!(peek(&reader), UnreadInput::Empty);

        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(peek(&file), UnreadInput::Empty);
        file.write_all(b"x").unwrap();
        assert_eq!(peek(&file), UnreadInput::Empty);
        file.rewind().unwrap();
        assert_eq!(peek(&file), UnreadInput::Bytes);

        let null = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(peek(&null), UnreadInput::Empty);
    }

    #[test]
    fn lines_are_read_to_the_last_one_and_long_ones_are_skipped() {
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
