//! Seals the traits of handlers: their methods take a type that only this crate can name.

/// Only this crate can name it, so other crates cannot implement or call methods that take it.
#[derive(Debug, Clone, Copy)]
pub struct Seal;
