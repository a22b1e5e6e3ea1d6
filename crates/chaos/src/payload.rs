//! Derives the payload of a job from its id, so that a worker can verify it.

use bytes::Bytes;
use windlass_core::JobId;

/// The payload for this id: mostly a few bytes, for some ids many pages.
pub fn of(id: &JobId) -> Bytes {
    let sum = id
        .as_str()
        .bytes()
        .fold(0_usize, |sum, byte| sum * 31 % 65_521 + usize::from(byte));
    let copies = if sum.is_multiple_of(20) { 2_000 } else { 1 };
    Bytes::from(id.as_str().repeat(copies))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_payloads_are_large() {
        let sizes: Vec<_> = (0..100)
            .map(|n| of(&JobId::new(format!("p-{n}")).unwrap()).len())
            .collect();
        assert!(sizes.iter().any(|size| *size < 10) && sizes.iter().any(|size| *size > 4_096));
    }
}
