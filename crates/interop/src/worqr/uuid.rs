//! Generates UUIDs.

use std::fmt::Write as _;

use windlass_core::{Error, ErrorKind, Result};

/// Generates a UUID (version 4), the original's format for worker and process ids.
pub(super) fn random() -> Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot read random bytes from the system: {error}"),
            "check that this process may call getrandom(2) or read /dev/urandom",
        )
    })?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_the_shape_of_version_4() {
        let id = random().unwrap();
        let parts: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
        assert_eq!(&id[14..15], "4", "{id}");
        assert!("89ab".contains(&id[19..20]), "{id}");
        assert_ne!(id, random().unwrap());
    }
}
