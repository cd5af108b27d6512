//! Units, the clock and seeded randomness: what every other crate may lean on.
//!
//! It is here so that time and chance are arguments everywhere else. Absent from it: I/O, threads,
//! protocols, statistics.

pub mod clock;
pub mod random;
pub mod units;

pub use units::{Instant, Nanos};
