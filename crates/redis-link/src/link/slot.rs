//! Hash slots of a Cluster.

/// Number of hash slots in a Cluster.
pub(super) const SLOTS: u16 = 16384;

/// Returns the hash slot of a key, computed from its hash tag (`{…}`) if it has one.
pub(crate) fn slot_of(key: &[u8]) -> u16 {
    crc16(hash_tag(key)) % SLOTS
}

fn hash_tag(key: &[u8]) -> &[u8] {
    let position = |bytes: &[u8], wanted: u8| bytes.iter().position(|byte| *byte == wanted);
    let Some(open) = position(key, b'{') else {
        return key;
    };
    let after = &key[open + 1..];
    match position(after, b'}') {
        Some(length) if length > 0 => &after[..length],
        _ => key,
    }
}

/// CRC-16/XMODEM, as in the Redis Cluster specification.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc: u16, _| {
            if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_computed_as_the_specification_says() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        for (key, slot) in [
            (&b"foo"[..], 12182),
            (b"", 0),
            (b"{foo}.bar", 12182),
            (b"x{foo}{bar}", 12182),
            (b"windlass:{foo}:jobs", 12182),
        ] {
            assert_eq!(slot_of(key), slot, "{key:?}");
        }
        // No hash tag: the whole key is hashed.
        for key in [&b"{}foo"[..], b"foo{", b"}{"] {
            assert_eq!(slot_of(key), crc16(key) % SLOTS);
        }
    }
}
