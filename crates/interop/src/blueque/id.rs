//! What must not be drawn twice anywhere: ids of tasks, tickets of calls, names of listeners.

use std::fmt::Write as _;

use windlass_core::{Error, ErrorKind, Result};

fn drawn<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            "the system gave no random bytes",
            "look whether this process may read the system's source of randomness",
        )
        .caused_by(error)
    })?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A new id for a task: a UUID of version 4, as the original draws.
pub(super) fn task() -> Result<String> {
    let mut bytes: [u8; 16] = drawn()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let parts = [0..4, 4..6, 6..8, 8..10, 10..16].map(|range| hex(&bytes[range]));
    Ok(parts.join("-"))
}

/// Tells one call from all others.
pub(super) fn ticket() -> Result<String> {
    Ok(hex(&drawn::<8>()?))
}

/// Tells one listener of a process from the others, and from those before it.
pub(super) fn nonce() -> Result<String> {
    Ok(hex(&drawn::<4>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_the_form_of_the_originals() {
        let id = task().unwrap();
        let lengths: Vec<_> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(id.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&id.as_bytes()[19]), "{id}");
        assert_ne!(id, task().unwrap());
    }
}
