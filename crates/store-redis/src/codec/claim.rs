//! Claims and their owners: what was handed out, to whom, and what left.

use std::time::Duration;

use windlass_core::{BootId, JobId, OutcomeStatus, Owner, Result, Token};

use super::{damaged, number, text, token};

/// The record of a claim, written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredClaim {
    /// Its number among the boot's claims; 0 for single claims.
    pub(crate) seq: u64,
    pub(crate) owner: Owner,
    /// The jobs, in the order they were handed out.
    pub(crate) ids: Vec<JobId>,
}

impl StoredClaim {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const PART: &str = "claim";
        let mut lines = text(PART, bytes)?.split_terminator('\n');
        let head = lines.next().unwrap_or_default();
        let (seq, rest) = cut(PART, head)?;
        let (size, owner) = cut(PART, rest)?;
        let id = |line: &str| JobId::new(line).map_err(|_| damaged(PART, "an id in it is none"));
        let ids = lines.map(id).collect::<Result<Vec<_>>>()?;
        if ids.len() as u64 != number(PART, size)? || !bytes.ends_with(b"\n") {
            return Err(damaged(PART, "it has not as many ids as it says"));
        }
        Ok(Self {
            seq: number(PART, seq)?,
            owner: owner_of(PART, owner)?,
            ids,
        })
    }
}

/// An open claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenClaim {
    /// How many of its jobs are still held.
    pub(crate) remaining: u64,
    pub(crate) seq: u64,
    pub(crate) owner: Owner,
}

impl OpenClaim {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const PART: &str = "open claim";
        let (remaining, rest) = cut(PART, text(PART, bytes)?)?;
        let (seq, owner) = cut(PART, rest)?;
        Ok(Self {
            remaining: number(PART, remaining)?,
            seq: number(PART, seq)?,
            owner: owner_of(PART, owner)?,
        })
    }
}

/// The jobs that left a claim otherwise than by completion, in the order they left.
pub(crate) fn read_left(bytes: &[u8]) -> Result<Vec<(JobId, OutcomeStatus)>> {
    const PART: &str = "list of jobs that left a claim";
    let read = |line: &str| {
        let (how, id) = line.strip_suffix('\n')?.split_once(' ')?;
        Some((JobId::new(id).ok()?, OutcomeStatus::from_text(how)?))
    };
    text(PART, bytes)?
        .split_inclusive('\n')
        .map(|line| read(line).ok_or_else(|| damaged(PART, "a line of it")))
        .collect()
}

/// The owner of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredOwner {
    /// How long its lease was last asked to be.
    pub(crate) length: Duration,
    /// A boot's latest claim.
    pub(crate) last: Option<(u64, Token)>,
    /// The latest suspect a boot took.
    pub(crate) suspect: Option<(JobId, Token)>,
}

impl StoredOwner {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const PART: &str = "owner of a lease";
        let mut parts = text(PART, bytes)?.splitn(5, '\t');
        let mut part = || parts.next().unwrap_or_default();
        let length = Duration::from_millis(number(PART, part())?);
        let last = match (part(), part()) {
            ("", "") => None,
            (seq, token_text) => Some((number(PART, seq)?, token(PART, token_text)?)),
        };
        let suspect = match (part(), part()) {
            ("", "") => None,
            (token_text, id) => {
                let id = JobId::new(id).map_err(|_| damaged(PART, "its suspect"))?;
                Some((id, token(PART, token_text)?))
            }
        };
        Ok(Self {
            length,
            last,
            suspect,
        })
    }
}

/// The worker whose lease this is; none for a single claim's.
pub(crate) fn boot_of(owner: &Owner) -> Option<BootId> {
    owner
        .as_str()
        .strip_prefix("b:")
        .and_then(|boot| BootId::new(boot).ok())
}

