//! Reserves TCP ports on loopback, so that no other test uses them.
//!
//! A server that is down must keep its port: Sentinels and Clusters would take another server there
//! for the old one. So a port is reserved by a locked file, whose lock ends with the process.

use std::fs::{self, File};
use std::net::TcpListener;
use std::ops::Range;

use rustix::process::getuid;

/// Below the ephemeral port range.
const RANGE: Range<u16> = 10_000..32_000;

/// A reserved port.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    /// Reserves a free port.
    pub fn reserve() -> Self {
        Self::try_reserve().unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Like [`Port::reserve`], but returns the error.
    pub(crate) fn try_reserve() -> Result<Self, String> {
        let mut rng = fastrand::Rng::new();
        for _ in 0..1_000 {
            if let Some(port) = Self::try_lock(rng.u16(RANGE))? {
                return Ok(port);
            }
        }
        Err(format!("no port in {RANGE:?} is free on 127.0.0.1"))
    }

    /// Reserves this port, unless it is in use.
    fn try_lock(number: u16) -> Result<Option<Self>, String> {
        // One folder per user: users cannot write to each other's folders.
        let user = getuid().as_raw();
        let folder = std::env::temp_dir().join(format!("windlass-ports-{user}"));
        let lock = fs::create_dir_all(&folder)
            .and_then(|()| File::create(folder.join(number.to_string())))
            .map_err(|error| format!("cannot write to {}: {error}", folder.display()))?;
        let is_free = lock.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", number)).is_ok();
        Ok(is_free.then_some(Self {
            number,
            _lock: lock,
        }))
    }

    /// The port number.
    pub fn number(&self) -> u16 {
        self.number
    }
}

/// Calls `launch`, and retries if another program took a port in the meantime.
pub(crate) fn retry_taken_port<T>(launch: impl FnMut() -> Result<T, String>) -> T {
    try_retry_taken_port(launch).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Like [`retry_taken_port`], but returns the error.
pub(crate) fn try_retry_taken_port<T>(
    mut launch: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    const TRIES: usize = 5;
    for _ in 1..TRIES {
        match launch() {
            Err(failure) if failure.contains("Address already in use") => {}
            result => return result,
        }
    }
    launch()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_port_is_not_reserved_twice() {
        let port = Port::reserve();
        assert!(Port::try_lock(port.number()).unwrap().is_none());
        let number = port.number();
        drop(port);
        assert!(Port::try_lock(number).unwrap().is_some());
    }
}
