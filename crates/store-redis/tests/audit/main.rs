//! The deep clean of the Redis store: each fault is planted by hand, found, mended, and gone.

mod at_once;
mod busy;
mod chance;
mod claims;
mod figures;
mod jobs;
mod lists;
mod parts;
mod site;
