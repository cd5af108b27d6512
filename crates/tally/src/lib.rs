//! What was counted: counters each 100 ms, histograms each second, and the Measurement they become.
//!
//! It is here so that every driver, worker and agent counts in one way and so that a trial leaves
//! one record, which can be read while it grows, after a crash and long after. Workers count into a
//! [`Recorder`], a [`Sink`] writes what they counted, a [`Measurement`] reads it, [`seal`] closes
//! it. Absent from it: protocols, schedules, clocks and statistics; nothing here knows what a
//! figure means.

mod counts;
mod format;
mod frames;
mod layout;
mod lengths;
mod measurement;
mod recorder;
mod seal;
mod second;
mod sink;

pub use layout::{Counter, Counters, Field, Kind, Layout, Outcome, Series, Times};
pub use lengths::{Histogram, decode, empty, encode};
pub use measurement::{Event, Measurement, Part, open_parts};
pub use recorder::Recorder;
pub use seal::{Sealed, seal};
pub use sink::{Options, Progress, SharedBytes, Sink};

/// Length of the slots in which counters are kept, in nanoseconds.
pub const SLOT_NS: i64 = 100_000_000;
/// Slots in a second, the stretch for which histograms are kept.
pub const SLOTS_PER_SECOND: i64 = 10;
/// The greatest value a histogram tells apart, in nanoseconds: an hour. Longer ones count as this.
pub const GREATEST_NS: u64 = 3_600_000_000_000;

/// Why a Measurement could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TallyError {
    /// The operating system refused.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// What it said.
        source: std::io::Error,
    },
    /// The bytes are not a Measurement.
    #[error("not a Measurement: {0}")]
    Foreign(String),
    /// A histogram inside cannot be decoded, or its range is not the one Measurements have.
    #[error("damaged histogram: {0}")]
    Histogram(String),
}

impl TallyError {
    /// The same about a file.
    fn about(self, path: &std::path::Path) -> TallyError {
        match self {
            TallyError::Foreign(what) => {
                TallyError::Foreign(format!("{} ({what})", path.display()))
            }
            other => other,
        }
    }
}
