//! The audit of the Redis store: each test damages keys; the audit finds and repairs the damage.

mod all_damage;
mod busy;
mod claims;
mod fixture;
mod groups;
mod jobs;
mod lists;
mod partitions;
mod random;
mod schedules;
mod stats;
mod tombstones;
