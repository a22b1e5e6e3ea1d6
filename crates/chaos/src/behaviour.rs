//! What the handler of a job does, selected by its payload.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// The panic message of [`Behaviour::Panic`].
pub const PANIC: &str = "requested by its payload";

/// What the handler of a [`runtime_worker`](crate::roles::runtime_worker) does with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
        let text = serde_json::to_vec(&self).expect("plain values");
        Bytes::from(text)
    }

    /// Parses a payload.
    pub fn of(payload: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(payload).map_err(|error| format!("unknown behaviour: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_behaviour_is_parsed_as_written() {
        let time = Duration::from_millis(30);
        for behaviour in [
            Behaviour::Return,
            Behaviour::Sleep(time),
            Behaviour::SleepOnce(time),
            Behaviour::Block(time),
            Behaviour::Abort,
            Behaviour::ReturnBytes(10_485_760),
        ] {
            assert_eq!(Behaviour::of(&behaviour.payload()), Ok(behaviour));
        }
        assert!(Behaviour::of(b"dance").is_err());
        assert!(Behaviour::of(br#"{"Sleep":"long"}"#).is_err());
    }
}
