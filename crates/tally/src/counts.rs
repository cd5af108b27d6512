//! How often lengths were seen, in the buckets of Measurements' histograms.
//!
//! Counting a length is all that is done of it while a trial runs, several times a transaction; so
//! a bucket is found by a shift, and what else a histogram knows is made up once a second. Absent:
//! quantiles and the encoding, for which [`Counts::fill`] makes a histogram.

use std::ops::Range;

use hdrhistogram::Histogram;

use crate::GREATEST_NS;

/// Buckets to each power of two, above the first: what three significant digits take.
const HALF: usize = 1 << HALF_BITS;
const HALF_BITS: u32 = 10;
/// The first page holds the lengths below `HALF`, each other one those of a power of two.
const PAGES: usize = (u64::BITS - (GREATEST_NS >> HALF_BITS).leading_zeros()) as usize + 1;

/// Where the greatest length and all beyond it are counted.
const LAST: usize = bucket(GREATEST_NS);

/// Where a length is counted.
#[inline]
const fn bucket(length_ns: u64) -> usize {
    // Shifted, a length has its highest bit where `HALF` has its own, or is less than that.
    let shift = u64::BITS - 1 - HALF_BITS - (length_ns | HALF as u64).leading_zeros();
    shift as usize * HALF + (length_ns >> shift) as usize
}

/// How often each length was seen.
pub(crate) struct Counts {
    buckets: Box<[u32; PAGES * HALF]>,
    /// The pages that are not all zero, a bit each.
    used: u64,
}

impl Counts {
    pub fn new() -> Counts {
        // Zeros come from the system as they are: only what is counted in takes up memory.
        let buckets = vec![0; PAGES * HALF].into_boxed_slice();
        Counts { buckets: buckets.try_into().expect("so many were made"), used: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Counts so many of a length, in nanoseconds; shorter and longer ones than there are count as
    /// those.
    #[inline]
    pub fn record(&mut self, length_ns: u64, count: u32) {
        let bucket = bucket(length_ns).min(LAST);
        let seen = &mut self.buckets[bucket];
        *seen = seen.saturating_add(count);
        self.used |= 1 << (bucket / HALF);
    }

    /// Adds what another counted.
    pub fn absorb(&mut self, other: &Counts) {
        for page in pages(other.used).map(places) {
            let theirs = &other.buckets[page.clone()];
            for (mine, theirs) in self.buckets[page].iter_mut().zip(theirs) {
                *mine = mine.saturating_add(*theirs);
            }
        }
        self.used |= other.used;
    }

    /// Counts nothing any more.
    pub fn clear(&mut self) {
        for page in pages(std::mem::take(&mut self.used)) {
            self.buckets[places(page)].fill(0);
        }
    }

    /// Adds what was counted to a histogram of Measurements.
    pub fn fill(&self, histogram: &mut Histogram<u64>) {
        for page in pages(self.used) {
            // The first two pages tell every nanosecond from the next.
            let shift = page.saturating_sub(1);
            let counts = self.buckets[places(page)].iter().enumerate();
            for (place, &count) in counts.filter(|(_, count)| **count > 0) {
                let least = if page == 0 { place } else { (HALF + place) << shift };
                let recorded = histogram.record_n(least.max(1) as u64, u64::from(count));
                recorded.expect("all histograms have one range");
            }
        }
    }
}

/// Where the buckets of a page stand.
fn places(page: usize) -> Range<usize> {
    page * HALF..(page + 1) * HALF
}

/// The numbers of the pages whose bits are set.
fn pages(used: u64) -> impl Iterator<Item = usize> {
    (0..PAGES).filter(move |page| used & (1 << page) != 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::second::histogram;

    fn histogram_of(lengths: &[u64]) -> Histogram<u64> {
        let mut histogram = histogram();
        for &length in lengths {
            histogram.saturating_record(length.clamp(1, GREATEST_NS));
        }
        histogram
    }

    /// Lengths of every order of magnitude, and those at the edges of buckets.
    fn length() -> impl Strategy<Value = u64> {
        let near = |(bits, off): (u32, i64)| (1u64 << bits).saturating_add_signed(off);
        prop_oneof![
            (0..64u32, -3..4i64).prop_map(near),
            (0..64u32, any::<u64>()).prop_map(|(shift, length)| length >> shift),
            Just(GREATEST_NS),
        ]
    }

    proptest! {
        #[test]
        fn lengths_are_counted_as_a_histogram_counts_them(
            lengths in prop::collection::vec(length(), 0..200),
            parts in 1usize..4,
        ) {
            let mut all = Counts::new();
            let mut part = Counts::new();
            for lengths in lengths.chunks(lengths.len().div_ceil(parts).max(1)) {
                part.clear();
                for &length in lengths {
                    part.record(length, 1);
                }
                all.absorb(&part);
            }
            let mut filled = histogram();
            all.fill(&mut filled);
            prop_assert_eq!(&filled, &histogram_of(&lengths));
            prop_assert_eq!(all.is_empty(), lengths.is_empty());
            all.clear();
            prop_assert!(all.is_empty() && all.buckets.iter().all(|&count| count == 0));
        }
    }
}
