//! What the handler of a job does, selected by its payload.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;

/// The panic message of [`Behaviour::Panic`].
pub const PANIC: &str = "requested by its payload";

/// What the handler of a [`runtime_worker`](crate::roles::runtime_worker) does with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Returns immediately.
    Return,
    /// Sleeps asynchronously.
    Sleep(Duration),
    /// Sleeps on the first start of the job; later starts return immediately.
    SleepOnce(Duration),
    /// Blocks its thread, which handlers should not do.
    Block(Duration),
    /// Keeps its thread busy.
    Spin(Duration),
    /// Panics.
    Panic,
    /// Aborts its process.
    Abort,
    /// Never returns, and ignores stop requests.
    Never,
    /// Returns only when asked to stop.
    UntilStopped,
    /// Returns a result of this many bytes.
    ReturnBytes(usize),
}

impl Behaviour {
    /// The payload that selects it.
    pub fn payload(self) -> Bytes {
        Bytes::from(self.to_string())
    }
}

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Return => f.write_str("return"),
            Self::Sleep(time) => write!(f, "sleep {}", time.as_millis()),
            Self::SleepOnce(time) => write!(f, "sleep-once {}", time.as_millis()),
            Self::Block(time) => write!(f, "block {}", time.as_millis()),
            Self::Spin(time) => write!(f, "spin {}", time.as_millis()),
            Self::Panic => f.write_str("panic"),
            Self::Abort => f.write_str("abort"),
            Self::Never => f.write_str("never"),
            Self::UntilStopped => f.write_str("until-stopped"),
            Self::ReturnBytes(bytes) => write!(f, "return-bytes {bytes}"),
        }
    }
}

impl FromStr for Behaviour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once(' ').unwrap_or((text, "0"));
        let unknown = || format!("unknown behaviour {text:?}");
        let number: u32 = number.parse().map_err(|_| unknown())?;
        let time = Duration::from_millis(number.into());
        Ok(match name {
            "return" => Self::Return,
            "sleep" => Self::Sleep(time),
            "sleep-once" => Self::SleepOnce(time),
            "block" => Self::Block(time),
            "spin" => Self::Spin(time),
            "panic" => Self::Panic,
            "abort" => Self::Abort,
            "never" => Self::Never,
            "until-stopped" => Self::UntilStopped,
            "return-bytes" => Self::ReturnBytes(number as usize),
            _ => return Err(unknown()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_behaviour_is_parsed_as_written() {
        for text in [
            "return",
            "sleep 20",
            "sleep-once 30",
            "block 7",
            "abort",
            "return-bytes 10485760",
        ] {
            assert_eq!(text.parse::<Behaviour>().unwrap().to_string(), text);
        }
        assert!("dance".parse::<Behaviour>().is_err());
        assert!("sleep long".parse::<Behaviour>().is_err());
    }
}
