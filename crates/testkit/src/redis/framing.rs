//! Splits a RESP stream into messages, for the proxy.

use std::io::{self, BufRead, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;

use super::resp::Address;

/// One end of a connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(crate) fn open(address: &Address) -> io::Result<Self> {
        Ok(match address {
            Address::Socket(path) => Self::Unix(UnixStream::connect(path)?),
            Address::Port(port) => {
                let stream = TcpStream::connect(("127.0.0.1", *port))?;
                stream.set_nodelay(true)?;
                Self::Tcp(stream)
            }
        })
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Unix(stream) => stream.shutdown(how),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&*stream).read(buffer),
            Stream::Unix(stream) => (&*stream).read(buffer),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&*stream).write(buffer),
            Stream::Unix(stream) => (&*stream).write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A command as received.
pub(crate) struct Command {
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) bytes: Vec<u8>,
}

impl Command {
    /// The number of replies it gets: one per channel for (un)subscribe commands.
    pub(crate) fn replies(&self) -> usize {
        let name = self.args.first().map(|name| name.to_ascii_uppercase());
        match name.as_deref() {
            Some(b"SUBSCRIBE" | b"PSUBSCRIBE" | b"UNSUBSCRIBE" | b"PUNSUBSCRIBE") => {
                self.args.len().saturating_sub(1).max(1)
            }
            _ => 1,
        }
    }
}

/// A message of the server as received.
pub(crate) struct Message {
    /// Whether it replies to a command, rather than being pushed.
    pub(crate) is_reply: bool,
    pub(crate) bytes: Vec<u8>,
}

/// Reads a command: an array of bulk strings.
pub(crate) fn read_command(from: &mut impl BufRead) -> io::Result<Command> {
    let mut bytes = Vec::new();
    let mut args = Vec::new();
    let head = line(from, &mut bytes)?;
    for _ in 0..count(&head, b'*')?.unwrap_or(0) {
        let head = line(from, &mut bytes)?;
        let length = count(&head, b'$')?.ok_or_else(|| protocol_error(&head))?;
        let start = bytes.len();
        block(from, &mut bytes, length)?;
        args.push(bytes[start..start + length].to_vec());
    }
    Ok(Command { args, bytes })
}

/// Reads a complete message of the server, in RESP2 or RESP3.
pub(crate) fn read_reply(from: &mut impl BufRead) -> io::Result<Message> {
    /// Prefixes of published messages in RESP2.
    const PUBLISHED: [&[u8]; 2] = [b"*3\r\n$7\r\nmessage\r\n", b"*4\r\n$8\r\npmessage\r\n"];
    let mut bytes = Vec::new();
    value(from, &mut bytes)?;
    let subscribed = |kind: &[u8]| bytes.windows(kind.len()).any(|window| window == kind);
    let is_push = bytes.first() == Some(&b'>') && !subscribed(b"subscribe\r\n");
    let is_published = PUBLISHED.iter().any(|start| bytes.starts_with(start));
    Ok(Message {
        is_reply: !is_push && !is_published,
        bytes,
    })
}

fn value(from: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<()> {
    let head = line(from, bytes)?;
    let kind = *head.first().ok_or_else(|| protocol_error(&head))?;
    match kind {
        b'$' | b'=' | b'!' => {
            if let Some(length) = count(&head, kind)? {
                block(from, bytes, length)?;
            }
        }
        b'*' | b'~' | b'>' | b'%' | b'|' => {
            // A map has two values per entry; an attribute has another value after it.
            let entries = count(&head, kind)?.unwrap_or(0);
            let values = match kind {
                b'%' => entries * 2,
                b'|' => entries * 2 + 1,
                _ => entries,
            };
            for _ in 0..values {
                value(from, bytes)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Reads a line and appends it to `bytes`. Returns it without its line ending.
fn line(from: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    let start = bytes.len();
    from.read_until(b'\n', bytes)?;
    match bytes[start..].strip_suffix(b"\r\n") {
        Some(line) => Ok(line.to_vec()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn block(from: &mut impl BufRead, bytes: &mut Vec<u8>, length: usize) -> io::Result<()> {
    let start = bytes.len();
    bytes.resize(start + length + 2, 0);
    from.read_exact(&mut bytes[start..])
}

/// The number after the type byte; `None` if negative (nil).
fn count(head: &[u8], kind: u8) -> io::Result<Option<usize>> {
    let digits = head
        .strip_prefix(&[kind])
        .ok_or_else(|| protocol_error(head))?;
    let text = std::str::from_utf8(digits).map_err(|_| protocol_error(head))?;
    let number: i64 = text.parse().map_err(|_| protocol_error(head))?;
    Ok(usize::try_from(number).ok())
}

fn protocol_error(head: &[u8]) -> io::Error {
    let shown = String::from_utf8_lossy(head);
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("invalid RESP message: {shown:?}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_to_its_end_in_resp2_and_resp3() {
        let messages: [&[u8]; 8] = [
            b"+OK\r\n",
            b"$-1\r\n",
            b"$4\r\na\r\nb\r\n",
            b"*2\r\n:1\r\n*1\r\n$0\r\n\r\n",
            b"*-1\r\n",
            b"%1\r\n+a\r\n:1\r\n",
            b"|1\r\n+ttl\r\n:1\r\n_\r\n",
            b"=5\r\ntxt:a\r\n",
        ];
        for message in messages {
            let stream = [message, b":7\r\n"].concat();
            let mut rest = stream.as_slice();
            let read = read_reply(&mut rest).expect("a complete message");
            assert_eq!(read.bytes, message);
            assert!(read.is_reply);
            assert_eq!(rest, b":7\r\n");
        }
    }

    #[test]
    fn pushed_messages_are_not_replies() {
        let is_reply = |bytes: &[u8]| {
            read_reply(&mut &*bytes)
                .expect("a complete message")
                .is_reply
        };
        assert!(!is_reply(b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n"));
        assert!(!is_reply(b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n"));
        assert!(is_reply(b">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"));
    }

    #[test]
    fn a_command_is_read_with_its_arguments_and_bytes() {
        let sent = b"*2\r\n$3\r\nGET\r\n$3\r\na\r\n\r\n";
        let command = read_command(&mut sent.as_slice()).expect("a complete message");
        assert_eq!(command.args, [b"GET".to_vec(), b"a\r\n".to_vec()]);
        assert_eq!(command.bytes, sent);
    }
}
