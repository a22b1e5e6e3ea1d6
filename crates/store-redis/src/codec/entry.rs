//! Entries of ready lists, and the stale ones: entries whose job has left the list.

use windlass_core::{JobId, Result};

use super::{damaged, job_id, number, text};

/// An entry of a ready list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: JobId,
    /// Above 0 if an older entry of the same id may still be in a list.
    pub(crate) generation: u64,
}

impl Entry {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const KIND: &str = "entry of a ready list";
        let Some(rest) = bytes.strip_prefix(b"\t") else {
            return Ok(Self {
                id: job_id(KIND, bytes)?,
                generation: 0,
            });
        };
        let (generation, id) = text(KIND, rest)?
            .split_once('\t')
            .ok_or_else(|| damaged(KIND, "missing id"))?;
        Ok(Self {
            id: job_id(KIND, id.as_bytes())?,
            generation: number(KIND, generation)?,
        })
    }

    /// Whether its job has left the list since.
    pub(crate) fn is_stale(&self, stale: Option<&StaleEntries>) -> bool {
        stale.is_some_and(|stale| self.generation <= stale.generation)
    }
}

/// The stale entries of one id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StaleEntries {
    /// The number still in lists.
    pub(crate) count: u64,
    /// The highest stale generation.
    pub(crate) generation: u64,
}

impl StaleEntries {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const KIND: &str = "record of stale entries";
        let (count, generation) = text(KIND, bytes)?
            .split_once(' ')
            .ok_or_else(|| damaged(KIND, "missing field"))?;
        Ok(Self {
            count: number(KIND, count)?,
            generation: number(KIND, generation)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Entry {
        Entry::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn an_entry_is_an_id_or_a_generation_of_it() {
        assert_eq!(
            (entry("a b").id.as_str(), entry("a b").generation),
            ("a b", 0)
        );
        assert_eq!(
            (entry("\t3\ta").id.as_str(), entry("\t3\ta").generation),
            ("a", 3)
        );
        for bad in ["", "\t", "\t3", "\t3\t", "\tx\ta", "\t\ta", "a\tb"] {
            assert!(Entry::read(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_entry_is_stale_up_to_the_recorded_generation() {
        let stale = StaleEntries::read(b"2 1").unwrap();
        assert_eq!((stale.count, stale.generation), (2, 1));
        assert!(entry("a").is_stale(Some(&stale)));
        assert!(entry("\t1\ta").is_stale(Some(&stale)));
        assert!(!entry("\t2\ta").is_stale(Some(&stale)));
        assert!(!entry("a").is_stale(None));
        for bad in ["", "2", "2 ", "x 1", "2 1 "] {
            assert!(StaleEntries::read(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
