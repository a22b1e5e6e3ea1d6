//! The message of a failed attempt.

use windlass_core::error_group::{Fingerprint, NORMALIZED_CHARS_MAX, normalize};

/// Normalizes `data`. The result is short, without numbers and control characters, and stays as it is.
pub fn run(data: &[u8]) {
    let message = String::from_utf8_lossy(data);
    let once = normalize(&message);
    assert_eq!(normalize(&once), once, "{message:?}");
    assert!(once.chars().count() <= NORMALIZED_CHARS_MAX, "{message:?}");
    assert!(!once.contains(|char: char| char.is_control() || char.is_ascii_digit()));
    assert_eq!(
        Fingerprint::of(None, &message),
        Fingerprint::of(None, &once)
    );
}
