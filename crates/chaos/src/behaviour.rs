//! What a job does to the worker that runs it: its payload says so.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;

/// What a handler says that panics because its payload says so.
pub const PANIC: &str = "as its payload says";

/// What the handler of a [`hand`](crate::roles::hand) does with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Nothing.
    Plain,
    /// Waits, as handlers should.
    Sleep(Duration),
    /// Waits when it is begun for the first time; whoever has it afterwards is done at once.
    SleepOnce(Duration),
    /// Blocks its thread, as handlers should not.
    Block(Duration),
    /// Keeps its thread busy for so long.
    Spin(Duration),
    /// Panics.
    Panic,
    /// Takes its whole process down.
    Abort,
    /// Never returns, and does not listen.
    Never,
    /// Returns when it is asked to stop, and not before.
    Listen,
    /// Returns a result of this many bytes.
    Leave(usize),
}

impl Behaviour {
    /// The payload that asks for it.
    pub fn payload(self) -> Bytes {
        Bytes::from(self.to_string())
    }
}

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("plain"),
            Self::Sleep(time) => write!(f, "sleep {}", time.as_millis()),
            Self::SleepOnce(time) => write!(f, "sleep-once {}", time.as_millis()),
            Self::Block(time) => write!(f, "block {}", time.as_millis()),
            Self::Spin(time) => write!(f, "spin {}", time.as_millis()),
            Self::Panic => f.write_str("panic"),
            Self::Abort => f.write_str("abort"),
            Self::Never => f.write_str("never"),
            Self::Listen => f.write_str("listen"),
            Self::Leave(bytes) => write!(f, "leave {bytes}"),
        }
    }
}

impl FromStr for Behaviour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, number) = text.split_once(' ').unwrap_or((text, "0"));
        let unknown = || format!("{text:?} is no behaviour");
        let number: u32 = number.parse().map_err(|_| unknown())?;
        let time = Duration::from_millis(number.into());
        Ok(match word {
            "plain" => Self::Plain,
            "sleep" => Self::Sleep(time),
            "sleep-once" => Self::SleepOnce(time),
            "block" => Self::Block(time),
            "spin" => Self::Spin(time),
            "panic" => Self::Panic,
            "abort" => Self::Abort,
            "never" => Self::Never,
            "listen" => Self::Listen,
            "leave" => Self::Leave(number as usize),
            _ => return Err(unknown()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_behaviour_is_read_as_written() {
        for text in [
            "plain",
            "sleep 20",
            "sleep-once 30",
            "block 7",
            "abort",
            "leave 10485760",
        ] {
            assert_eq!(text.parse::<Behaviour>().unwrap().to_string(), text);
        }
        assert!("dance".parse::<Behaviour>().is_err());
        assert!("sleep long".parse::<Behaviour>().is_err());
    }
}
