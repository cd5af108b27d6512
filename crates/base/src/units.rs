//! Quantities with their unit in the type.

use std::ops::{Add, Sub};

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// One second.
    pub const SECOND: Nanos = Nanos(1_000_000_000);
    /// One millisecond.
    pub const MILLISECOND: Nanos = Nanos(1_000_000);

    /// The length in seconds.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// A point in time: nanoseconds since the trial's origin, the instant its measured part begins.
/// Negative during warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub i64);

impl Instant {
    /// The length from `earlier` to here; zero when `earlier` is later.
    pub fn since(self, earlier: Instant) -> Nanos {
        Nanos(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

impl Add<Nanos> for Instant {
    type Output = Instant;
    fn add(self, length: Nanos) -> Instant {
        Instant(self.0 + length.0 as i64)
    }
}

impl Sub<Nanos> for Instant {
    type Output = Instant;
    fn sub(self, length: Nanos) -> Instant {
        Instant(self.0 - length.0 as i64)
    }
}
