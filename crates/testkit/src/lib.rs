//! The promises every store must keep, as a library of tests.
//!
//! A store's test file says how to open it; the rest is here:
//!
//! ```
//! use std::sync::Arc;
//! use windlass_core::ManualClock;
//! use windlass_store_memory::MemoryStore;
//! use windlass_testkit::StoreUnderTest;
//!
//! async fn open(clock: Arc<ManualClock>) -> StoreUnderTest {
//!     StoreUnderTest::new(MemoryStore::new(clock))
//! }
//!
//! windlass_testkit::conformance!(open);
//! ```
//!
//! # Map
//!
//! In reading order: [`opened`] is a store under test; [`mod@fixture`] is where a case works;
//! [`mod@conformance`] holds the cases, one per promise; [`soundness`] says what is true of every queue
//! at every moment; [`whole`] walks what comes in pages; [`differential`] drives random verbs into a
//! store and into the specification, and compares; [`redis`] starts private Redis servers.

pub mod conformance;
pub mod differential;
pub mod fixture;
pub mod paging;
pub mod soundness;
pub mod store_under_test;

pub use fixture::Fixture;
pub use store_under_test::StoreUnderTest;
pub use windlass_private_redis as redis;
