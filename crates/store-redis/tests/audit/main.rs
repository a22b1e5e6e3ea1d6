//! The deep clean of the Redis store: each fault is planted by hand, found, mended, and gone.

mod all_faults;
mod busy;
mod claims;
mod fixture;
mod jobs;
mod lists;
mod partitions;
mod random;
mod stats;
