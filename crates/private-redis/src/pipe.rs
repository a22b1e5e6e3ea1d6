//! The protocol as a proxy sees it: where one message ends and the next begins.

use std::io::{self, BufRead, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;

use crate::resp::Address;

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

/// A command as it was sent.
pub(crate) struct Command {
    pub(crate) words: Vec<Vec<u8>>,
    pub(crate) bytes: Vec<u8>,
}

impl Command {
    /// How many answers it gets: one per channel for those that subscribe.
    pub(crate) fn replies(&self) -> usize {
        let name = self.words.first().map(|name| name.to_ascii_uppercase());
        match name.as_deref() {
            Some(b"SUBSCRIBE" | b"PSUBSCRIBE" | b"UNSUBSCRIBE" | b"PUNSUBSCRIBE") => {
                self.words.len().saturating_sub(1).max(1)
            }
            _ => 1,
        }
    }
}

/// A message of the server as it was sent.
pub(crate) struct Message {
    /// Whether it answers a command, and does not come by itself.
    pub(crate) is_answer: bool,
    pub(crate) bytes: Vec<u8>,
}

/// Reads a command: an array of bulk strings, as all clients send them.
pub(crate) fn read_command(from: &mut impl BufRead) -> io::Result<Command> {
    let mut bytes = Vec::new();
    let mut words = Vec::new();
    let head = line(from, &mut bytes)?;
    for _ in 0..count(&head, b'*')?.unwrap_or(0) {
        let head = line(from, &mut bytes)?;
        let length = count(&head, b'$')?.ok_or_else(|| strange(&head))?;
        let start = bytes.len();
        block(from, &mut bytes, length)?;
        words.push(bytes[start..start + length].to_vec());
    }
    Ok(Command { words, bytes })
}

/// Reads a whole message of the server, in either version of the protocol.
pub(crate) fn read_reply(from: &mut impl BufRead) -> io::Result<Message> {
    /// What messages of channels begin with, in the older protocol.
    const PUBLISHED: [&[u8]; 2] = [b"*3\r\n$7\r\nmessage\r\n", b"*4\r\n$8\r\npmessage\r\n"];
    let mut bytes = Vec::new();
    value(from, &mut bytes)?;
    let subscribed = |kind: &[u8]| bytes.windows(kind.len()).any(|part| part == kind);
    let is_push = bytes.first() == Some(&b'>') && !subscribed(b"subscribe\r\n");
    let is_published = PUBLISHED.iter().any(|start| bytes.starts_with(start));
    Ok(Message {
        is_answer: !is_push && !is_published,
        bytes,
    })
}

fn value(from: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<()> {
    let head = line(from, bytes)?;
    let kind = *head.first().ok_or_else(|| strange(&head))?;
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

/// Reads a line and adds it to `bytes`; it comes back without its end.
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

/// The number after the kind; nothing when it is below zero, as for what is not there.
fn count(head: &[u8], kind: u8) -> io::Result<Option<usize>> {
    let digits = head.strip_prefix(&[kind]).ok_or_else(|| strange(head))?;
    let text = std::str::from_utf8(digits).map_err(|_| strange(head))?;
    let number: i64 = text.parse().map_err(|_| strange(head))?;
    Ok(usize::try_from(number).ok())
}

fn strange(head: &[u8]) -> io::Error {
    let shown = String::from_utf8_lossy(head);
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("not a message of the protocol: {shown:?}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_where_it_ends_in_both_versions_of_the_protocol() {
        let whole: [&[u8]; 8] = [
            b"+OK\r\n",
            b"$-1\r\n",
            b"$4\r\na\r\nb\r\n",
            b"*2\r\n:1\r\n*1\r\n$0\r\n\r\n",
            b"*-1\r\n",
            b"%1\r\n+a\r\n:1\r\n",
            b"|1\r\n+ttl\r\n:1\r\n_\r\n",
            b"=5\r\ntxt:a\r\n",
        ];
        for message in whole {
            let stream = [message, b":7\r\n"].concat();
            let mut rest = stream.as_slice();
            let read = read_reply(&mut rest).expect("it is whole");
            assert_eq!(read.bytes, message);
            assert!(read.is_answer);
            assert_eq!(rest, b":7\r\n");
        }
    }

    #[test]
    fn what_comes_by_itself_answers_nothing() {
        let answers = |bytes: &[u8]| read_reply(&mut &*bytes).expect("it is whole").is_answer;
        assert!(!answers(b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n"));
        assert!(!answers(b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n"));
        assert!(answers(b">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"));
    }

    #[test]
    fn a_command_is_read_with_its_words_and_its_bytes() {
        let sent = b"*2\r\n$3\r\nGET\r\n$3\r\na\r\n\r\n";
        let command = read_command(&mut sent.as_slice()).expect("it is whole");
        assert_eq!(command.words, [b"GET".to_vec(), b"a\r\n".to_vec()]);
        assert_eq!(command.bytes, sent);
    }
}
