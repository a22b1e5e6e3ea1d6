//! Rejects requests whose end is ambiguous, before hyper sees them: two servers that disagree about it
//! let a client smuggle a request past the first one. Hyper itself accepts bare line feeds, and ignores
//! `Content-Length` next to `Transfer-Encoding`.

/// The largest head that is scanned; hyper rejects those that are larger.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Follows the requests of a connection.
#[derive(Debug)]
pub(crate) struct Framing {
    state: State,
    head: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In a request line or in headers.
    Head,
    /// In a body, with so many bytes left.
    Body(u64),
    /// In a body without a length, or in a request that hyper rejects. It is the last request: the
    /// connection is closed after it.
    Last,
}

/// A request that must be rejected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ambiguous;

impl Framing {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Head,
            head: Vec::new(),
        }
    }

    /// Follows bytes as they are read.
    pub(crate) fn read(&mut self, mut bytes: &[u8]) -> Result<(), Ambiguous> {
        while !bytes.is_empty() {
            match self.state {
                State::Last => return Ok(()),
                State::Body(left) => {
                    let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = &bytes[count..];
                    self.state = match left - count as u64 {
                        0 => State::Head,
                        left => State::Body(left),
                    };
                }
                State::Head => bytes = self.read_head(bytes)?,
            }
        }
        Ok(())
    }

    /// Follows bytes of a head. Returns the bytes after it.
    fn read_head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Ambiguous> {
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' && self.head.last() != Some(&b'\r') {
                return Err(Ambiguous);
            }
            self.head.push(*byte);
            if self.head == b"\r\n" {
                // Empty lines before a request are ignored.
                self.head.clear();
            }
            if self.head.ends_with(b"\r\n\r\n") {
                self.state = state_after(&self.head)?;
                self.head.clear();
                return Ok(&bytes[at + 1..]);
            }
        }
        if self.head.len() > HEAD_BYTES_MAX {
            self.state = State::Last;
            self.head = Vec::new();
        }
        Ok(&[])
    }
}

/// Returns what follows a head.
fn state_after(head: &[u8]) -> Result<State, Ambiguous> {
    let (mut length, mut has_encoding) = (None, false);
    for line in head.split(|byte| *byte == b'\n').skip(1) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            length = Some(
                std::str::from_utf8(value)
                    .ok()
                    .and_then(|it| it.parse().ok()),
            );
        }
        has_encoding |= name.eq_ignore_ascii_case(b"transfer-encoding");
    }
    match (length, has_encoding) {
        (Some(_), true) => Err(Ambiguous),
        // Hyper rejects a length that is not a number.
        (None, true) | (Some(None), false) => Ok(State::Last),
        (None | Some(Some(0)), false) => Ok(State::Head),
        (Some(Some(length)), false) => Ok(State::Body(length)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads text in two parts, split everywhere. All splits must give the same result.
    fn read(text: &str) -> Result<State, Ambiguous> {
        let whole = |at: usize| {
            let (first, second) = text.as_bytes().split_at(at);
            let mut framing = Framing::new();
            framing.read(first)?;
            framing.read(second)?;
            Ok(framing.state)
        };
        let result = whole(0);
        for at in 1..text.len() {
            assert_eq!(whole(at), result, "{text:?} at {at}");
        }
        result
    }

    const LENGTH: &str = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n";

    #[test]
    fn requests_are_followed_to_their_end() {
        assert_eq!(read("GET / HTTP/1.1\r\nhost: x\r\n\r\n"), Ok(State::Head));
        assert_eq!(read("\r\n\r\nGET / HTTP/1.1\r\n\r\n"), Ok(State::Head));
        assert_eq!(read(LENGTH), Ok(State::Body(3)));
        // A body may have line feeds and anything else.
        assert_eq!(read(&format!("{LENGTH}a\nb{LENGTH}\n")), Ok(State::Body(2)));
        let chunked = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\n\n";
        assert_eq!(read(chunked), Ok(State::Last));
    }

    #[test]
    fn a_request_with_an_ambiguous_end_is_rejected() {
        for bad in [
            "GET / HTTP/1.1\nhost: x\n\n",
            "GET / HTTP/1.1\r\nhost: x\n\r\n",
            "\nGET / HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nTRANSFER-ENCODING:chunked\r\ncontent-length:0\r\n\r\n",
            &format!("{LENGTH}abcGET / HTTP/1.1\n"),
        ] {
            assert_eq!(read(bad), Err(Ambiguous), "{bad:?}");
        }
    }
}