/// An owner as text: `b:BOOT` or `t:TOKEN`.
pub(crate) fn owner_of(part: &str, text: &str) -> Result<Owner> {
    let is_owner = match text.split_once(':') {
        Some(("b", boot)) => BootId::new(boot).is_ok(),
        Some(("t", token)) => token.parse::<Token>().is_ok(),
        _ => false,
    };
    if is_owner {
        Ok(Owner::from_stored(text.to_owned()))
    } else {
        Err(damaged(part, "an owner in it is none"))
    }
}

fn cut<'a>(part: &str, text: &'a str) -> Result<(&'a str, &'a str)> {
    text.split_once('\t')
        .ok_or_else(|| damaged(part, "a part of it is missing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Token = Token {
        number: 12,
        nonce: 1,
    };

    fn id(text: &str) -> JobId {
        JobId::new(text).unwrap()
    }

    fn owner(text: &str) -> Owner {
        Owner::from_stored(text.to_owned())
    }

    #[test]
    fn a_claim_is_read_with_its_ids_in_order() {
        let claim = StoredClaim::read(b"7\t2\tb:one\nb c\na\n").unwrap();
        let expected = StoredClaim {
            seq: 7,
            owner: owner("b:one"),
            ids: vec![id("b c"), id("a")],
        };
        assert_eq!(claim, expected);
    }

    #[test]
    fn a_damaged_claim_is_refused() {
        for bad in [
            "",
            "7\t2\tb:one",
            "7\t2\tb:one\na\n",
            "7\t1\tb:one\na\nb\n",
            "7\t2\tb:one\na\nb",
            "7\t1\tone\na\n",
            "7\t1\tb:\na\n",
            "7\t1\tt:12\na\n",
            "x\t1\tb:one\na\n",
            "7\t2\tb:one\na\n\n",
        ] {
            assert!(StoredClaim::read(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_open_claim_is_read() {
        let open = OpenClaim::read(b"3\t0\tt:12-00000001").unwrap();
        let expected = OpenClaim {
            remaining: 3,
            seq: 0,
            owner: Owner::token(TOKEN),
        };
        assert_eq!(open, expected);
        for bad in ["", "3", "3\t0", "3\tx\tb:one", "-1\t0\tb:one"] {
            assert!(OpenClaim::read(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_left_a_claim_is_read_in_order() {
        let left = read_left(b"lease_lost b c\nreleased a\n").unwrap();
        let expected = [
            (id("b c"), OutcomeStatus::LeaseLost),
            (id("a"), OutcomeStatus::Released),
        ];
        assert_eq!(left, expected);
        assert_eq!(read_left(b"").unwrap(), []);
        for bad in ["released", "released \n", "gone away\nreleased b", "a b\n"] {
            assert!(read_left(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_owner_is_read_with_and_without_claim_and_suspect() {
        let read = |text: &str| StoredOwner::read(text.as_bytes()).unwrap();
        let bare = StoredOwner {
            length: Duration::from_secs(30),
            last: None,
            suspect: None,
        };
        assert_eq!(read("30000\t\t\t\t"), bare);
        assert_eq!(read("30000"), bare);
        let last = Some((4, TOKEN));
        assert_eq!(
            read("30000\t4\t12-00000001\t\t"),
            StoredOwner {
                last,
                ..bare.clone()
            }
        );
        let suspect = Some((id("bad one"), TOKEN));
        assert_eq!(
            read("30000\t4\t12-00000001\t12-00000001\tbad one"),
            StoredOwner {
                last,
                suspect,
                ..bare
            }
        );
        for bad in [
            "",
            "x",
            "1\t4",
            "1\t\t12-00000001",
            "1\t\t\tx\ta",
            "1\t\t\t\ta",
        ] {
            assert!(StoredOwner::read(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn only_a_workers_lease_has_a_boot() {
        assert_eq!(boot_of(&owner("b:t:x")), BootId::new("t:x").ok());
        assert_eq!(boot_of(&Owner::token(TOKEN)), None);
    }
}
