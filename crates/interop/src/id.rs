//! Generates random ids in the formats of the older systems.

use std::fmt::Write as _;

use windlass_core::{Error, ErrorKind, Result};

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            "cannot read random bytes from the system",
            "check that this process may call getrandom(2) or read /dev/urandom",
        )
        .caused_by(error)
    })?;
    Ok(bytes)
}

/// Returns bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Generates a UUID (version 4).
pub(crate) fn uuid() -> Result<String> {
    let mut bytes: [u8; 16] = random()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let parts = [0..4, 4..6, 6..8, 8..10, 10..16].map(|range| hex(&bytes[range]));
    Ok(parts.join("-"))
}

/// Generates `N` random bytes in hexadecimal.
pub(crate) fn random_hex<const N: usize>() -> Result<String> {
    Ok(hex(&random::<N>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_the_form_of_the_originals() {
        let id = uuid().unwrap();
        let lengths: Vec<_> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(id.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&id.as_bytes()[19]), "{id}");
        assert_ne!(id, uuid().unwrap());
    }
}
