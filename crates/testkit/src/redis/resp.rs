//! A small independent client, so that tests do not inspect a server through the store's own client.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// How long a reply may take; a stopped server sends none.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A unix socket.
    Socket(PathBuf),
    /// A port on 127.0.0.1.
    Port(u16),
}

/// A reply of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A status such as `OK`.
    Status(String),
    /// An error, with its code first.
    Error(String),
    /// A number.
    Integer(i64),
    /// Bytes.
    Bulk(Vec<u8>),
    /// Nothing.
    Nil,
    /// An array of replies.
    Array(Vec<Reply>),
}

impl Reply {
    /// Returns the reply.
    ///
    /// # Panics
    ///
    /// Panics if it is an error.
    #[track_caller]
    #[expect(
        clippy::return_self_not_must_use,
        reason = "callers often only check for an error"
    )]
    pub fn ok(self) -> Self {
        if let Self::Error(text) = &self {
            panic!("the server replied with an error: {text}");
        }
        self
    }

    /// A status or bulk string as text.
    #[track_caller]
    pub fn text(&self) -> String {
        match self {
            Self::Status(text) => text.clone(),
            Self::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("expected text, got {other:?}"),
        }
    }

    /// A number.
    #[track_caller]
    pub fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) => *number,
            other => panic!("expected a number, got {other:?}"),
        }
    }

    /// The items of an array.
    #[track_caller]
    pub fn array(&self) -> &[Self] {
        match self {
            Self::Array(items) => items,
            other => panic!("expected an array, got {other:?}"),
        }
    }

    /// The value of a line `name:value`, as in INFO and CLUSTER INFO.
    #[track_caller]
    pub fn field(&self, name: &str) -> Option<String> {
        let text = self.text();
        let mut fields = text.lines().filter_map(|line| line.split_once(':'));
        fields
            .find(|(field, _)| *field == name)
            .map(|(_, value)| value.to_owned())
    }
}

trait Duplex: Read + Write + Send {}
impl<T: Read + Write + Send> Duplex for T {}

/// A connection to a server.
pub struct Connection {
    stream: BufReader<Box<dyn Duplex>>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects.
    pub fn open(address: &Address) -> io::Result<Self> {
        let stream: Box<dyn Duplex> = match address {
            Address::Socket(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
                stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
                Box::new(stream)
            }
            Address::Port(port) => {
                let stream = TcpStream::connect(("127.0.0.1", *port))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
                stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
                Box::new(stream)
            }
        };
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Sends a command and reads its reply.
    pub fn command<A: AsRef<[u8]>>(&mut self, args: &[A]) -> io::Result<Reply> {
        self.send(args)?;
        self.receive()
    }

    /// Sends a command; read its reply with [`Connection::receive`].
    pub fn send<A: AsRef<[u8]>>(&mut self, args: &[A]) -> io::Result<()> {
        let mut bytes = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            let arg = arg.as_ref();
            bytes.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            bytes.extend_from_slice(arg);
            bytes.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&bytes)
    }

    /// Reads the next reply.
    pub fn receive(&mut self) -> io::Result<Reply> {
        let line = self.line()?;
        let (kind, rest) = line
            .split_at_checked(1)
            .ok_or_else(|| protocol_error(&line))?;
        Ok(match kind {
            "+" => Reply::Status(rest.to_owned()),
            "-" => Reply::Error(rest.to_owned()),
            ":" => Reply::Integer(number(rest)?),
            "$" => match usize::try_from(number(rest)?) {
                Ok(length) => Reply::Bulk(self.bytes(length)?),
                Err(_) => Reply::Nil,
            },
            "*" => match usize::try_from(number(rest)?) {
                Ok(count) => Reply::Array(
                    (0..count)
                        .map(|_| self.receive())
                        .collect::<Result<_, _>>()?,
                ),
                Err(_) => Reply::Nil,
            },
            _ => return Err(protocol_error(&line)),
        })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        match line.strip_suffix("\r\n") {
            Some(line) => Ok(line.to_owned()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes)?;
        bytes.truncate(length);
        Ok(bytes)
    }
}

fn number(text: &str) -> io::Result<i64> {
    text.parse().map_err(|_| protocol_error(text))
}

fn protocol_error(line: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("invalid RESP reply: {line:?}"),
    )
}
