//! A worker's counting: in memory of its own, handed over once a second.
//!
//! What belongs to a second is counted in that second's buffer; several are live at once when
//! answers come late. At each second's edge all live buffers go to the sink, whatever they hold,
//! and clean ones come back; since rows are increments, a second may be handed over several times.
//! A recorder that needs one buffer more than it has hands the least recently used one over early.
//! So memory is bounded, nothing is lost, and between edges there is no allocation, lock or system
//! call.

use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};

use base::{Instant, Nanos};

use crate::layout::{Counter, Layout, Outcome, Series, Times};
use crate::second::Second;
use crate::sink::{Edge, Message, Writer};
use crate::{SLOT_NS, SLOTS_PER_SECOND};

const SECOND_NS: i64 = SLOT_NS * SLOTS_PER_SECOND;
/// Before all that is counted.
const NEVER: Instant = Instant(i64::MIN);

/// Buffers of a recorder: two for the present second and the last, two while the writer has theirs,
/// and one for each second that a time-out spans. Above eight the early hand-over is cheaper than
/// memory.
pub(crate) fn pool_size(timeout: Nanos) -> usize {
    let spanned = timeout.0.div_ceil(Nanos::SECOND.0);
    (4 + spanned).min(8) as usize
}

/// How buffers reach the sink and come back.
pub(crate) enum Port {
    /// Through the writer's thread. Both channels have room for every buffer there is, so sending
    /// never blocks.
    Thread { full: SyncSender<Message>, clean: Receiver<Second> },
    /// At once, on this thread.
    Direct(Arc<Mutex<Writer>>),
}

/// What ended one after another with the same times and outcome, as requests do that leave and are
/// answered together; they are counted at once.
#[derive(Clone, Copy)]
struct Alike {
    times: Times,
    outcome: Outcome,
    count: u32,
    /// Bytes, out and in.
    moved: (u64, u64),
}

impl Alike {
    const NONE: Alike = Alike {
        times: Times { intended: NEVER, ready: NEVER, sent: NEVER, done: NEVER },
        outcome: Outcome::Ok,
        count: 0,
        moved: (0, 0),
    };
}

/// A worker's counting: preallocated, no allocation, lock or system call except at the hand-over.
///
/// Instants may come in any order, except that `in_flight` and `worked` go forward in time.
pub struct Recorder {
    worker: usize,
    layout: Arc<Layout>,
    live: Vec<Second>,
    spare: Vec<Second>,
    /// The buffer that was last looked up.
    recent: usize,
    /// By series: what ended last, and is still to be counted.
    alike: Box<[Alike]>,
    /// The beginning of the slot that was last looked up, and its number in the recent buffer's
    /// second. Nearly all instants fall into it.
    slot_begins: Instant,
    slot: usize,
    uses: u64,
    port: Port,
    /// The second in which the last hand-over took place.
    open: i64,
    /// When the next hand-over is due.
    edge: Instant,
    flying: i64,
    flying_since: Instant,
    cpu_clock: Option<fn() -> Nanos>,
    cpu_read: Option<Nanos>,
}

impl Recorder {
    pub(crate) fn new(
        worker: usize,
        layout: Arc<Layout>,
        buffers: usize,
        port: Port,
        cpu_clock: Option<fn() -> Nanos>,
    ) -> Recorder {
        Recorder {
            worker,
            alike: vec![Alike::NONE; layout.len()].into(),
            live: Vec::with_capacity(buffers),
            spare: (0..buffers).map(|_| Second::new(&layout, 1)).collect(),
            layout,
            recent: 0,
            slot_begins: NEVER,
            slot: 0,
            uses: 0,
            port,
            open: i64::MIN,
            edge: NEVER,
            flying: 0,
            flying_since: NEVER,
            cpu_clock,
            cpu_read: None,
        }
    }

    /// A transaction came due; or an operation is sent for a transaction intended at `intended`.
    #[inline]
    pub fn due(&mut self, series: Series, intended: Instant) {
        let (second, slot) = self.at(intended);
        second.series(series, slot)[Counter::Due] += 1;
    }

