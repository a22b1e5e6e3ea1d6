//! The text of a token file of the HTTP server.

use windlass_server::Tokens;

/// A token that no file can contain the digest of by chance.
const SECRET: &str = "wl_u7Qm3Zr9Lx2Vt8Kc5Nb1Yd6Hs4Pw0Ej";

/// Parses `data`. Whatever a file contains, it gives no rights to another token and does not show its
/// content in an error.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match Tokens::parse(text) {
        Ok(tokens) => {
            assert!(!tokens.is_empty());
            assert!(tokens.grant(SECRET).is_none());
        }
        Err(error) => {
            let shown = format!("{error} {}", error.help());
            // Digests are the secret part of a file.
            let digests = text.split_whitespace().filter(|word| word.len() >= 64);
            for digest in digests {
                assert!(!shown.contains(digest), "{shown}");
            }
        }
    }
}
