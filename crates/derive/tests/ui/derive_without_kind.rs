//! A typed job without a kind.

use serde::{Deserialize, Serialize};
use windlass::TypedJob;

#[derive(Serialize, Deserialize, TypedJob)]
struct Mail;

fn main() {}
