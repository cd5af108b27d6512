//! The laws by which workloads choose one of `count` things, numbered from 0.
//!
//! Each is compiled once and sampled often; none keeps a table that grows with `count`, so that a
//! billion keys cost no more than ten.

use super::{Draws, Key};

/// Zipf's law: the k-th most frequent of `count` (k from 1) has weight k^−theta, exactly.
///
/// Rejection-inversion of W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", ACM TOMACS 6 (1996): no table, few draws rejected.
#[derive(Clone, Copy, Debug)]
pub struct Zipfian {
    count: f64,
    theta: f64,
    integral_first: f64,
    integral_last: f64,
    shortcut: f64,
}

impl Zipfian {
    /// The greatest `count` whose ranks are told apart in double precision.
    pub const MAX_COUNT: u64 = 1 << 53;

    /// The law over `count` ranks, 1 to [`Self::MAX_COUNT`], with exponent `theta` ≥ 0.
    pub fn new(count: u64, theta: f64) -> Zipfian {
        let mut law = Zipfian {
            count: count as f64,
            theta,
            integral_first: 0.0,
            integral_last: 0.0,
            shortcut: 0.0,
        };
        law.integral_first = law.integral(1.5) - 1.0;
        law.integral_last = law.integral(law.count + 0.5);
        law.shortcut = 2.0 - law.inverse(law.integral(2.5) - law.density(2.0));
        law
    }

    /// A rank, 0 being the most frequent.
    #[inline]
    pub fn sample(&self, draws: &mut Draws) -> u64 {
        loop {
            let u = self.integral_last + draws.unit() * (self.integral_first - self.integral_last);
            let x = self.inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, self.count);
            if k - x <= self.shortcut || u >= self.integral(k + 0.5) - self.density(k) {
                return k as u64 - 1;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// ∫₁ˣ t^−theta dt, without cancellation where theta is near 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let scaled = (1.0 - self.theta) * log;
        if scaled.abs() < 1e-8 {
            log * (1.0 + scaled / 2.0)
        } else {
            log * scaled.exp_m1() / scaled
        }
    }

    fn inverse(&self, y: f64) -> f64 {
        let scaled = (y * (1.0 - self.theta)).max(-1.0);
        if scaled.abs() < 1e-8 {
            (y * (1.0 - scaled / 2.0)).exp()
        } else {
            (y * scaled.ln_1p() / scaled).exp()
        }
    }
}

/// A keyed one-to-one map of 0 … `count` − 1 onto itself, to scatter frequent ranks over a range.
///
/// Rounds of shift-xor, odd multiplication and addition are one-to-one on the next power of two;
/// what falls outside is mapped again (cycle walking: J. Black, P. Rogaway, "Ciphers with arbitrary
/// finite domains", CT-RSA 2002), fewer than twice on average.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    count: u64,
    mask: u64,
    shift: u32,
    rounds: [[u64; 2]; 4],
}

impl Permutation {
    /// The map of `count` ≥ 1 numbers that `key` names.
    pub fn new(count: u64, key: Key) -> Permutation {
        let bits = (64 - (count - 1).leading_zeros()).max(1);
        let mask = u64::MAX >> (64 - bits);
        let rounds = [0, 1, 2, 3].map(|round| {
            let [multiplier, addend] = key.pair(0, round);
            [multiplier | 1, addend]
        });
        Permutation { count, mask, shift: bits.div_ceil(2), rounds }
    }

    /// Where `x` < count goes.
    #[inline]
    pub fn apply(&self, mut x: u64) -> u64 {
        loop {
            for [multiplier, addend] in self.rounds {
                x ^= x >> self.shift;
                x = x.wrapping_mul(multiplier).wrapping_add(addend) & self.mask;
            }
            if x < self.count {
                return x;
            }
        }
    }
}

/// A share of draws falls uniformly on the first part of the range, the others on the rest.
#[derive(Clone, Copy, Debug)]
pub struct Hotspot {
    count: u64,
    hot: u64,
    share: f64,
}

impl Hotspot {
    /// The first `set` (0 to 1, rounded to whole elements, at least one) of `count` gets `share`
    /// of the draws; where the hot part is everything, all are equally likely.
    pub fn new(count: u64, set: f64, share: f64) -> Hotspot {
        let hot = ((count as f64 * set).round() as u64).clamp(1, count);
        Hotspot { count, hot, share: if hot == count { 1.0 } else { share } }
    }

    /// A number below `count`.
    #[inline]
    pub fn sample(&self, draws: &mut Draws) -> u64 {
        if draws.unit() < self.share {
            draws.below(self.hot)
        } else {
            self.hot + draws.below(self.count - self.hot)
        }
    }
}

/// Exponentially falling over the range, cut off at its end.
#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    count: f64,
    decay: f64,
}

impl Exponential {
    /// Exactly `share` of the draws lie in the first `within` of the (continuous) range; needs
    /// 0 < `within` < `share` < 1.
    ///
    /// The density on [0, 1) is proportional to e^(−γx), with γ the root of
    /// (1 − e^(−γ·within)) / (1 − e^(−γ)) = share, found by bisection: the left side grows with γ.
    pub fn new(count: u64, share: f64, within: f64) -> Exponential {
        let reached = |decay: f64| (-decay * within).exp_m1() / (-decay).exp_m1();
        let (mut low, mut high) = (1e-9, 1.0);
        while reached(high) < share {
            high *= 2.0;
        }
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if reached(middle) < share { low = middle } else { high = middle }
        }
        Exponential { count: count as f64, decay: f64::midpoint(low, high) }
    }

    /// A number below `count`, by inversion.
    #[inline]
    pub fn sample(&self, draws: &mut Draws) -> u64 {
        let x = -(draws.unit() * (-self.decay).exp_m1()).ln_1p() / self.decay;
        ((x * self.count) as u64).min(self.count as u64 - 1)
    }
}

/// A choice by weight.
#[derive(Clone, Debug)]
pub struct Weights {
    upper: Vec<f64>,
}

impl Weights {
    /// One entry a weight; finite, none negative, at least one above zero.
    pub fn new(weights: &[f64]) -> Weights {
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let mut upper: Vec<f64> = weights
            .iter()
            .map(|weight| {
                sum += weight;
                sum / total
            })
            .collect();
        // Rounding must not leave a gap below 1, nor give it to an entry of weight zero.
        if let Some(last) = weights.iter().rposition(|&weight| weight > 0.0) {
            upper[last..].fill(1.0);
        }
        Weights { upper }
    }

    /// The index of the entry drawn; a single entry costs no draw.
    #[inline]
    pub fn sample(&self, draws: &mut Draws) -> usize {
        if self.upper.len() == 1 {
            return 0;
        }
        let u = draws.unit();
        self.upper.partition_point(|&upper| upper <= u)
    }
}
