//! The machine's monotonic clock, read relative to a trial's origin.

use crate::units::Instant;

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic_ns() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of the wall clock since 1970.
pub fn wall_ns() -> i64 {
    read(libc::CLOCK_REALTIME)
}

/// CPU time the calling thread has used, in nanoseconds.
pub fn thread_cpu_ns() -> i64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(id: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec and the three clocks read here always exist.
    let status = unsafe { libc::clock_gettime(id, &raw mut time) };
    assert_eq!(status, 0, "clock_gettime failed");
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// A monotonic clock whose zero is a trial's origin.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// `CLOCK_MONOTONIC` at the origin, in nanoseconds.
    pub origin_monotonic_ns: i64,
}

impl Clock {
    /// The time now, relative to the origin.
    pub fn now(self) -> Instant {
        Instant(monotonic_ns() - self.origin_monotonic_ns)
    }
}
