//! Derives the payload of a job from its id, so that a worker can verify it.

use bytes::Bytes;
use windlass_core::JobId;

/// In an id, marks a job with a large payload.
pub const LARGE: &str = "-large-";

/// The largest payload that stores accept.
const LARGE_BYTES: usize = 1024 * 1024;

/// The payload for this id: mostly a few bytes, for some ids many pages, for marked ids a mebibyte.
pub fn of(id: &JobId) -> Bytes {
    if id.as_str().contains(LARGE) {
        let bytes = id.as_str().bytes().cycle();
        return bytes.take(LARGE_BYTES).collect();
    }
    let sum = id
        .as_str()
        .bytes()
        .fold(0_usize, |sum, byte| sum * 31 % 65_521 + usize::from(byte));
    let copies = if sum.is_multiple_of(20) { 2_000 } else { 1 };
    Bytes::from(id.as_str().repeat(copies))
}

#[cfg(test)]
mod tests {
    use windlass_core::store::Limits;

    use super::*;

    #[test]
    fn some_payloads_are_large() {
        let sizes: Vec<_> = (0..100)
            .map(|n| of(&JobId::new(format!("p-{n}")).unwrap()).len())
            .collect();
        assert!(sizes.iter().any(|size| *size < 10) && sizes.iter().any(|size| *size > 4_096));
        let large = JobId::new(format!("p{LARGE}1")).unwrap();
        assert_eq!(of(&large).len(), Limits::default().payload_bytes_max);
    }
}
