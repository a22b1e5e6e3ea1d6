//! A small independent client, so that tests do not inspect a server through the store's own client.

use std::io::{self, BufReader, Write};
use std::path::PathBuf;
use std::time::Duration;

use super::framing::{Stream, read_value};

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

/// A connection to a server.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<Stream>,
}

impl Connection {
    /// Connects.
    pub fn open(address: &Address) -> io::Result<Self> {
        let stream = Stream::open(address)?;
        stream.set_timeout(REPLY_TIMEOUT)?;
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
        self.stream.get_ref().write_all(&bytes)
    }

    /// Reads the next reply.
    pub fn receive(&mut self) -> io::Result<Reply> {
        read_value(&mut self.stream, &mut Vec::new())
    }
}
