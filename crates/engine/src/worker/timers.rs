//! What a worker must remember to do later: time-outs and wake-ups.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use base::Instant;

/// In the place of a time: nothing runs.
const IDLE: Instant = Instant(i64::MIN);

/// What runs towards its time-out, the oldest first.
///
/// All time-outs of a trial are of one length, so the order in which they began is the order in
/// which they end: a list through the lanes, without a search and without a heap.
pub(super) struct Timeouts {
    /// The lanes' entries, and behind them the one where the list begins and ends.
    entries: Vec<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    since: Instant,
    older: u32,
    newer: u32,
}

impl Timeouts {
    pub(super) fn new(lanes: usize) -> Timeouts {
        let ends = lanes as u32;
        let entry = Entry { since: IDLE, older: ends, newer: ends };
        Timeouts { entries: vec![entry; lanes + 1] }
    }

    /// Starts a lane's time-out; `since` is not before that of any other.
    #[inline]
    pub(super) fn start(&mut self, lane: u32, since: Instant) {
        self.stop(lane);
        let ends = self.entries.len() as u32 - 1;
        let newest = std::mem::replace(&mut self.entries[ends as usize].older, lane);
        self.entries[newest as usize].newer = lane;
        self.entries[lane as usize] = Entry { since, older: newest, newer: ends };
    }

    /// Stops a lane's time-out, if it runs.
    #[inline]
    pub(super) fn stop(&mut self, lane: u32) {
        let Entry { since, older, newer } = self.entries[lane as usize];
        if since != IDLE {
            self.entries[older as usize].newer = newer;
            self.entries[newer as usize].older = older;
            self.entries[lane as usize].since = IDLE;
        }
    }

    /// The lane whose time-out began first, and when.
    pub(super) fn oldest(&self) -> Option<(u32, Instant)> {
        let lane = self.entries.last()?.newer;
        let since = self.entries[lane as usize].since;
        (since != IDLE).then_some((lane, since))
    }
}

/// When to look at which lane again; a lane that has nothing to do by then is looked at in vain.
pub(super) struct Wakes {
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
}

impl Wakes {
    pub(super) fn new(lanes: usize) -> Wakes {
        Wakes { heap: BinaryHeap::with_capacity(4 * lanes) }
    }

    pub(super) fn add(&mut self, at: Instant, lane: u32) {
        self.heap.push(Reverse((at, lane)));
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// A lane whose time has come.
    pub(super) fn pop(&mut self, now: Instant) -> Option<u32> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, lane))| lane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_outs_come_in_the_order_of_their_beginning() {
        let mut timeouts = Timeouts::new(4);
        for (lane, since) in [(2, 10), (0, 20), (3, 30), (1, 40)] {
            timeouts.start(lane, Instant(since));
        }
        timeouts.stop(0);
        timeouts.stop(0);
        timeouts.start(2, Instant(50));
        let mut order = Vec::new();
        while let Some((lane, since)) = timeouts.oldest() {
            order.push((lane, since.0));
            timeouts.stop(lane);
        }
        assert_eq!(order, [(3, 30), (1, 40), (2, 50)]);
    }

    #[test]
    fn wakes_come_in_order_of_time_and_not_before() {
        let mut wakes = Wakes::new(2);
        wakes.add(Instant(20), 1);
        wakes.add(Instant(10), 0);
        assert_eq!(wakes.pop(Instant(9)), None);
        assert_eq!(wakes.pop(Instant(30)), Some(0));
        assert_eq!(wakes.next(), Some(Instant(20)));
        assert_eq!(wakes.pop(Instant(30)), Some(1));
        assert_eq!(wakes.pop(Instant(30)), None);
    }
}
