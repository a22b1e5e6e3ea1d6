//! Entries of ready lists, and the ghosts among them: entries whose job has left the list.

use windlass_core::{JobId, Result};

use super::{damaged, job_id, number, text};

/// An entry of a ready list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: JobId,
    /// Above 0 where an older entry of the same id may still stand.
    pub(crate) generation: u64,
}

impl Entry {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const PART: &str = "entry of a ready list";
        let Some(rest) = bytes.strip_prefix(b"\t") else {
            return Ok(Self {
                id: job_id(PART, bytes)?,
                generation: 0,
            });
        };
        let (generation, id) = text(PART, rest)?
            .split_once('\t')
            .ok_or_else(|| damaged(PART, "it has no id"))?;
        Ok(Self {
            id: job_id(PART, id.as_bytes())?,
            generation: number(PART, generation)?,
        })
    }

    /// Whether the job it names has left the list since.
    pub(crate) fn is_stale(&self, ghost: Option<&Ghost>) -> bool {
        ghost.is_some_and(|ghost| self.generation <= ghost.generation)
    }
}

/// The stale entries of one id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ghost {
    /// How many still stand in lists.
    pub(crate) count: u64,
    /// The highest stale generation.
    pub(crate) generation: u64,
}

impl Ghost {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const PART: &str = "ghost";
        let (count, generation) = text(PART, bytes)?
            .split_once(' ')
            .ok_or_else(|| damaged(PART, "a part of it is missing"))?;
        Ok(Self {
            count: number(PART, count)?,
            generation: number(PART, generation)?,
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
    fn an_entry_is_stale_up_to_the_generation_of_its_ghost() {
        let ghost = Ghost::read(b"2 1").unwrap();
        assert_eq!((ghost.count, ghost.generation), (2, 1));
        assert!(entry("a").is_stale(Some(&ghost)));
        assert!(entry("\t1\ta").is_stale(Some(&ghost)));
        assert!(!entry("\t2\ta").is_stale(Some(&ghost)));
        assert!(!entry("a").is_stale(None));
        for bad in ["", "2", "2 ", "x 1", "2 1 "] {
            assert!(Ghost::read(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
