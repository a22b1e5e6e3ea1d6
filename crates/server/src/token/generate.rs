//! New tokens for `windlass token new`.

use std::fmt;

use windlass_core::{Error, ErrorKind, Result};

use super::digest::Digest;
use crate::scope::Grant;

/// The random bytes of a new token: 256 bits.
const SECRET_BYTES: usize = 32;

/// A new token. It is shown once; the token file holds only its digest.
pub struct NewToken {
    /// The token, for the client.
    pub secret: String,
    /// The line with its digest, for the token file.
    pub line: String,
}

impl fmt::Debug for NewToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewToken").finish_non_exhaustive()
    }
}

impl NewToken {
    /// Generates a token from the random source of the system, with comma-separated scopes and queue
    /// patterns.
    pub fn generate(name: &str, scopes: &str, queues: &str) -> Result<Self> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._@-".contains(c);
        if name.is_empty() || !name.chars().all(is_allowed) {
            let help = "use letters, digits and . _ @ -, such as ann";
            return Err(Error::invalid(
                "token name",
                "it cannot stand in a token file",
                help,
            ));
        }
        Grant::parse(scopes, queues)?;
        let mut bytes = [0_u8; SECRET_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| {
            let what = format!("the system has no random numbers: {error}");
            Error::new(ErrorKind::Internal, what, "check that getrandom is allowed")
        })?;
        let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let line = format!("{name} {} {scopes} {queues}", Digest::of(&secret).to_hex());
        Ok(Self { secret, line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Tokens;

    #[test]
    fn a_new_token_is_long_random_and_accepted_with_its_line() {
        let new = || NewToken::generate("ann", "read,enqueue", "mail-*").unwrap();
        let (one, two) = (new(), new());
        assert_eq!(one.secret.len() * 4, 256);
        assert_ne!(one.secret, two.secret);
        let tokens = Tokens::parse(&one.line).unwrap();
        assert!(tokens.grant(&one.secret).is_some());
        assert!(tokens.grant(&two.secret).is_none());
        let shown = format!("{one:?} {}", one.line);
        assert!(!shown.contains(&one.secret), "{shown}");
    }

    #[test]
    fn a_line_that_the_server_would_reject_is_not_generated() {
        for (name, scopes, queues) in [
            ("", "read", "*"),
            ("a b", "read", "*"),
            ("#ann", "read", "*"),
            ("a=b", "read", "*"),
            ("a\nb", "read", "*"),
            ("ann", "dance", "*"),
            ("ann", "", "*"),
            ("ann", "read", "a/b"),
            ("ann", "read", "a b"),
            ("ann", "read", "* rate=1"),
            ("ann", "read # x", "*"),
        ] {
            let new = NewToken::generate(name, scopes, queues);
            assert!(new.is_err(), "{name:?} {scopes:?} {queues:?}");
        }
    }
}
