//! Peeks at an input that a command will not read.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat, tell};
use rustix::io::ioctl_fionread;

pub(crate) use windlass_terminal::input::bytes_or_stdin;

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

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Seek, Write};

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
}
