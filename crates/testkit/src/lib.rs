//! A conformance suite and a differential test for stores.
//!
//! The test file of a store defines how to open it:
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
//! In reading order: [`store_under_test`] is an open store; [`mod@fixture`] is the set-up of a case;
//! [`mod@conformance`] has the cases, one per promise; [`soundness`] checks the invariants of a queue;
//! [`paging`] reads all pages of a reply; [`differential`] runs random operations on a store and on the
//! specification, and compares them; [`redis`] starts private Redis servers; [`transcript`] compares
//! replies with written ones.

pub mod conformance;
pub mod differential;
pub mod fixture;
pub mod paging;
pub mod redis;
pub mod soundness;
pub mod store_under_test;
pub mod transcript;

pub use fixture::Fixture;
pub use store_under_test::StoreUnderTest;