    /// A transaction or an operation ended.
    ///
    /// Its outcome and lengths belong to the slot of `times.intended`, its completion to that of
    /// `times.done`, as do the bytes that were moved for it, out and in. An operation has `service`
    /// alone.
    #[inline]
    pub fn ended(&mut self, series: Series, times: &Times, outcome: Outcome, moved: (u64, u64)) {
        let alike = &mut self.alike[usize::from(series.0)];
        if alike.times == *times && alike.outcome == outcome {
            alike.count += 1;
            alike.moved.0 += moved.0;
            alike.moved.1 += moved.1;
        } else {
            let begun = Alike { times: *times, outcome, count: 1, moved };
            let before = std::mem::replace(alike, begun);
            self.count(series, &before);
        }
    }

    /// Counts what ended alike.
    fn count(&mut self, series: Series, &Alike { times, outcome, count, moved }: &Alike) {
        if count == 0 {
            return;
        }
        let service = times.done.since(times.sent).0;
        let histograms = self.layout.histograms_of(series);
        let (second, slot) = self.at(times.intended);
        let (counters, lengths) = second.all_of(series, slot, histograms);
        counters[outcome.counter()] += u64::from(count);
        let ok = outcome == Outcome::Ok;
        let mut response = service;
        // They stand in the order of `Kind::fields`.
        if let [responses, _, waits, lags] = lengths {
            response = times.done.since(times.intended).0;
            let lag = times.ready.since(times.intended).0;
            counters.raise(Counter::MaxLag, lag);
            lags.record(lag, count);
            if ok {
                responses.record(response, count);
                waits.record(times.sent.since(times.ready).0, count);
            }
        }
        if ok {
            counters.raise(Counter::MaxResponse, response);
            counters.raise(Counter::MaxService, service);
            if let [services] | [_, services, _, _] = lengths {
                services.record(service, count);
            }
        }
        let (second, slot) = self.at(times.done);
        let counters = second.series(series, slot);
        counters[Counter::Completed] += if ok { u64::from(count) } else { 0 };
        counters[Counter::BytesOut] += moved.0;
        counters[Counter::BytesIn] += moved.1;
    }

    /// The number of transactions sent and not done changed at `now`.
    #[inline]
    pub fn in_flight(&mut self, now: Instant, change: i32) {
        if now > self.flying_since {
            self.fly(now);
        }
        self.flying += i64::from(change);
    }

    /// Counts what is in flight until now.
    fn fly(&mut self, now: Instant) {
        let from = std::mem::replace(&mut self.flying_since, now);
        if self.flying > 0 {
            let flying = self.flying as u64;
            self.spread(from, now, Counter::InFlight, flying);
        }
    }

    /// The worker was busy for the stretch of length `busy` that ends at `now`.
    #[inline]
    pub fn worked(&mut self, now: Instant, busy: Nanos) {
        self.spread(now - busy, now, Counter::Busy, 1);
    }

    /// An operation failed with this message; counted in a bounded table.
    pub fn error(&mut self, operation: Series, outcome: Outcome, message: &str) {
        if self.live.is_empty() {
            self.switch(if self.open == i64::MIN { 0 } else { self.open });
        }
        let errors = &mut self.live[self.recent].errors;
        errors.count(operation, outcome, message, 1);
    }

    /// To be called at every step of the worker, from its own thread. At a second's edge (and the
    /// first time) hands over what was counted.
    #[inline]
    pub fn tick(&mut self, now: Instant) {
        if now >= self.edge {
            self.hand_over(now, false);
        }
    }

    /// Hands over the rest.
    pub fn finish(mut self, now: Instant) {
        self.hand_over(now, true);
    }

    /// The buffer of the second and the slot in it that an instant belongs to.
    #[inline]
    fn at(&mut self, instant: Instant) -> (&mut Second, usize) {
        self.find(instant);
        (&mut self.live[self.recent], self.slot)
    }

    #[inline]
    fn find(&mut self, instant: Instant) {
        if instant.0.wrapping_sub(self.slot_begins.0) as u64 >= SLOT_NS as u64 {
            self.look_up(instant);
        }
    }

