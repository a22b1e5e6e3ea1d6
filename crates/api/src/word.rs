//! Fixed words in replies, such as states and outcomes. A client that reads them keeps each one once.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::de::{Deserialize, Deserializer, Error};

/// A word from a fixed set.
pub type Word = &'static str;

/// How many different words a process keeps. All replies together have fewer, so more are an error of
/// the server.
const WORDS_MAX: usize = 256;

/// The longest word.
const WORD_BYTES_MAX: usize = 64;

static WORDS: Mutex<BTreeSet<Word>> = Mutex::new(BTreeSet::new());

/// Deserializes a word.
pub(crate) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Word, D::Error> {
    let text = String::deserialize(from)?;
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(text.as_str()) {
        return Ok(known);
    }
    if text.len() > WORD_BYTES_MAX || words.len() == WORDS_MAX {
        return Err(D::Error::custom("unknown word"));
    }
    let word: Word = Box::leak(text.into_boxed_str());
    words.insert(word);
    Ok(word)
}

/// Deserializes an optional word.
pub(crate) fn read_optional<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Word>, D::Error> {
    #[derive(serde::Deserialize)]
    struct Wrapped(#[serde(deserialize_with = "read")] Word);
    Ok(Option::<Wrapped>::deserialize(from)?.map(|word| word.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_kept_once_and_a_long_text_is_rejected() {
        let read = |text: &str| read(&mut serde_json::Deserializer::from_str(text)).ok();
        let (one, other) = (read("\"ready\"").unwrap(), read("\"ready\"").unwrap());
        assert!(std::ptr::eq(one, other));
        assert_eq!(
            read(&format!("\"{}\"", "x".repeat(WORD_BYTES_MAX + 1))),
            None
        );
    }
}
