//! A small client of our own, so that tests see a server through other eyes than the store's.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// How long an answer may take: a server that is stopped gives none.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A unix socket.
    Socket(PathBuf),
    /// A port on 127.0.0.1.
    Port(u16),
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A short word such as `OK`.
    Status(String),
    /// A refusal, with its code in front.
    Error(String),
    /// A number.
    Integer(i64),
    /// Bytes.
    Bulk(Vec<u8>),
    /// Nothing.
    Nil,
    /// Several answers.
    Array(Vec<Reply>),
}

impl Reply {
    /// The same answer, unless it is an error.
    ///
    /// # Panics
    ///
    /// When it is an error.
    #[track_caller]
    #[expect(
        clippy::return_self_not_must_use,
        reason = "often there is nothing more to know"
    )]
    pub fn ok(self) -> Self {
        if let Self::Error(text) = &self {
            panic!("the server refused: {text}");
        }
        self
    }

    /// A word or bytes, as text.
    #[track_caller]
    pub fn text(&self) -> String {
        match self {
            Self::Status(text) => text.clone(),
            Self::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("text was expected, the server answered {other:?}"),
        }
    }

    /// A number.
    #[track_caller]
    pub fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) => *number,
            other => panic!("a number was expected, the server answered {other:?}"),
        }
    }

    /// Several answers.
    #[track_caller]
    pub fn array(&self) -> &[Self] {
        match self {
            Self::Array(parts) => parts,
            other => panic!("an array was expected, the server answered {other:?}"),
        }
    }

    /// The value of a line `name:value`, as INFO and CLUSTER INFO write them.
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

/// A connection of its own to a server.
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
                stream.set_read_timeout(Some(ANSWER_WITHIN))?;
                stream.set_write_timeout(Some(ANSWER_WITHIN))?;
                Box::new(stream)
            }
            Address::Port(port) => {
                let stream = TcpStream::connect(("127.0.0.1", *port))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(ANSWER_WITHIN))?;
                stream.set_write_timeout(Some(ANSWER_WITHIN))?;
                Box::new(stream)
            }
        };
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Sends a command and reads its answer.
    pub fn command<A: AsRef<[u8]>>(&mut self, words: &[A]) -> io::Result<Reply> {
        self.send(words)?;
        self.receive()
    }

    /// Sends a command and leaves its answer for [`Connection::receive`].
    pub fn send<A: AsRef<[u8]>>(&mut self, words: &[A]) -> io::Result<()> {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            let word = word.as_ref();
            bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            bytes.extend_from_slice(word);
            bytes.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&bytes)
    }

    /// Reads the next answer.
    pub fn receive(&mut self) -> io::Result<Reply> {
        let line = self.line()?;
        let (kind, rest) = line.split_at_checked(1).ok_or_else(|| strange(&line))?;
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
            _ => return Err(strange(&line)),
        })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        match line.strip_suffix("\r\n") {
            Some(whole) => Ok(whole.to_owned()),
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
    text.parse().map_err(|_| strange(text))
}

fn strange(line: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("not an answer of the protocol: {line:?}"),
    )
}
