//! TCP ports on loopback that no other test takes, for as long as they are held.
//!
//! A server that is down must keep its port: what listened there instead would be taken for it by
//! Sentinels and Clusters. So a port is held by a locked file, which dies with the process.

use std::fs::{self, File};
use std::net::TcpListener;
use std::ops::Range;

use rustix::process::getuid;

/// Below the ports that the system gives to outgoing connections.
const RANGE: Range<u16> = 10_000..32_000;

/// A port of our own.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    /// Takes a free port and keeps it from all others who take theirs here.
    ///
    /// # Panics
    ///
    /// When the temporary folder cannot be written, or nothing is free.
    pub fn reserve() -> Self {
        Self::try_reserve().unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// As [`Port::reserve`]; the `Err` says what was in the way.
    pub(crate) fn try_reserve() -> Result<Self, String> {
        let mut rng = fastrand::Rng::new();
        for _ in 0..1_000 {
            if let Some(port) = Self::take(rng.u16(RANGE))? {
                return Ok(port);
            }
        }
        Err(format!("no port in {RANGE:?} is free on 127.0.0.1"))
    }

    /// This port, unless somebody has it.
    fn take(number: u16) -> Result<Option<Self>, String> {
        // One folder per user: nobody can write into that of another.
        let user = getuid().as_raw();
        let folder = std::env::temp_dir().join(format!("windlass-ports-{user}"));
        let lock = fs::create_dir_all(&folder)
            .and_then(|()| File::create(folder.join(number.to_string())))
            .map_err(|error| format!("cannot write into {}: {error}", folder.display()))?;
        let is_free = lock.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", number)).is_ok();
        Ok(is_free.then_some(Self {
            number,
            _lock: lock,
        }))
    }

    /// The number of the port.
    pub fn number(&self) -> u16 {
        self.number
    }
}

/// Launches with ports that were free a moment ago; once more when a stranger was faster.
///
/// # Panics
///
/// With the `Err`, when that is not about a port.
pub(crate) fn unless_taken<T>(launch: impl FnMut() -> Result<T, String>) -> T {
    try_unless_taken(launch).unwrap_or_else(|failure| panic!("{failure}"))
}

/// As [`unless_taken`], without a panic.
pub(crate) fn try_unless_taken<T>(
    mut launch: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    const TRIES: usize = 5;
    for _ in 1..TRIES {
        match launch() {
            Err(failure) if failure.contains("Address already in use") => {}
            ended => return ended,
        }
    }
    launch()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_held_is_not_given_twice() {
        let port = Port::reserve();
        assert!(Port::take(port.number()).unwrap().is_none());
        let number = port.number();
        drop(port);
        assert!(Port::take(number).unwrap().is_some());
    }
}
