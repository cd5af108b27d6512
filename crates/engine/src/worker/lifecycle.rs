//! A transaction from being taken up to its outcome.

use std::fmt::Write as _;

use base::{Instant, Nanos};
use tally::{Outcome, Series};

use super::slot::{Bytes, Stage, State, Task};
use super::{Pace, Who, Worker};
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
            let Pace::Open { free, .. } = &mut self.pace else { return };
            let Some(slot) = free.pop_front() else { return };
            self.slots[slot as usize].listed = false;
            if self.is_free(slot, now)
                && let Pace::Open { arrivals, .. } = &mut self.pace
                && let Some(due) = arrivals.take()
            {
                self.slots[slot as usize].n = due.n;
                self.take_up(io, slot, due.intended, due.ready, now);
            }
        }
    }

    /// Whether a transaction of an open schedule may be given to the slot.
    fn is_free(&self, slot: u32, now: Instant) -> bool {
        self.slots[slot as usize].task == Task::Free
            && match self.lines[self.link(slot) as usize].state {
                State::Up => true,
                State::Down { retry } => self.fresh && retry <= now,
                State::Connecting { .. } => false,
            }
    }

    /// Lists a slot as free, if it is.
    pub(super) fn offer(&mut self, slot: u32, now: Instant) {
        if matches!(self.pace, Pace::Closed { .. })
            || self.slots[slot as usize].listed
            || !self.is_free(slot, now)
        {
            return;
        }
        let Pace::Open { free, .. } = &mut self.pace else { return };
        self.slots[slot as usize].listed = true;
        free.push_back(slot);
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
        let link = self.link(index);
        let slot = &mut self.slots[index as usize];
        match self.program.step(&mut slot.client, reply) {
            Step::Send(operation) => match self.lines[link as usize].state {
                State::Up => self.ask(io, index, operation, now),
                State::Down { retry } => {
                    slot.task = Task::Waiting(operation);
                    if retry <= now {
                        self.connect(io, link, now);
                    } else {
                        self.wakes.add(retry, self.id(Who::Line(link)));
                    }
                }
                State::Connecting { .. } => slot.task = Task::Waiting(operation),
            },
            Step::Wait(length) => {
                slot.task = Task::Pausing { until: now + length };
                self.wakes.add(now + length, self.id(Who::Slot(index)));
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
        let link = self.link(index);
        self.cork(io, link);
        let slot = &mut self.slots[index as usize];
        let line = &mut self.lines[link as usize];
        slot.operation = self.program.operations()[operation].series;
        slot.asked = now;
        slot.operation_bytes = Bytes::default();
        self.recorder.due(slot.operation, slot.intended);
        let before = self.out.len();
        let (asked, out) = (&mut slot.asked_for, &mut self.out);
        if let Err(reason) =
            self.protocol.encode(&mut line.conn, asked, operation, &slot.client, out)
        {
            out.truncate(before);
            self.end_operation(index, Outcome::Failed, Some(reason), now);
            return self.finish(io, index, Outcome::Failed, now);
        }
        slot.task = Task::Asking(operation);
        slot.operation_bytes.out = (out.len() - before) as u64;
        line.asking.push_back(index);
        self.mark_sent(index, now);
        self.timeouts.start(self.id(Who::Slot(index)), now);
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
    pub(super) fn received<I: Io>(
        &mut self,
        io: &mut I,
        link: Link,
        mut bytes: &[u8],
        now: Instant,
    ) {
        if let State::Connecting { since, stage: Stage::Opening } = self.lines[link as usize].state
        {
            return self.open(io, link, since, bytes, now);
        }
        // An answer may be the end of its connection: what came behind it is nobody's then.
        while !bytes.is_empty() && self.lines[link as usize].state == State::Up {
            let line = &mut self.lines[link as usize];
            let Some(&index) = line.asking.front() else {
                let operation = self.slots[self.slots_of(link).start as usize].operation;
                self.tell(operation, Outcome::Failed, Reason::Surplus);
                self.hang_up(io, link);
                return self.down(link, now);
            };
            let slot = &mut self.slots[index as usize];
            let before = bytes.len();
            let mut received =
                self.protocol.receive(&mut line.conn, &mut slot.asked_for, &mut bytes);
            slot.operation_bytes.back += (before - bytes.len()) as u64;
            match received {
                Received::More => return,
                Received::Further if bytes.is_empty() => return self.ask_further(io, link, index),
                // What is to be asked only now cannot have been answered.
                Received::Further => received = Received::Broken(Reason::Surplus),
                Received::Reply { .. } | Received::Broken(_) => {}
            }
            line.asking.pop_front();
            let answered = matches!(received, Received::Reply { .. });
            if answered && !bytes.is_empty() && line.asking.is_empty() {
                received = Received::Broken(Reason::Surplus);
            }
            self.take_in(io, index, received, now);
        }
    }

    /// Sends what an operation asks beyond its request.
    fn ask_further<I: Io>(&mut self, io: &mut I, link: Link, index: u32) {
        self.cork(io, link);
        let (slot, line) = (&mut self.slots[index as usize], &mut self.lines[link as usize]);
        let before = self.out.len();
        self.protocol.further(&mut line.conn, &mut slot.asked_for, &mut self.out);
        slot.operation_bytes.out += (self.out.len() - before) as u64;
    }

    /// An answer, or what came instead.
    pub(super) fn take_in<I: Io>(
        &mut self,
        io: &mut I,
        index: u32,
        received: Received,
        now: Instant,
    ) {
        let (outcome, reason, keep) = match received {
            Received::More | Received::Further => return,
            Received::Reply { verdict: Ok(()), keep } => (Outcome::Ok, None, keep),
            Received::Reply { verdict: Err(reason), keep } => (Outcome::Failed, Some(reason), keep),
            Received::Broken(reason) => (Outcome::Failed, Some(reason), false),
        };
        self.timeouts.stop(self.id(Who::Slot(index)));
        self.end_operation(index, outcome, reason, now);
        let link = self.link(index);
        let closes = !keep && self.lines[link as usize].state == State::Up;
        if closes {
            self.hang_up(io, link);
            if reason.is_none() {
                // The server's wish is no failure: the next connection is made at once.
                self.lines[link as usize].state = State::Down { retry: now };
                self.wakes.add(now, self.id(Who::Line(link)));
            } else {
                self.down(link, now);
            }
        }
        self.step(io, index, Some(outcome), now);
        if closes {
            self.abandon(io, link, Reason::Behind, now);
        }
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
        let link = self.link(index);
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
        let line = &mut self.lines[link as usize];
        if outcome == Outcome::Ok {
            line.failures = 0;
        }
        if self.fresh && !matches!(line.state, State::Down { .. }) {
            line.state = State::Down { retry: now };
            self.timeouts.stop(self.id(Who::Line(link)));
            self.hang_up(io, link);
        }
        self.next(io, index, was_sent, now);
    }

    /// What the slot does after a transaction.
    fn next<I: Io>(&mut self, io: &mut I, index: u32, was_sent: bool, now: Instant) {
        let link = self.link(index);
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
        let line = &mut self.lines[link as usize];
        if !was_sent && line.state == State::Up {
            // Nothing was asked, so nothing but this pause lets time go by.
            line.failures += 1;
            due = due + line.back_off();
        }
        self.rest(index, due);
    }

    /// Something that was to be done at a time.
    pub(super) fn woken<I: Io>(&mut self, io: &mut I, id: u32, now: Instant) {
        match self.who(id) {
            Who::Slot(index) => match self.slots[index as usize].task {
                Task::Resting { until } if until <= now => self.begin(io, index, until, now),
                Task::Pausing { until } if until <= now => self.step(io, index, None, now),
                _ => {}
            },
            Who::Line(link) => self.retry(io, link, now),
        }
    }

    /// A connection that was lost or not made is tried again, if anybody wants it.
    fn retry<I: Io>(&mut self, io: &mut I, link: Link, now: Instant) {
        let wants = |slot: u32| match self.slots[slot as usize].task {
            Task::Waiting(_) => true,
            Task::Finished => false,
            _ => !self.fresh,
        };
        match self.lines[link as usize].state {
            State::Down { retry } if retry <= now && self.slots_of(link).any(wants) => {
                self.connect(io, link, now);
            }
            _ => {
                for slot in self.slots_of(link) {
                    self.offer(slot, now);
                }
                self.assign(io);
            }
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
