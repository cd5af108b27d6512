//! A transaction from being taken up to its outcome.

use std::fmt::Write as _;

use base::{Instant, Nanos};
use tally::{Outcome, Series};

use super::slot::{Bytes, Line, Task};
use super::{Pace, Worker};
use crate::drivers::{Protocol, Reason, Received};
use crate::net::{Io, Link};
use crate::workload::{OperationIndex, Step};

impl<P: Protocol> Worker<'_, P> {
    /// Gives waiting transactions of an open schedule to free slots, first come, first served.
    pub(super) fn assign<I: Io>(&mut self, io: &mut I) {
        loop {
            let Pace::Open { arrivals, free, .. } = &self.pace else { return };
            if arrivals.is_idle() || free.is_empty() {
                return;
            }
            // The time is read for each, since sending for the one before took its while.
            let now = io.now();
            if self.is_closing(now) {
                return;
            }
            let Pace::Open { arrivals, free, .. } = &mut self.pace else { return };
            let Some(index) = free.pop_front() else { return };
            let slot = &mut self.slots[index as usize];
            slot.listed = false;
            if slot.is_free(self.fresh, now)
                && let Some(due) = arrivals.take()
            {
                slot.n = due.n;
                self.take_up(io, index, due.intended, due.ready, now);
            }
        }
    }

    /// Lists a slot as free, if it is.
    pub(super) fn offer(&mut self, index: u32, now: Instant) {
        let Pace::Open { free, .. } = &mut self.pace else { return };
        let slot = &mut self.slots[index as usize];
        if !slot.listed && slot.is_free(self.fresh, now) {
            slot.listed = true;
            free.push_back(index);
        }
    }

    /// A client's next transaction is due.
    pub(super) fn begin<I: Io>(&mut self, io: &mut I, index: u32, due: Instant, now: Instant) {
        let slot = &mut self.slots[index as usize];
        slot.started += u64::from(due >= Instant(0));
        let series = self.program.series(slot.client.number(), slot.n);
        self.recorder.due(series, due);
        self.take_up(io, index, due, now, now);
    }

    /// Starts the transaction that is the slot's next.
    pub(super) fn take_up<I: Io>(
        &mut self,
        io: &mut I,
        index: u32,
        intended: Instant,
        ready: Instant,
        now: Instant,
    ) {
        let slot = &mut self.slots[index as usize];
        slot.series = self.program.begin(&mut slot.client, slot.n).series;
        slot.n += 1;
        slot.intended = intended;
        slot.ready = ready;
        slot.sent = None;
        slot.bytes = Bytes::default();
        self.under_way += 1;
        self.step(io, index, None, now);
    }

    /// Lets the transaction go on.
    pub(super) fn step<I: Io>(
        &mut self,
        io: &mut I,
        index: u32,
        reply: Option<Outcome>,
        now: Instant,
    ) {
        let slot = &mut self.slots[index as usize];
        match self.program.step(&mut slot.client, reply) {
            Step::Send(operation) => match slot.line {
                Line::Up => self.ask(io, index, operation, now),
                Line::Down { retry } => {
                    slot.task = Task::Waiting(operation);
                    if retry <= now {
                        self.connect(io, index, now);
                    } else {
                        self.wakes.add(retry, index);
                    }
                }
                Line::Connecting { .. } => slot.task = Task::Waiting(operation),
            },
            Step::Wait(length) => {
                slot.task = Task::Pausing { until: now + length };
                self.wakes.add(now + length, index);
            }
            Step::End(outcome) => self.finish(io, index, outcome, now),
        }
    }

    /// Sends an operation.
    pub(super) fn ask<I: Io>(
        &mut self,
        io: &mut I,
        index: u32,
        operation: OperationIndex,
        now: Instant,
    ) {
        let slot = &mut self.slots[index as usize];
        slot.operation = self.program.operations()[operation].series;
        slot.asked = now;
        slot.operation_bytes = Bytes::default();
        self.recorder.due(slot.operation, slot.intended);
        self.out.clear();
        let encoded = self.protocol.encode(&mut slot.conn, operation, &slot.client, &mut self.out);
        if let Err(reason) = encoded {
            self.end_operation(index, Outcome::Failed, Some(reason), now);
            return self.finish(io, index, Outcome::Failed, now);
        }
        slot.task = Task::Asking(operation);
        slot.operation_bytes.out = self.out.len() as u64;
        self.mark_sent(index, now);
        self.timeouts.start(index, now);
        io.send(index, &self.out);
    }

    /// The transaction's first byte is handed to the system, or its connection begun.
    pub(super) fn mark_sent(&mut self, index: u32, now: Instant) {
        let slot = &mut self.slots[index as usize];
        if slot.sent.is_none() {
            slot.sent = Some(now);
            self.recorder.in_flight(now, 1);
        }
    }

    /// Bytes arrived.
    pub(super) fn received<I: Io>(&mut self, io: &mut I, index: Link, bytes: &[u8], now: Instant) {
        let slot = &mut self.slots[index as usize];
        if !matches!(slot.task, Task::Asking(_)) {
            let operation = slot.operation;
            self.tell(operation, Outcome::Failed, Reason::Surplus);
            io.close(index);
            return self.down(index, now);
        }
        slot.operation_bytes.back += bytes.len() as u64;
        let received = self.protocol.receive(&mut slot.conn, bytes);
        self.take_in(io, index, received, now);
    }

    /// An answer, or what came instead.
    pub(super) fn take_in<I: Io>(
        &mut self,
        io: &mut I,
        index: Link,
        received: Received,
        now: Instant,
    ) {
        let (outcome, reason, keep) = match received {
            Received::More => return,
            Received::Reply { verdict: Ok(()), keep } => (Outcome::Ok, None, keep),
            Received::Reply { verdict: Err(reason), keep } => (Outcome::Failed, Some(reason), keep),
            Received::Broken(reason) => (Outcome::Failed, Some(reason), false),
        };
        self.timeouts.stop(index);
        self.end_operation(index, outcome, reason, now);
        if !keep && self.slot(index).line == Line::Up {
            io.close(index);
            if reason.is_none() {
                // The server's wish is no failure: the next connection is made at once.
                self.slot(index).line = Line::Down { retry: now };
                self.wakes.add(now, index);
            } else {
                self.down(index, now);
            }
        }
        self.step(io, index, Some(outcome), now);
    }

    /// Counts the slot's operation.
    pub(super) fn end_operation(
        &mut self,
        index: u32,
        outcome: Outcome,
        reason: Option<Reason>,
        now: Instant,
    ) {
        let slot = &mut self.slots[index as usize];
        let Bytes { out, back } = slot.operation_bytes;
        slot.bytes.out += out;
        slot.bytes.back += back;
        let operation = slot.operation;
        self.recorder.ended(operation, &slot.operation_times(now), outcome);
        self.recorder.moved(operation, now, out, back);
        if let Some(reason) = reason {
            self.tell(operation, outcome, reason);
        }
    }

    /// Counts a reason.
    pub(super) fn tell(&mut self, operation: Series, outcome: Outcome, reason: Reason) {
        let mut line = Line160::default();
        // What does not fit is cut off.
        let _cut = write!(line, "{reason}");
        self.recorder.error(operation, outcome, line.text());
    }

    /// Counts the slot's transaction, and lets it go on to the next.
    pub(super) fn finish<I: Io>(&mut self, io: &mut I, index: u32, outcome: Outcome, now: Instant) {
        let slot = &mut self.slots[index as usize];
        slot.task = Task::Free;
        self.under_way -= 1;
        self.recorder.ended(slot.series, &slot.times(now), outcome);
        self.recorder.moved(slot.series, now, slot.bytes.out, slot.bytes.back);
        if slot.intended >= Instant(0) {
            self.last_done = self.last_done.max(Some(now));
        }
        let was_sent = slot.sent.is_some();
        if was_sent {
            self.recorder.in_flight(now, -1);
        }
        if outcome == Outcome::Ok {
            slot.failures = 0;
        }
        if self.fresh && !matches!(slot.line, Line::Down { .. }) {
            io.close(index);
            slot.line = Line::Down { retry: now };
        }
        self.next(io, index, was_sent, now);
    }

    /// What the slot does after a transaction.
    fn next<I: Io>(&mut self, io: &mut I, index: u32, was_sent: bool, now: Instant) {
        let slot = &mut self.slots[index as usize];
        let Pace::Closed { think, .. } = &self.pace else {
            // Where nothing was sent, whoever gave the slot its transaction goes on giving.
            self.offer(index, now);
            if was_sent {
                self.assign(io);
            }
            return;
        };
        let pause = think.sample(slot.client.number(), slot.client.n());
        if was_sent && pause == Nanos(0) && slot.quota.allows(slot.started, now) {
            return self.begin(io, index, now, now);
        }
        let mut due = now + pause;
        if !was_sent && slot.line == Line::Up {
            // Nothing was asked, so nothing but this pause lets time go by.
            slot.failures += 1;
            due = due + slot.back_off();
        }
        self.rest(index, due);
    }

    /// Something that was to be done at a time.
    pub(super) fn woken<I: Io>(&mut self, io: &mut I, index: u32, now: Instant) {
        let slot = &mut self.slots[index as usize];
        match slot.task {
            Task::Resting { until } if until <= now => return self.begin(io, index, until, now),
            Task::Pausing { until } if until <= now => return self.step(io, index, None, now),
            _ => {}
        }
        let wanted =
            matches!(slot.task, Task::Waiting(_)) || !(self.fresh || slot.task == Task::Finished);
        match slot.line {
            Line::Down { retry } if retry <= now && wanted => self.connect(io, index, now),
            _ => {
                self.offer(index, now);
                self.assign(io);
            }
        }
    }
}

impl<C> super::slot::Slot<C> {
    /// Whether a transaction may be given to it.
    fn is_free(&self, fresh: bool, now: Instant) -> bool {
        self.task == Task::Free
            && match self.line {
                Line::Up => true,
                Line::Down { retry } => fresh && retry <= now,
                Line::Connecting { .. } => false,
            }
    }
}

/// A line of text on the stack.
struct Line160 {
    bytes: [u8; 160],
    length: usize,
}

impl Default for Line160 {
    fn default() -> Self {
        Line160 { bytes: [0; 160], length: 0 }
    }
}

impl Line160 {
    fn text(&self) -> &str {
        let bytes = &self.bytes[..self.length];
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // Only a character that was cut off can be malformed.
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }
}

impl std::fmt::Write for Line160 {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = &mut self.bytes[self.length..];
        let count = text.len().min(room.len());
        room[..count].copy_from_slice(&text.as_bytes()[..count]);
        self.length += count;
        if count < text.len() { Err(std::fmt::Error) } else { Ok(()) }
    }
}
