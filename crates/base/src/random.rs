//! Seeded, counter-based random numbers and the distributions workloads and schedules draw from.
//!
//! A draw is a pure function of (seed, stream name, client, n, index): nothing has to be remembered
//! to draw again what client 7 was given in its 1,000,000th transaction, and changing how often one
//! stream is drawn from leaves the others alone. Absent: the system's entropy; nothing here is fit
//! for secrets.

mod law;

pub use law::{Exponential, Hotspot, Permutation, Weights, Zipfian};

const MULTIPLIER: u64 = 0xD2B7_4407_B1CE_6E93;
const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;

/// Philox 2×64 with 10 rounds: 128 bits of counter and 64 of key to 128 random bits.
///
/// J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2,
/// 3", SC 2011; this variant passes `BigCrush` there.
pub const fn philox(counter: [u64; 2], key: u64) -> [u64; 2] {
    let [mut left, mut right] = counter;
    let mut key = key;
    let mut round = 0;
    while round < 10 {
        let product = MULTIPLIER as u128 * left as u128;
        left = (product >> 64) as u64 ^ key ^ right;
        right = product as u64;
        key = key.wrapping_add(WEYL);
        round += 1;
    }
    [left, right]
}

/// A named stream of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// The stream called `name` of `seed`.
    pub fn new(seed: u64, name: &str) -> Key {
        Key(philox([hash(name.as_bytes()), name.len() as u64], seed)[0])
    }

    /// The draws of `client` for its `n`th transaction.
    pub const fn draws(self, client: u32, n: u64) -> Draws {
        Draws { key: self.0, n, index: (client as u64) << 32, spare: 0, has_spare: false }
    }

    /// Two words of the stream `key`, as a function of `n` and `index` alone; `index` counts pairs.
    pub const fn pair(self, n: u64, index: u32) -> [u64; 2] {
        philox([n, index as u64], self.0)
    }
}

/// FNV-1a over 64 bits (Fowler, Noll, Vo): turns names and textual keys into counters.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |state, &byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// The random numbers of one (stream, client, n), in order.
#[derive(Clone, Debug)]
pub struct Draws {
    key: u64,
    n: u64,
    index: u64,
    spare: u64,
    has_spare: bool,
}

impl Draws {
    /// The next 64 random bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        if self.has_spare {
            self.has_spare = false;
            return self.spare;
        }
        let [first, second] = philox([self.n, self.index], self.key);
        self.index += 1;
        self.spare = second;
        self.has_spare = true;
        first
    }

    /// A whole number from 0 to `bound` − 1, all exactly equally likely; 0 when `bound` is 0.
    ///
    /// D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.word()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.word()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// A whole number from `low` to `high`, both included, all exactly equally likely.
    #[inline]
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = high.wrapping_sub(low) as u64;
        let offset = if span == u64::MAX { self.word() } else { self.below(span + 1) };
        low.wrapping_add(offset as i64)
    }

    /// A multiple of 2⁻⁵³ in [0, 1), all equally likely.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Exponentially distributed with mean 1, by inversion: the gap of a Poisson process of rate 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        // 1 − u lies in (0, 1], so that the logarithm is finite.
        -(1.0 - self.unit()).ln()
    }
}

#[cfg(test)]
mod tests;
