//! Computes the Cluster slot of a key.

/// The number of slots of a Cluster.
pub const SLOTS: u16 = 16_384;

/// Returns the slot of a key: of its hash tag, if it has a non-empty one.
pub fn slot_of(key: &[u8]) -> u16 {
    crc16(tag(key).unwrap_or(key)) % SLOTS
}

/// The text between the first `{` and the next `}`.
fn tag(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|byte| *byte == b'{')?;
    let rest = &key[open + 1..];
    let length = rest.iter().position(|byte| *byte == b'}')?;
    (length > 0).then(|| &rest[..length])
}

/// CRC-16/XMODEM, bit by bit: fast enough for tests.
fn crc16(bytes: &[u8]) -> u16 {
    const POLYNOMIAL: u16 = 0x1021;
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ (u16::from(*byte) << 8), |sum, _| {
            let carry = if sum & 0x8000 == 0 { 0 } else { POLYNOMIAL };
            (sum << 1) ^ carry
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_has_the_value_that_the_specification_gives() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
    }

    #[test]
    fn only_the_first_tag_that_is_not_empty_counts() {
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"user1000"));
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
        assert_eq!(slot_of(b"foo{bar}{zap}"), slot_of(b"bar"));
        assert_eq!(tag(b"foo{}{bar}"), None);
        assert_eq!(tag(b"foo{bar"), None);
    }
}
