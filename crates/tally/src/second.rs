//! What was counted of one second: the unit that workers hand over and the sink merges.

use std::ops::Range;

use hdrhistogram::Histogram;

use crate::counts::Counts;
use crate::layout::{Counters, Layout, Outcome, Series};
use crate::{GREATEST_NS, SLOTS_PER_SECOND};

const SLOTS: usize = SLOTS_PER_SECOND as usize;

/// Distinct error messages that are kept; the rest are counted under `other`.
pub(crate) const MESSAGES: usize = 16;
/// Bytes of an error's message that are kept.
pub(crate) const MESSAGE_BYTES: usize = 160;

/// An empty histogram with the range and precision of Measurements.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, GREATEST_NS, 3).expect("the bounds are in order")
}

/// Counters of ten slots for each series and worker, and histograms for each series.
pub(crate) struct Second {
    /// Seconds from the trial's origin to its beginning.
    pub number: i64,
    /// When it was last switched to, as its recorder counts.
    pub used: u64,
    series: usize,
    counters: Box<[Counters]>,
    lengths: Box<[Counts]>,
    pub errors: Errors,
}

impl Second {
    /// Room for everything the layout names and for the work of some workers.
    pub fn new(layout: &Layout, workers: usize) -> Second {
        Second {
            number: 0,
            used: 0,
            series: layout.len(),
            counters: vec![Counters::default(); (layout.len() + workers) * SLOTS].into(),
            lengths: (0..layout.histograms()).map(|_| Counts::new()).collect(),
            errors: Errors::new(),
        }
    }

    /// The counters of a series in the slot, 0 to 9, of this second.
    #[inline]
    pub fn series(&mut self, series: Series, slot: usize) -> &mut Counters {
        &mut self.counters[usize::from(series.0) * SLOTS + slot]
    }

    /// The counters of a worker in the slot, 0 to 9, of this second.
    #[inline]
    pub fn worker(&mut self, worker: usize, slot: usize) -> &mut Counters {
        &mut self.counters[(self.series + worker) * SLOTS + slot]
    }

    pub fn series_slots(&self, series: Series) -> &[Counters] {
        &self.counters[usize::from(series.0) * SLOTS..][..SLOTS]
    }

    pub fn worker_slots(&self, worker: usize) -> &[Counters] {
        &self.counters[(self.series + worker) * SLOTS..][..SLOTS]
    }

    /// What was counted for the histogram of this index in the layout.
    pub fn lengths(&self, index: usize) -> &Counts {
        &self.lengths[index]
    }

    /// The counters of a series in the slot, 0 to 9, of this second, and what is counted for its
    /// histograms in the layout.
    #[inline]
    pub fn all_of(
        &mut self,
        series: Series,
        slot: usize,
        histograms: Range<usize>,
    ) -> (&mut Counters, &mut [Counts]) {
        let counters = &mut self.counters[usize::from(series.0) * SLOTS + slot];
        (counters, &mut self.lengths[histograms])
    }

    /// Merges in what a recorder, which knows itself alone, counted as worker `worker`.
    pub fn absorb(&mut self, other: &Second, worker: usize) {
        let of_series = self.series * SLOTS;
        for (mine, theirs) in self.counters.iter_mut().zip(&other.counters[..of_series]) {
            mine.absorb(theirs);
        }
        for (slot, theirs) in other.worker_slots(0).iter().enumerate() {
            self.worker(worker, slot).absorb(theirs);
        }
        for (mine, theirs) in self.lengths.iter_mut().zip(&other.lengths) {
            mine.absorb(theirs);
        }
        self.errors.absorb(&other.errors);
    }

    /// Makes it as new without giving memory back.
    pub fn clear(&mut self) {
        self.counters.fill(Counters::default());
        self.lengths.iter_mut().for_each(Counts::clear);
        self.errors.clear();
    }
}

/// A bounded table of what went wrong, in fixed memory.
#[derive(Clone)]
pub(crate) struct Errors {
    pub known: Vec<ErrorCount>,
    /// Errors that found no room.
    pub other: u64,
}

/// How often one thing went wrong.
#[derive(Clone)]
pub(crate) struct ErrorCount {
    pub operation: Series,
    pub outcome: Outcome,
    pub count: u64,
    length: u8,
    message: [u8; MESSAGE_BYTES],
}

impl ErrorCount {
    pub fn message(&self) -> &str {
        std::str::from_utf8(&self.message[..usize::from(self.length)]).expect("cut at a boundary")
    }
}

impl Errors {
    pub fn new() -> Errors {
        Errors { known: Vec::with_capacity(MESSAGES), other: 0 }
    }

    pub fn count(&mut self, operation: Series, outcome: Outcome, message: &str, count: u64) {
        let kept = cut(message);
        let known = self.known.iter_mut().find(|error| {
            error.operation == operation && error.outcome == outcome && error.message() == kept
        });
        if let Some(error) = known {
            error.count += count;
        } else if self.known.len() < MESSAGES {
            let mut bytes = [0; MESSAGE_BYTES];
            bytes[..kept.len()].copy_from_slice(kept.as_bytes());
            self.known.push(ErrorCount {
                operation,
                outcome,
                count,
                length: kept.len() as u8,
                message: bytes,
            });
        } else {
            self.other += count;
        }
    }

    pub fn absorb(&mut self, other: &Errors) {
        for error in &other.known {
            self.count(error.operation, error.outcome, error.message(), error.count);
        }
        self.other += other.other;
    }

    pub fn clear(&mut self) {
        self.known.clear();
        self.other = 0;
    }
}

/// The message's beginning that has room in the table.
fn cut(message: &str) -> &str {
    let whole = |&end: &usize| message.is_char_boundary(end);
    let end = (0..=message.len().min(MESSAGE_BYTES)).rev().find(whole);
    &message[..end.unwrap_or(0)]
}
