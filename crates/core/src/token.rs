//! The token of a claim, which proves the lease on its jobs.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::limits::NUMBER_MAX;
use crate::time::Timestamp;

/// The token of a claim. Unique; compared for equality.
///
/// The number increases with every claim on a queue, so other systems can use it as a fencing token.
/// The nonce is chosen at random by the claimer, so that a token is unique even if a failover lost
/// the latest number. The text form is `number-nonce`, with the nonce in hexadecimal.
///
/// ```
/// # use windlass_core as windlass;
/// use windlass::Token;
///
/// let (early, late): (Token, Token) = ("7-0000beef".parse()?, "8-00000001".parse()?);
/// assert!(early.number < late.number); // fencing: reject calls with a lower number
/// assert_eq!(late.to_string(), "8-00000001");
/// # Ok::<(), windlass::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// max(last + 1, store time in microseconds).
    pub number: u64,
    /// The random part, chosen by the claimer.
    pub nonce: u32,
}

impl Token {
    /// Returns the token after `last`, at store time `now_us` in microseconds.
    pub fn next(last: u64, now_us: u64, nonce: u32) -> Self {
        Self {
            number: now_us.max(last + 1),
            nonce,
        }
    }

    /// Returns the store time of the claim.
    pub const fn issued_at(self) -> Timestamp {
        Timestamp::from_ms(self.number / 1000)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:08x}", self.number, self.nonce)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Token {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || {
            Error::invalid(
                "token",
                "expected NUMBER-HEX",
                "copy the token from the reply to the claim",
            )
        };
        let (number, nonce) = text.split_once('-').ok_or_else(bad)?;
        let token = Self {
            number: number.parse().map_err(|_| bad())?,
            nonce: u32::from_str_radix(nonce, 16).map_err(|_| bad())?,
        };
        // Accept only the canonical text: not "+1-1" or "01-1".
        if token.to_string() == text && token.number <= NUMBER_MAX {
            Ok(token)
        } else {
            Err(bad())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_only_from_its_exact_text() {
        let token = Token {
            number: 1_763_240_000_000_123,
            nonce: 0xbeef,
        };
        assert_eq!(token.to_string(), "1763240000000123-0000beef");
        assert_eq!(token.to_string().parse::<Token>().unwrap(), token);
        for bad in [
            "",
            "1",
            "1-",
            "-1",
            "+1-0000beef",
            "01-0000beef",
            "1-beef",
            "1-0000BEEF",
            "18446744073709551615-0000beef",
        ] {
            assert!(bad.parse::<Token>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_number_grows_even_when_the_clock_stands_still() {
        let first = Token::next(0, 50, 1);
        let second = Token::next(first.number, 50, 1);
        assert!(second.number > first.number);
    }
}
