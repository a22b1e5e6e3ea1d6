//! The digest of a token: fixed length, compared in constant time.

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

/// The SHA-256 of a token. It can only be compared with [`Digest::is_same`].
#[derive(Clone)]
pub(super) struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of a token.
    pub(super) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// Parses 64 hex digits.
    pub(super) fn from_hex(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// Returns the digest as 64 hex digits.
    pub(super) fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Compares in constant time.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

#[cfg(test)]
mod tests;
