//! What seals the traits of handlers: their methods ask for something that only this crate can name.

/// Only this crate can name it, so nobody else can implement or call what asks for it.
#[derive(Debug, Clone, Copy)]
pub struct Seal;
