//! The lease of a running job: its claim, and what scripts need to know about the job.

use windlass_core::{BootId, Priority, Result, Timestamp, Token};

use super::names::{MORE, NOT_ACCEPTED, VALUE_ONLY};
use super::{damaged, number, text, time, token};

const KIND: &str = "lease";

/// The stored lease of a running job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredLease {
    /// The token of its claim.
    pub(crate) token: Token,
    pub(crate) priority: Priority,
    /// Whether its value is all there is to remove when the job is completed.
    pub(crate) is_value_only: bool,
    /// The length of its payload.
    pub(crate) bytes: u64,
    pub(crate) accepted: Accepted,
    /// The worker name given by a single claim.
    pub(crate) worker: Option<BootId>,
}

/// When a worker accepted a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accepted {
    /// When it was claimed.
    AtClaim,
    /// It was dispatched and not accepted yet.
    NotYet,
    /// It was dispatched and accepted at this time.
    At(Timestamp),
}

impl StoredLease {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let bad = |why| damaged(KIND, why);
        let mut fields = text(KIND, bytes)?.splitn(4, '\t');
        let token = token(KIND, fields.next().unwrap_or_default())?;
        let facts = fields.next().unwrap_or_default();
        let [level @ b'0'..=b'9', flag, ..] = *facts.as_bytes() else {
            return Err(bad("missing priority or flag"));
        };
        Ok(Self {
            token,
            priority: Priority::new(level - b'0').map_err(|_| bad("invalid priority"))?,
            is_value_only: match flag {
                VALUE_ONLY => true,
                MORE => false,
                _ => return Err(bad("invalid flag")),
            },
            // The group, after a space, is for scripts.
            bytes: number(KIND, facts[2..].split(' ').next().unwrap_or_default())?,
            accepted: match fields.next().unwrap_or_default() {
                "" => Accepted::AtClaim,
                NOT_ACCEPTED => Accepted::NotYet,
                at => Accepted::At(time(KIND, at)?),
            },
            worker: match fields.next().unwrap_or_default() {
                "" => None,
                name => Some(BootId::new(name).map_err(|_| bad("invalid worker name"))?),
            },
        })
    }

    pub(crate) fn accepted_at(&self) -> Option<Timestamp> {
        match self.accepted {
            Accepted::AtClaim => Some(self.token.issued_at()),
            Accepted::NotYet => None,
            Accepted::At(at) => Some(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Token = Token {
        number: 5_000_123,
        nonce: 0xbeef,
    };

    #[test]
    fn a_lease_is_read_with_and_without_its_optional_fields() {
        let plain = StoredLease {
            token: TOKEN,
            priority: Priority::default(),
            is_value_only: true,
            bytes: 120,
            accepted: Accepted::AtClaim,
            worker: None,
        };
        let read = |text: &str| StoredLease::read(text.as_bytes()).unwrap();

        assert_eq!(read("5000123-0000beef\t5-120"), plain);
        assert_eq!(read("5000123-0000beef\t5-120 "), plain);
        assert_eq!(read("5000123-0000beef\t5-120 ann of 5"), plain);
        assert_eq!(plain.accepted_at(), Some(Timestamp::from_ms(5_000)));

        let dispatched = read("5000123-0000beef\t0o0\td");
        assert_eq!(dispatched.accepted_at(), None);
        assert!(!dispatched.is_value_only);
        assert_eq!(dispatched.priority.level(), 0);

        let named = read("5000123-0000beef\t5-120\t\tann of é");
        assert_eq!(named.worker, BootId::new("ann of é").ok());
        assert_eq!(named.accepted, Accepted::AtClaim);

        let accepted = read("5000123-0000beef\t5-120\t6001\tann");
        assert_eq!(accepted.accepted_at(), Some(Timestamp::from_ms(6_001)));
    }

    #[test]
    fn a_damaged_lease_is_rejected() {
        for bad in [
            "",
            "5000123-0000beef",
            "5000123-0000beef\t",
            "5000123-0000beef\t5",
            "5000123-0000beef\t5-",
            "5000123-0000beef\tx-1",
            "5000123-0000beef\té-1",
            "5000123-0000beef\t5x1",
            "5000123-0000beef\t5-1x",
            "5000123\t5-1",
            "5000123-0000beef\t5-1\tsoon",
            "5000123-0000beef\t5-1\t\ta\tb",
        ] {
            assert!(StoredLease::read(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert!(StoredLease::read(b"\xff").is_err());
    }
}
