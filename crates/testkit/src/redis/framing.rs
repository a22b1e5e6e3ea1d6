//! RESP messages, read with the bytes they came in, and the streams that carry them.

use std::io::{self, BufRead, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::resp::{Address, Reply};
use super::server::Server;

/// One end of a connection.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(super) fn open(address: &Address) -> io::Result<Self> {
        Ok(match address {
            Address::Socket(path) => Self::Unix(UnixStream::connect(path)?),
            Address::Port(port) => {
                let stream = TcpStream::connect(("127.0.0.1", *port))?;
                stream.set_nodelay(true)?;
                Self::Tcp(stream)
            }
        })
    }

    /// Bounds how long a read or a write may take.
    pub(super) fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        let timeout = Some(timeout);
        match self {
            Self::Tcp(stream) => stream
                .set_read_timeout(timeout)
                .and_then(|()| stream.set_write_timeout(timeout)),
            Self::Unix(stream) => stream
                .set_read_timeout(timeout)
                .and_then(|()| stream.set_write_timeout(timeout)),
        }
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    pub(super) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
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

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
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

/// A port of 127.0.0.1 in front of a server. Dropping it closes the port; open connections last as long
/// as their ends.
#[derive(Debug)]
pub(super) struct Front {
    pub(super) port: u16,
    is_over: Arc<AtomicBool>,
}

impl Front {
    /// Passes every connection to `forward`, as the client's and the server's end. If the server is
    /// down, the client's is closed.
    pub(super) fn of<F>(server: &Server, listener: TcpListener, forward: F) -> Self
    where
        F: Fn(Stream, Stream) -> io::Result<()> + Send + 'static,
    {
        let address = listener.local_addr();
        let port = address.expect("the listener has an address").port();
        let is_over = Arc::new(AtomicBool::new(false));
        let (ends, address) = (Arc::clone(&is_over), server.address().clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let _ = client.set_nodelay(true);
                let _ =
                    Stream::open(&address).and_then(|server| forward(Stream::Tcp(client), server));
            }
        });
        Self { port, is_over }
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the listening thread, which then exits.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// A command as received.
pub(super) struct Command {
    pub(super) args: Vec<Vec<u8>>,
    pub(super) bytes: Vec<u8>,
}

impl Command {
    /// The number of replies it gets: one per channel for (un)subscribe commands.
    pub(super) fn replies(&self) -> usize {
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
pub(super) struct Message {
    /// Whether it replies to a command, rather than being pushed.
    pub(super) is_reply: bool,
    pub(super) bytes: Vec<u8>,
}

/// Reads a command: an array of bulk strings.
pub(super) fn read_command(from: &mut impl BufRead) -> io::Result<Command> {
    let mut bytes = Vec::new();
    let Reply::Array(items) = read_value(from, &mut bytes)? else {
        return Err(protocol_error(&bytes));
    };
    let args = items.into_iter().map(|item| match item {
        Reply::Bulk(arg) => Ok(arg),
        _ => Err(protocol_error(&bytes)),
    });
    let args = args.collect::<io::Result<_>>()?;
    Ok(Command { args, bytes })
}

/// Reads a complete message of the server, in RESP2 or RESP3.
pub(super) fn read_reply(from: &mut impl BufRead) -> io::Result<Message> {
    /// Prefixes of published messages in RESP2.
    const PUBLISHED: [&[u8]; 2] = [b"*3\r\n$7\r\nmessage\r\n", b"*4\r\n$8\r\npmessage\r\n"];
    let mut bytes = Vec::new();
    read_value(from, &mut bytes)?;
    let subscribed = |kind: &[u8]| bytes.windows(kind.len()).any(|window| window == kind);
    let is_push = bytes.first() == Some(&b'>') && !subscribed(b"subscribe\r\n");
    let is_published = PUBLISHED.iter().any(|start| bytes.starts_with(start));
    Ok(Message {
        is_reply: !is_push && !is_published,
        bytes,
    })
}

/// Reads a complete value and appends its bytes to `bytes`. Values that only RESP3 has become the
/// nearest ones of RESP2.
pub(super) fn read_value(from: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<Reply> {
    let start = bytes.len();
    from.read_until(b'\n', bytes)?;
    let Some(line) = bytes[start..].strip_suffix(b"\r\n") else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    let invalid = || protocol_error(line);
    let (kind, rest) = line.split_first().ok_or_else(invalid)?;
    let text = String::from_utf8_lossy(rest);
    let number = || text.parse::<i64>().map_err(|_| invalid());
    Ok(match kind {
        b'+' => Reply::Status(text.into_owned()),
        b'-' => Reply::Error(text.into_owned()),
        b':' => Reply::Integer(number()?),
        b'$' | b'=' | b'!' => match usize::try_from(number()?) {
            Ok(length) => {
                let start = bytes.len();
                bytes.resize(start + length + 2, 0);
                from.read_exact(&mut bytes[start..])?;
                Reply::Bulk(bytes[start..start + length].to_vec())
            }
            Err(_) => Reply::Nil,
        },
        b'*' | b'~' | b'>' | b'%' | b'|' => match (usize::try_from(number()?), *kind) {
            // A map has two values per entry; an attribute has another value after it.
            (Ok(entries), b'%') => read_values(from, bytes, entries * 2)?,
            (Ok(entries), b'|') => read_values(from, bytes, entries * 2 + 1)?,
            (Ok(entries), _) => read_values(from, bytes, entries)?,
            (Err(_), _) => Reply::Nil,
        },
        _ => Reply::Nil,
    })
}

fn read_values(from: &mut impl BufRead, bytes: &mut Vec<u8>, count: usize) -> io::Result<Reply> {
    let values = (0..count).map(|_| read_value(from, bytes));
    values.collect::<io::Result<_>>().map(Reply::Array)
}

fn protocol_error(line: &[u8]) -> io::Error {
    let shown = String::from_utf8_lossy(line);
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
