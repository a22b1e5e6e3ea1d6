//! The recorded contract of each operation: all keys after it, and all messages.

mod document;
mod document_workers;
mod released;
mod released_workers;
