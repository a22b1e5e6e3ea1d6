//! The jobs of these tests.

use serde::{Deserialize, Serialize};
use windlass::TypedJob;

/// Adds two numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TypedJob)]
#[job(kind = "sum.add", queue = "sums", output = u64)]
pub(crate) struct Add(pub u64, pub u64);

/// Returns no result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TypedJob)]
#[job(kind = "note.write")]
pub(crate) struct Note {
    pub text: String,
}

impl Note {
    pub(crate) fn new(text: &str) -> Self {
        let text = text.to_owned();
        Self { text }
    }
}