    #[cold]
    fn look_up(&mut self, instant: Instant) {
        let slot = instant.0.div_euclid(SLOT_NS);
        let second = slot.div_euclid(SLOTS_PER_SECOND);
        let recent = self.live.get(self.recent);
        if recent.is_none_or(|recent| recent.number != second) {
            self.switch(second);
        }
        self.slot_begins = Instant(slot.wrapping_mul(SLOT_NS));
        self.slot = slot.rem_euclid(SLOTS_PER_SECOND) as usize;
    }

    /// Makes the buffer of `second` the recent one.
    fn switch(&mut self, second: i64) {
        self.slot_begins = NEVER;
        let known = self.live.iter().position(|live| live.number == second);
        self.recent = known.unwrap_or_else(|| {
            let mut clean = self.clean();
            clean.number = second;
            self.live.push(clean);
            self.live.len() - 1
        });
        self.uses += 1;
        self.live[self.recent].used = self.uses;
    }

    /// A clean buffer; when none is left, the least recently used one is handed over for it.
    fn clean(&mut self) -> Second {
        if let Some(spare) = self.spare.pop() {
            return spare;
        }
        if let Port::Thread { clean, .. } = &self.port
            && let Ok(returned) = clean.try_recv()
        {
            return returned;
        }
        let least = (0..self.live.len()).min_by_key(|&index| self.live[index].used);
        if let Some(index) = least {
            let early = self.live.swap_remove(index);
            self.give(early, None);
        }
        self.spare.pop().unwrap_or_else(|| match &self.port {
            // Without a writer the trial is being torn down and nothing is kept any more.
            Port::Thread { clean, .. } => {
                clean.recv().unwrap_or_else(|_| Second::new(&self.layout, 1))
            }
            Port::Direct(_) => unreachable!("a buffer given at once is clean again"),
        })
    }

    /// Adds `level` × the length of [from, to) to the worker's counter, split at the slots' edges.
    #[inline]
    fn spread(&mut self, from: Instant, to: Instant, counter: Counter, level: u64) {
        let mut from = from;
        while from < to {
            self.find(from);
            let until = to.min(Instant(self.slot_begins.0 + SLOT_NS));
            let (second, slot) = self.at(from);
            second.worker(0, slot)[counter] += until.since(from).0 * level;
            from = until;
        }
    }

    fn hand_over(&mut self, now: Instant, last: bool) {
        self.in_flight(now, 0);
        for series in 0..self.alike.len() {
            let last = std::mem::replace(&mut self.alike[series], Alike::NONE);
            self.count(Series(series as u16), &last);
        }
        let next = now.0.div_euclid(SECOND_NS);
        if self.open == i64::MIN {
            self.open = next;
        }
        self.account_cpu();
        // The open second's buffer is there now; it goes last and carries the news of the edge.
        self.switch(self.open);
        let carrier = self.live.swap_remove(self.recent);
        while let Some(live) = self.live.pop() {
            self.give(live, None);
        }
        let reached = if last { i64::MAX } else { next };
        self.give(carrier, Some(Edge(reached)));
        self.recent = 0;
        self.slot_begins = NEVER;
        self.open = next;
        self.edge = Instant((next + 1) * SECOND_NS);
    }

    /// Counts the thread's CPU time since the last hand-over for the second that was open.
    fn account_cpu(&mut self) {
        let Some(clock) = self.cpu_clock else { return };
        let read = clock();
        if let Some(before) = self.cpu_read.replace(read) {
            let spent = read.0.saturating_sub(before.0);
            let (second, slot) = self.at(Instant(self.open * SECOND_NS));
            second.worker(0, slot)[Counter::Cpu] += spent;
        }
    }

    fn give(&mut self, mut second: Second, edge: Option<Edge>) {
        match &self.port {
            Port::Thread { full, .. } => {
                let message = Message::Counted { worker: self.worker, second, edge };
                // As above: a failure means that the trial is being torn down.
                let _ = full.send(message);
            }
            Port::Direct(writer) => {
                let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
                writer.take(self.worker, &second, edge);
                second.clear();
                self.spare.push(second);
            }
        }
    }
}
