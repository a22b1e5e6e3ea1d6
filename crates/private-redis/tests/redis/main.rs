//! Private Redis servers do what they say: they start, die, come back, fail over, move slots.

mod cluster;
mod sentinels;
mod single;
mod steps;
