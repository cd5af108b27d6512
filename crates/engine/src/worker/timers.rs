//! What a worker must remember to do later: time-outs and wake-ups.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use base::Instant;

const NONE: u32 = u32::MAX;

/// What runs towards its time-out, the oldest first.
///
/// All time-outs of a trial are of one length, so the order in which they began is the order in
/// which they end: a list through the lanes, without a search and without a heap.
pub(super) struct Timeouts {
    entries: Vec<Entry>,
    oldest: u32,
    newest: u32,
}

#[derive(Clone, Copy)]
struct Entry {
    older: u32,
    newer: u32,
    since: Option<Instant>,
}

impl Timeouts {
    pub(super) fn new(lanes: usize) -> Timeouts {
        let entry = Entry { older: NONE, newer: NONE, since: None };
        Timeouts { entries: vec![entry; lanes], oldest: NONE, newest: NONE }
    }

    /// Starts a lane's time-out; `since` is not before that of any other.
    pub(super) fn start(&mut self, lane: u32, since: Instant) {
        self.stop(lane);
        self.entries[lane as usize] = Entry { older: self.newest, newer: NONE, since: Some(since) };
        match self.newest {
            NONE => self.oldest = lane,
            newest => self.entries[newest as usize].newer = lane,
        }
        self.newest = lane;
    }

    /// Stops a lane's time-out, if it runs.
    pub(super) fn stop(&mut self, lane: u32) {
        let entry = &mut self.entries[lane as usize];
        if entry.since.take().is_none() {
            return;
        }
        let Entry { older, newer, .. } = *entry;
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
    }

    /// The lane whose time-out began first, and when.
    pub(super) fn oldest(&self) -> Option<(u32, Instant)> {
        let entry = self.entries.get(self.oldest as usize)?;
        Some((self.oldest, entry.since?))
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
