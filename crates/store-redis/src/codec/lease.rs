//! A hold: the claim a running job is under, and what scripts need to know of the job.

use windlass_core::{BootId, Priority, Result, Timestamp, Token};

use super::{damaged, number, text, time, token};

const PART: &str = "hold";

/// The hold of a claim on one running job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredHold {
    /// The claim.
    pub(crate) token: Token,
    pub(crate) priority: Priority,
    /// Whether the job differs from a plain one, and whether that matters when it ends well.
    pub(crate) opts: HeldOpts,
    /// The length of its payload.
    pub(crate) bytes: u64,
    pub(crate) accepted: Accepted,
    /// The name that a single claim gave.
    pub(crate) worker: Option<BootId>,
}

/// What a hold says of the opts of its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeldOpts {
    /// `-`: there are none.
    None,
    /// `s`: none of them matters when the job ends well.
    Mute,
    /// `o`: some may matter.
    Some,
}

impl HeldOpts {
    fn from_flag(flag: u8) -> Option<Self> {
        match flag {
            b'-' => Some(Self::None),
            b's' => Some(Self::Mute),
            b'o' => Some(Self::Some),
            _ => None,
        }
    }
}

/// When a worker accepted a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accepted {
    /// When it was claimed.
    AtClaim,
    /// It was dispatched, and nobody has accepted it yet.
    NotYet,
    /// It was dispatched, and accepted then.
    At(Timestamp),
}

impl StoredHold {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let bad = |why| damaged(PART, why);
        let mut parts = text(PART, bytes)?.splitn(4, '\t');
        let token = token(PART, parts.next().unwrap_or_default())?;
        let facts = parts.next().unwrap_or_default();
        let [level @ b'0'..=b'9', flag, ..] = *facts.as_bytes() else {
            return Err(bad("it has no priority and flag"));
        };
        Ok(Self {
            token,
            priority: Priority::new(level - b'0').map_err(|_| bad("its priority"))?,
            opts: HeldOpts::from_flag(flag).ok_or_else(|| bad("its flag"))?,
            bytes: number(PART, &facts[2..])?,
            accepted: match parts.next().unwrap_or_default() {
                "" => Accepted::AtClaim,
                "d" => Accepted::NotYet,
                at => Accepted::At(time(PART, at)?),
            },
            worker: match parts.next().unwrap_or_default() {
                "" => None,
                name => Some(BootId::new(name).map_err(|_| bad("its worker's name"))?),
            },
        })
    }

    /// When a worker accepted the job.
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
    fn a_hold_is_read_with_and_without_its_last_parts() {
        let plain = StoredHold {
            token: TOKEN,
            priority: Priority::default(),
            opts: HeldOpts::None,
            bytes: 120,
            accepted: Accepted::AtClaim,
            worker: None,
        };
        let read = |text: &str| StoredHold::read(text.as_bytes()).unwrap();

        assert_eq!(read("5000123-0000beef\t5-120"), plain);
        assert_eq!(plain.accepted_at(), Some(Timestamp::from_ms(5_000)));

        let dispatched = read("5000123-0000beef\t0o0\td");
        assert_eq!(dispatched.accepted_at(), None);
        assert_eq!(dispatched.opts, HeldOpts::Some);
        assert_eq!(dispatched.priority.level(), 0);

        let named = read("5000123-0000beef\t5-120\t\tann of é");
        assert_eq!(named.worker, BootId::new("ann of é").ok());
        assert_eq!(named.accepted, Accepted::AtClaim);

        let accepted = read("5000123-0000beef\t5-120\t6001\tann");
        assert_eq!(accepted.accepted_at(), Some(Timestamp::from_ms(6_001)));
    }

    #[test]
    fn a_damaged_hold_is_refused() {
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
            assert!(StoredHold::read(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert!(StoredHold::read(b"\xff").is_err());
    }
}
