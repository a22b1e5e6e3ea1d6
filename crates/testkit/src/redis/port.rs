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
        let mut rng = fastrand::Rng::new();
        (0..1_000)
            .find_map(|_| Self::take(rng.u16(RANGE)))
            .unwrap_or_else(|| panic!("no port in {RANGE:?} is free on 127.0.0.1"))
    }

    fn take(number: u16) -> Option<Self> {
        // One folder per user: nobody can write into that of another.
        let user = getuid().as_raw();
        let folder = std::env::temp_dir().join(format!("windlass-ports-{user}"));
        let lock = fs::create_dir_all(&folder)
            .and_then(|()| File::create(folder.join(number.to_string())))
            .unwrap_or_else(|error| panic!("cannot write into {}: {error}", folder.display()));
        lock.try_lock().ok()?;
        TcpListener::bind(("127.0.0.1", number)).ok()?;
        Some(Self {
            number,
            _lock: lock,
        })
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
pub(super) fn unless_taken<T>(mut launch: impl FnMut() -> Result<T, String>) -> T {
    const TRIES: usize = 5;
    for _ in 1..TRIES {
        match launch() {
            Err(failure) if failure.contains("Address already in use") => {}
            Err(failure) => panic!("{failure}"),
            Ok(launched) => return launched,
        }
    }
    launch().unwrap_or_else(|failure| panic!("{failure}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_held_is_not_given_twice() {
        let port = Port::reserve();
        assert!(Port::take(port.number()).is_none());
        let number = port.number();
        drop(port);
        assert!(Port::take(number).is_some());
    }
}
