//! Blueque: our promises on its keys, beside the real client and without it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod clean;
mod document;
mod fleet;
mod listening;
mod orphans;
mod peer;
mod place;
mod real;
mod soundness;
mod steps;
mod tasks;
