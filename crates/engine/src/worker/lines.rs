//! Connections: made, lost, timed out and made again.

use base::{Instant, Nanos};
use tally::{Outcome, Times};

use super::slot::{Line, Task};
use super::{Pace, Worker};
use crate::drivers::{Protocol, Reason, Received};
use crate::net::{Fault, Io, Link};

impl<P: Protocol> Worker<'_, P> {
    /// Begins to connect; the slot has no connection.
    pub(super) fn connect<I: Io>(&mut self, io: &mut I, index: u32, now: Instant) {
        let slot = &mut self.slots[index as usize];
        slot.line = Line::Connecting { since: now };
        let waited_for = matches!(slot.task, Task::Waiting(_));
        slot.connect_for = if waited_for { slot.intended } else { now };
        let target = slot.target;
        self.recorder.due(self.connect, slot.connect_for);
        if self.fresh {
            self.mark_sent(index, now);
        }
        self.timeouts.start(index, now);
        io.connect(index, target);
    }

    /// A connection is there.
    pub(super) fn connected<I: Io>(&mut self, io: &mut I, index: Link, now: Instant) {
        let slot = self.slot(index);
        let Line::Connecting { since } = slot.line else { return };
        slot.line = Line::Up;
        self.timeouts.stop(index);
        self.end_connect(index, since, Outcome::Ok, None, now);
        let slot = &mut self.slots[index as usize];
        self.protocol.connected(&mut slot.conn);
        if let Task::Waiting(operation) = slot.task {
            self.ask(io, index, operation, now);
        } else {
            self.offer(index, now);
            self.assign(io);
        }
    }

    fn end_connect(
        &mut self,
        index: u32,
        since: Instant,
        outcome: Outcome,
        reason: Option<Reason>,
        now: Instant,
    ) {
        let intended = self.slot(index).connect_for;
        let times = Times { intended, ready: since, sent: since, done: now };
        self.recorder.ended(self.connect, &times, outcome);
        if let Some(reason) = reason {
            self.tell(self.connect, outcome, reason);
        }
    }

    /// A connection could not be made, or is no more.
    pub(super) fn lost<I: Io>(&mut self, io: &mut I, index: Link, fault: Fault, now: Instant) {
        self.timeouts.stop(index);
        let slot = self.slot(index);
        let (line, task) = (slot.line, slot.task);
        match (line, task) {
            (Line::Connecting { since }, _) => {
                self.not_connected(io, index, since, Outcome::Failed, Reason::Fault(fault), now);
            }
            (Line::Up, Task::Asking(_)) => {
                self.down(index, now);
                let slot = &mut self.slots[index as usize];
                match (fault, self.protocol.ended(&mut slot.conn)) {
                    (Fault::Closed, reply @ Received::Reply { .. }) => {
                        self.take_in(io, index, reply, now);
                    }
                    (fault, received) => {
                        let reason = match (fault, received) {
                            (Fault::Closed, Received::Broken(reason)) => reason,
                            (fault, _) => Reason::Fault(fault),
                        };
                        self.end_operation(index, Outcome::Unknown, Some(reason), now);
                        self.finish(io, index, Outcome::Unknown, now);
                    }
                }
            }
            (Line::Up, _) => self.down(index, now),
            (Line::Down { .. }, _) => {}
        }
    }

    /// What was begun has taken too long.
    pub(super) fn time_out<I: Io>(&mut self, io: &mut I, index: u32, now: Instant) {
        self.timeouts.stop(index);
        let line = self.slot(index).line;
        io.close(index);
        if let Line::Connecting { since } = line {
            let outcome = Outcome::TimedOut;
            return self.not_connected(io, index, since, outcome, Reason::TimedOut, now);
        }
        self.down(index, now);
        self.end_operation(index, Outcome::TimedOut, Some(Reason::TimedOut), now);
        self.finish(io, index, Outcome::TimedOut, now);
    }

    /// Connecting did not succeed: so the transaction that waits for it has this outcome too.
    fn not_connected<I: Io>(
        &mut self,
        io: &mut I,
        index: u32,
        since: Instant,
        outcome: Outcome,
        reason: Reason,
        now: Instant,
    ) {
        self.end_connect(index, since, outcome, Some(reason), now);
        self.down(index, now);
        let slot = &mut self.slots[index as usize];
        if matches!(slot.task, Task::Waiting(_)) {
            return self.finish(io, index, outcome, now);
        }
        // In an open schedule the connection was made for whoever waits longest.
        if let Pace::Open { arrivals, .. } = &mut self.pace
            && slot.task == Task::Free
            && let Some(due) = arrivals.take()
        {
            slot.n = due.n;
            self.take_up(io, index, due.intended, due.ready, now);
            if matches!(self.slot(index).task, Task::Waiting(_)) {
                self.finish(io, index, outcome, now);
            }
        }
    }

    /// The slot has no connection any more; another is made after a pause.
    pub(super) fn down(&mut self, index: u32, now: Instant) {
        let slot = &mut self.slots[index as usize];
        let pause: Nanos = slot.back_off();
        slot.failures = slot.failures.saturating_add(1);
        slot.line = Line::Down { retry: now + pause };
        self.wakes.add(now + pause, index);
    }
}
