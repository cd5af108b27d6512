//! The intake of an open schedule: what came due, and what of it nobody has taken up yet.
//!
//! Transactions that wait for a connection are not stored: they are the stretch between two cursors
//! of one seeded schedule, so that memory does not grow with the backlog.

use std::collections::VecDeque;

use base::{Instant, Nanos};

use crate::schedule::OpenSchedule;

/// How many stretches of equal lag are remembered before neighbours are merged.
const STRETCHES: usize = 16 * 1024;

/// A transaction that came due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// Its ordinal in the worker's share.
    pub n: u64,
    pub intended: Instant,
    pub ready: Instant,
}

/// The intake of one worker.
pub(super) struct Arrivals {
    coming: OpenSchedule,
    noticed: u64,
    waiting: OpenSchedule,
    taken: u64,
    lags: Lags,
    /// The last intended time, once there will be no other.
    exhausted: Option<Instant>,
}

impl Arrivals {
    pub(super) fn new(schedule: OpenSchedule, start: Instant) -> Arrivals {
        let exhausted = schedule.peek().is_none().then_some(start);
        let (coming, waiting) = (schedule.clone(), schedule);
        Arrivals { coming, noticed: 0, waiting, taken: 0, lags: Lags::new(), exhausted }
    }

    /// When the next transaction comes due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.coming.peek()
    }

    /// Notices a transaction that has come due by `now`: its ordinal and intended time.
    pub(super) fn notice(&mut self, now: Instant) -> Option<(u64, Instant)> {
        let intended = self.coming.peek().filter(|&at| at <= now)?;
        self.coming.next();
        if self.coming.peek().is_none() {
            self.exhausted = Some(intended);
        }
        self.lags.add(now.since(intended));
        self.noticed += 1;
        Some((self.noticed - 1, intended))
    }

    /// Takes up the transaction that has waited longest.
    pub(super) fn take(&mut self) -> Option<Due> {
        if self.is_idle() {
            return None;
        }
        let intended = self.waiting.next()?;
        let n = self.taken;
        self.taken += 1;
        Some(Due { n, intended, ready: intended + self.lags.take() })
    }

    /// Whether nothing waits.
    pub(super) fn is_idle(&self) -> bool {
        self.taken == self.noticed
    }

    /// The last intended time, once there will be no other.
    pub(super) fn exhausted(&self) -> Option<Instant> {
        self.exhausted
    }
}

/// How late the waiting transactions were noticed, in their order.
///
/// Exact until [`STRETCHES`] of them differ; then neighbours share the greater of their lags, so a
/// lag is overstated by at most its difference from its neighbours', and never understated.
struct Lags {
    stretches: VecDeque<(u64, Nanos)>,
}

impl Lags {
    fn new() -> Lags {
        Lags { stretches: VecDeque::with_capacity(STRETCHES) }
    }

    fn add(&mut self, lag: Nanos) {
        if let Some((count, last)) = self.stretches.back_mut()
            && *last == lag
        {
            *count += 1;
            return;
        }
        if self.stretches.len() == STRETCHES {
            self.merge();
        }
        self.stretches.push_back((1, lag));
    }

    fn merge(&mut self) {
        for pair in 0..STRETCHES / 2 {
            let (first, second) = (self.stretches[2 * pair], self.stretches[2 * pair + 1]);
            self.stretches[pair] = (first.0 + second.0, first.1.max(second.1));
        }
        self.stretches.truncate(STRETCHES / 2);
    }

    fn take(&mut self) -> Nanos {
        let Some((count, lag)) = self.stretches.front_mut() else { return Nanos(0) };
        let lag = *lag;
        *count -= 1;
        if *count == 0 {
            self.stretches.pop_front();
        }
        lag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lags_are_exact_while_they_fit() {
        let mut lags = Lags::new();
        let given: Vec<u64> = (0..STRETCHES as u64).map(|k| k / 2 * 7 % 100).collect();
        for &lag in &given {
            lags.add(Nanos(lag));
        }
        let taken: Vec<u64> = given.iter().map(|_| lags.take().0).collect();
        assert_eq!(taken, given);
    }

    #[test]
    fn a_long_backlog_takes_no_more_room_and_understates_no_lag() {
        let mut lags = Lags::new();
        let room = lags.stretches.capacity();
        let given: Vec<u64> = (0..20 * STRETCHES as u64).map(|k| k * 7919 % 1000).collect();
        for &lag in &given {
            lags.add(Nanos(lag));
        }
        assert_eq!(lags.stretches.capacity(), room);
        assert!(given.iter().all(|&lag| lags.take().0 >= lag));
        assert!(lags.stretches.is_empty());
    }
}
