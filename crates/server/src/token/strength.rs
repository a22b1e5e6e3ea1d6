//! What makes a token too weak, as far as the server can see it.
//!
//! A token file holds only digests: at the start the server can recognise digests of guessable words.
//! The length of a token is known when a client sends it, so a short token never matches.

use super::digest::Digest;

/// The minimum length of a token: 128 bits as hex digits.
pub(super) const SECRET_CHARS_MIN: usize = 32;

/// The fewest different characters of a token. A random token of 32 hex digits has more.
const DIFFERENT_CHARS_MIN: usize = 6;

/// Words that are tried first by anyone who guesses.
const GUESSABLE: [&str; 40] = [
    "",
    "0",
    "1",
    "123",
    "1234",
    "12345",
    "123456",
    "12345678",
    "123456789",
    "1234567890",
    "a",
    "abc",
    "abc123",
    "access",
    "admin",
    "administrator",
    "bearer",
    "changeme",
    "default",
    "demo",
    "dev",
    "example",
    "foo",
    "guest",
    "hello",
    "key",
    "letmein",
    "localhost",
    "pass",
    "passw0rd",
    "password",
    "qwerty",
    "root",
    "secret",
    "test",
    "token",
    "user",
    "welcome",
    "windlass",
    "TOKEN",
];

/// Returns whether a token is too short or too uniform to be safe from guessing.
pub(super) fn is_weak(secret: &str) -> bool {
    let mut chars: Vec<_> = secret.chars().collect();
    chars.sort_unstable();
    chars.dedup();
    secret.len() < SECRET_CHARS_MIN || chars.len() < DIFFERENT_CHARS_MIN
}

/// Recognises digests of guessable words.
pub(super) struct GuessableDigests(Vec<Digest>);

impl GuessableDigests {
    pub(super) fn new() -> Self {
        // `echo TOKEN | sha256sum` hashes a line break as well, so the token is never accepted.
        let words = GUESSABLE.iter();
        let digests = words.flat_map(|word| [Digest::of(word), Digest::of(&format!("{word}\n"))]);
        Self(digests.collect())
    }

    /// Returns whether the digest is that of a guessable word, or of the name of its token.
    pub(super) fn contains(&self, digest: &Digest, name: &str) -> bool {
        self.0.iter().any(|guessable| guessable.is_same(digest)) || Digest::of(name).is_same(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_strong_if_it_is_long_and_varied() {
        for weak in [
            "",
            "test",
            &"x".repeat(64),
            &"abcab".repeat(20),
            &"0123456789abcdef"[..16],
        ] {
            assert!(is_weak(weak), "{weak}");
        }
        assert!(!is_weak("0123456789abcdef0123456789abcdef"));
    }

    #[test]
    fn the_digest_of_a_word_or_of_the_name_is_recognised() {
        let guessable = GuessableDigests::new();
        for word in ["test", "password", "", "token\n", "ann"] {
            assert!(guessable.contains(&Digest::of(word), "ann"), "{word}");
        }
        assert!(!guessable.contains(&Digest::of("0123456789abcdef0123456789abcdef"), "ann"));
    }
}
