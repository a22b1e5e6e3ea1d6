//! Claims, the owners of their leases, and the jobs that left them.

use std::time::Duration;

use windlass_core::store::Owner;
use windlass_core::{BootId, JobId, OutcomeStatus, Result, Token};

use super::names::{BOOT_OWNER, TOKEN_OWNER};
use super::{damaged, number, text, token};

/// The record of a claim, which never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredClaim {
    /// Its sequence number among the claims of the boot; 0 for single claims.
    pub(crate) seq: u64,
    pub(crate) owner: Owner,
    /// The ids of its jobs, in claim order.
    pub(crate) ids: Vec<JobId>,
}

impl StoredClaim {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const KIND: &str = "claim";
        let mut lines = text(KIND, bytes)?.split_terminator('\n');
        let head = lines.next().unwrap_or_default();
        let (seq, rest) = split_tab(KIND, head)?;
        let (size, owner) = split_tab(KIND, rest)?;
        let id = |line: &str| JobId::new(line).map_err(|_| damaged(KIND, "invalid id"));
        let ids = lines.map(id).collect::<Result<Vec<_>>>()?;
        if ids.len() as u64 != number(KIND, size)? || !bytes.ends_with(b"\n") {
            return Err(damaged(KIND, "wrong number of ids"));
        }
        Ok(Self {
            seq: number(KIND, seq)?,
            owner: owner_of(KIND, owner)?,
            ids,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenClaim {
    /// The number of its jobs that are still leased.
    pub(crate) remaining: u64,
    pub(crate) seq: u64,
    pub(crate) owner: Owner,
}

impl OpenClaim {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const KIND: &str = "open claim";
        let (remaining, rest) = split_tab(KIND, text(KIND, bytes)?)?;
        let (seq, owner) = split_tab(KIND, rest)?;
        Ok(Self {
            remaining: number(KIND, remaining)?,
            seq: number(KIND, seq)?,
            owner: owner_of(KIND, owner)?,
        })
    }
}

/// Decodes the jobs that left a claim other than by completion, in the order they left.
pub(crate) fn read_left(bytes: &[u8]) -> Result<Vec<(JobId, OutcomeStatus)>> {
    const KIND: &str = "record of jobs that left a claim";
    let read = |line: &str| {
        let (how, id) = line.strip_suffix('\n')?.split_once(' ')?;
        Some((JobId::new(id).ok()?, OutcomeStatus::from_text(how)?))
    };
    text(KIND, bytes)?
        .split_inclusive('\n')
        .map(|line| read(line).ok_or_else(|| damaged(KIND, "invalid line")))
        .collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredOwner {
    /// The lease length of its latest request.
    pub(crate) length: Duration,
    /// A boot's latest claim.
    pub(crate) last: Option<(u64, Token)>,
    /// The latest suspect a boot claimed.
    pub(crate) suspect: Option<(JobId, Token)>,
}

impl StoredOwner {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const KIND: &str = "owner record";
        let mut fields = text(KIND, bytes)?.splitn(5, '\t');
        let mut field = || fields.next().unwrap_or_default();
        let length = Duration::from_millis(number(KIND, field())?);
        let last = match (field(), field()) {
            ("", "") => None,
            (seq, token_text) => Some((number(KIND, seq)?, token(KIND, token_text)?)),
        };
        let suspect = match (field(), field()) {
            ("", "") => None,
            (token_text, id) => {
                let id = JobId::new(id).map_err(|_| damaged(KIND, "invalid suspect"))?;
                Some((id, token(KIND, token_text)?))
            }
        };
        Ok(Self {
            length,
            last,
            suspect,
        })
    }
}

/// The boot that owns a lease; `None` for a single claim.
pub(crate) fn boot_of(owner: &Owner) -> Option<BootId> {
    owner
        .as_str()
        .strip_prefix(BOOT_OWNER)
        .and_then(|boot| BootId::new(boot).ok())
}

/// Decodes an owner: `BOOT_OWNER BOOT` or `TOKEN_OWNER TOKEN`.
pub(crate) fn owner_of(kind: &str, text: &str) -> Result<Owner> {
    let is_boot = |boot| BootId::new(boot).is_ok();
    let is_token = |token: &str| token.parse::<Token>().is_ok();
    if text.strip_prefix(BOOT_OWNER).is_some_and(is_boot)
        || text.strip_prefix(TOKEN_OWNER).is_some_and(is_token)
    {
        Ok(Owner::from_stored(text.to_owned()))
    } else {
        Err(damaged(kind, "invalid owner"))
    }
}

fn split_tab<'a>(kind: &str, text: &'a str) -> Result<(&'a str, &'a str)> {
    text.split_once('\t')
        .ok_or_else(|| damaged(kind, "missing field"))
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
    fn a_damaged_claim_is_rejected() {
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
