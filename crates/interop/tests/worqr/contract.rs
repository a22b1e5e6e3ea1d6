//! The recorded contract, operation by operation: every key there is after it, and every message.

mod document;
mod document_workers;
mod released;
mod released_workers;
