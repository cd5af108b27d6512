//! A transaction from being taken up to its outcome.
#![allow(
    clippy::inline_always,
    reason = "each transaction takes all these steps: calling them took a tenth of its instructions"
)]

use std::fmt::Write as _;

use base::{Instant, Nanos};
use tally::{Outcome, Series};

use super::lane::{Bytes, Stage, State, Task};
use super::{Pace, Who, Worker};
use crate::drivers::{Protocol, Reason, Received};
use crate::net::{Io, Link};
use crate::workload::{OperationIndex, Step};

impl<P: Protocol> Worker<'_, P> {
    /// Gives waiting transactions of an open schedule to free lanes, first come, first served.
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
            let Some(lane) = free.pop_front() else { return };
            self.lanes[lane as usize].listed = false;
            if self.is_free(lane, now)
                && let Pace::Open { arrivals, .. } = &mut self.pace
                && let Some(due) = arrivals.take()
            {
                self.lanes[lane as usize].n = due.n;
                self.take_up(io, lane, due.intended, due.ready, now);
            }
        }
    }

    /// Whether a transaction of an open schedule may be given to the lane.
    fn is_free(&self, lane: u32, now: Instant) -> bool {
        // Of several connections it is not known yet which ones will be needed.
        let several = self.spread > 1;
        self.lanes[lane as usize].task == Task::Free
            && (several
                || match self.lines[self.link(lane) as usize].state {
                    State::Up => true,
                    State::Down { retry } => self.fresh && retry <= now,
                    State::Connecting { .. } => false,
                })
    }

    /// Lists a lane as free, if it is.
    pub(super) fn offer(&mut self, lane: u32, now: Instant) {
        if matches!(self.pace, Pace::Closed { .. })
            || self.lanes[lane as usize].listed
            || !self.is_free(lane, now)
        {
            return;
        }
        let Pace::Open { free, .. } = &mut self.pace else { return };
        self.lanes[lane as usize].listed = true;
        free.push_back(lane);
    }

    /// A client's next transaction is due.
    fn begin<I: Io>(&mut self, io: &mut I, index: u32, due: Instant, now: Instant) {
        self.begin_next(index, due, now);
        self.step(io, index, None, now);
    }

    #[inline(always)]
    fn begin_next(&mut self, index: u32, due: Instant, now: Instant) {
        let lane = &mut self.lanes[index as usize];
        lane.started += u64::from(due >= Instant(0));
        let series = self.draw(index, due, now);
        self.recorder.due(series, due);
    }

    /// Starts the transaction of an open schedule that was given to the lane.
    pub(super) fn take_up<I: Io>(
        &mut self,
        io: &mut I,
        index: u32,
        intended: Instant,
        ready: Instant,
        now: Instant,
    ) {
        self.draw(index, intended, ready);
        self.step(io, index, None, now);
    }

    /// Draws the lane's next transaction; where it is counted.
    #[inline(always)]
    fn draw(&mut self, index: u32, intended: Instant, ready: Instant) -> Series {
        let lane = &mut self.lanes[index as usize];
        lane.series = self.program.begin(&mut lane.client, lane.n).series;
        lane.n += 1;
        lane.intended = intended;
        lane.ready = ready;
        lane.sent = None;
        lane.bytes = Bytes::default();
        self.under_way += 1;
        lane.series
    }

    /// Lets the transaction go on, and after it those that follow at once.
    pub(super) fn step<I: Io>(
        &mut self,
        io: &mut I,
        index: u32,
        mut reply: Option<Outcome>,
        now: Instant,
    ) {
        loop {
            let lane = &mut self.lanes[index as usize];
            match self.program.step(&mut lane.client, reply) {
                Step::Send(operation) => {
                    if self.spread > 1 {
                        let asked = &mut lane.asked_for;
                        lane.places = self.protocol.places(asked, operation, &lane.client);
                    }
                    return if self.is_reached(index) {
                        self.ask(io, index, operation, now);
                    } else {
                        self.wait_for_lines(io, index, Task::Waiting(operation), now);
                    };
                }
                Step::Wait(length) => {
                    lane.task = Task::Pausing { until: now + length };
                    return self.wakes.add(now + length, self.id(Who::Lane(index)));
                }
                Step::End(outcome) if self.conclude(io, index, outcome, now) => reply = None,
                Step::End(_) => return,
            }
        }
    }

    /// Lets the operation wait for the connections that are not there, which are made.
    fn wait_for_lines<I: Io>(&mut self, io: &mut I, index: u32, task: Task, now: Instant) {
        self.lanes[index as usize].task = task;
        for link in self.links_to(index) {
            match self.lines[link as usize].state {
                State::Down { retry } if retry <= now => self.connect(io, link, now),
                State::Down { retry } => self.wakes.add(retry, self.id(Who::Line(link))),
                State::Connecting { .. } | State::Up => {}
            }
        }
    }

    /// Sends an operation; all connections that it goes to are there.
    #[inline(always)]
    pub(super) fn ask<I: Io>(
        &mut self,
        io: &mut I,
        index: u32,
        operation: OperationIndex,
        now: Instant,
    ) {
        let lane = &mut self.lanes[index as usize];
        lane.operation = self.program.operations()[operation].series;
        lane.asked = now;
        lane.operation_bytes = Bytes::default();
        self.recorder.due(lane.operation, lane.intended);
        if self.say(io, index, operation, now) {
            self.timeouts.start(self.id(Who::Lane(index)), now);
        }
    }

    /// Sends the requests of an operation that is counted already; whether they could be written.
    #[inline(always)]
    pub(super) fn say<I: Io>(
        &mut self,
        io: &mut I,
        index: u32,
        operation: OperationIndex,
        now: Instant,
    ) -> bool {
        let said = if self.spread == 1 {
            self.say_on(io, self.link(index), index, operation)
        } else {
            self.links_to(index).try_for_each(|link| self.say_on(io, link, index, operation))
        };
        if let Err(reason) = said {
            self.fail_operation(index, Outcome::Failed, reason, now);
            self.finish(io, index, Outcome::Failed, now);
            return false;
        }
        self.lanes[index as usize].task = Task::Asking(operation);
        self.mark_sent(index, now);
        true
    }

    /// Sends the request of an operation on one of its connections.
    #[inline(always)]
    fn say_on<I: Io>(
        &mut self,
        io: &mut I,
        link: Link,
        index: u32,
        operation: OperationIndex,
    ) -> Result<(), Reason> {
        self.cork(io, link);
        let lane = &mut self.lanes[index as usize];
        let line = &mut self.lines[link as usize];
        let (before, out) = (self.out.len(), &mut self.out);
        let asked = &mut lane.asked_for;
        self.protocol
            .encode(&mut line.conn, asked, operation, &lane.client, out)
            .inspect_err(|_| out.truncate(before))?;
        lane.operation_bytes.out += (out.len() - before) as u64;
        line.asking.push_back(index);
        Ok(())
    }

    /// Asks another server the same, as the one that was asked says; both are one operation.
    fn redirect<I: Io>(&mut self, io: &mut I, index: u32, target: usize, now: Instant) {
        let lane = &mut self.lanes[index as usize];
        let Task::Asking(operation) = lane.task else { return };
        lane.places = 1 << target;
        // The time-out goes on, except while there is no connection, which has its own.
        let up = self.is_reached(index);
        if !(up && self.say(io, index, operation, now)) {
            self.timeouts.stop(self.id(Who::Lane(index)));
        }
        if !up {
            self.wait_for_lines(io, index, Task::Redirected(operation), now);
        }
    }

    /// The transaction's first byte is handed to the system, or its connection begun.
    #[inline(always)]
    pub(super) fn mark_sent(&mut self, index: u32, now: Instant) {
        let lane = &mut self.lanes[index as usize];
        if lane.sent.is_none() {
            lane.sent = Some(now);
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
        // Whose answer comes next, counted from the oldest request, and whether the driver has kept
        // some of it.
        let (mut turn, mut kept) = (0, false);
        // An answer may be the end of its connection: what came behind it is nobody's then.
        while (kept || !bytes.is_empty()) && self.lines[link as usize].state == State::Up {
            let line = &mut self.lines[link as usize];
            let Some(&index) = line.asking.get(turn) else {
                return self.disown(io, link, now);
            };
            let lane = &mut self.lanes[index as usize];
            let before = bytes.len();
            let mut received =
                self.protocol.receive(&mut line.conn, &mut lane.asked_for, &mut bytes);
            lane.operation_bytes.back += (before - bytes.len()) as u64;
            match received {
                Received::More => return,
                Received::Of(other) if other != turn => {
                    (turn, kept) = (other, true);
                    continue;
                }
                Received::Further if bytes.is_empty() => return self.ask_further(io, link, index),
                // What is to be asked only now cannot have been answered, and an operation is not
                // passed its own answer.
                Received::Further | Received::Of(_) => {
                    received = Received::Broken(Reason::Surplus);
                }
                Received::Part
                | Received::Elsewhere(_)
                | Received::Reply { .. }
                | Received::Broken(_) => {}
            }
            if turn == 0 {
                line.asking.pop_front();
            } else {
                line.asking.remove(turn);
            }
            (turn, kept) = (0, false);
            if received == Received::Part {
                continue;
            }
            let answered = !matches!(received, Received::Broken(_));
            if answered && !bytes.is_empty() && line.asking.is_empty() {
                received = Received::Broken(Reason::Surplus);
            }
            self.take_in(io, link, index, &received, now);
        }
    }

    /// Bytes came that nobody had asked for.
    #[cold]
    fn disown<I: Io>(&mut self, io: &mut I, link: Link, now: Instant) {
        let operation = self.lanes[self.lanes_of(link).start as usize].operation;
        self.tell(operation, Outcome::Failed, Reason::Surplus);
        self.hang_up(io, link);
        self.down(link, now);
    }

    /// Sends what an operation asks beyond its request.
    fn ask_further<I: Io>(&mut self, io: &mut I, link: Link, index: u32) {
        self.cork(io, link);
        let (lane, line) = (&mut self.lanes[index as usize], &mut self.lines[link as usize]);
        let before = self.out.len();
        self.protocol.further(&mut line.conn, &mut lane.asked_for, &mut self.out);
        lane.operation_bytes.out += (self.out.len() - before) as u64;
    }

    /// An answer, or what came instead, on this connection.
    #[inline(always)]
    pub(super) fn take_in<I: Io>(
        &mut self,
        io: &mut I,
        link: Link,
        index: u32,
        received: &Received,
        now: Instant,
    ) {
        if let Received::Reply { verdict: Ok(()), keep: true } = *received {
            self.timeouts.stop(self.id(Who::Lane(index)));
            self.end_operation(index, Outcome::Ok, now);
            self.step(io, index, Some(Outcome::Ok), now);
        } else {
            self.take_in_apart(io, link, index, received, now);
        }
    }

    /// What is not an answer as it should be on a connection that goes on.
    fn take_in_apart<I: Io>(
        &mut self,
        io: &mut I,
        link: Link,
        index: u32,
        received: &Received,
        now: Instant,
    ) {
        let (verdict, keep) = match *received {
            Received::More | Received::Further | Received::Of(_) | Received::Part => return,
            Received::Elsewhere(target) => return self.redirect(io, index, target, now),
            Received::Reply { verdict, keep } => (verdict, keep),
            Received::Broken(reason) => (Err(reason), false),
        };
        self.timeouts.stop(self.id(Who::Lane(index)));
        let outcome = match verdict {
            Ok(()) => Outcome::Ok,
            Err(_) => Outcome::Failed,
        };
        match verdict {
            Ok(()) => self.end_operation(index, outcome, now),
            Err(reason) => self.fail_operation(index, outcome, reason, now),
        }
        let others = if keep { 0 } else { self.drop_awaited(io, index, now) };
        let closes = !keep && self.lines[link as usize].state == State::Up;
        if closes {
            self.hang_up(io, link);
            if verdict.is_ok() {
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
        self.abandon_all(io, index, others, now);
    }

    /// Counts the lane's operation.
    #[inline(always)]
    fn end_operation(&mut self, index: u32, outcome: Outcome, now: Instant) {
        let lane = &mut self.lanes[index as usize];
        let Bytes { out, back } = lane.operation_bytes;
        let (out, back) = (out.saturating_sub(P::FRAMING.0), back.saturating_sub(P::FRAMING.1));
        lane.bytes.out += out;
        lane.bytes.back += back;
        let operation = lane.operation;
        self.recorder.ended(operation, &lane.operation_times(now), outcome, (out, back));
    }

    /// Counts the lane's operation and why it did not end ok.
    pub(super) fn fail_operation(
        &mut self,
        index: u32,
        outcome: Outcome,
        reason: Reason,
        now: Instant,
    ) {
        self.end_operation(index, outcome, now);
        self.tell(self.lanes[index as usize].operation, outcome, reason);
    }

    /// Counts a reason.
    pub(super) fn tell(&mut self, operation: Series, outcome: Outcome, reason: Reason) {
        let mut line = Line160::default();
        // What does not fit is cut off.
        let _cut = write!(line, "{reason}");
        self.recorder.error(operation, outcome, line.text());
    }

    /// Counts the lane's transaction, and lets it go on to the next.
    pub(super) fn finish<I: Io>(&mut self, io: &mut I, index: u32, outcome: Outcome, now: Instant) {
        if self.conclude(io, index, outcome, now) {
            self.step(io, index, None, now);
        }
    }

    /// Counts the lane's transaction; whether the next one was begun, which is to be gone on with.
    #[inline(always)]
    fn conclude<I: Io>(&mut self, io: &mut I, index: u32, outcome: Outcome, now: Instant) -> bool {
        let lane = &mut self.lanes[index as usize];
        lane.task = Task::Free;
        self.under_way -= 1;
        let Bytes { out, back } = lane.bytes;
        self.recorder.ended(lane.series, &lane.times(now), outcome, (out, back));
        if lane.intended >= Instant(0) {
            self.last_done = self.last_done.max(Some(now));
        }
        let was_sent = lane.sent.is_some();
        if was_sent {
            self.recorder.in_flight(now, -1);
        }
        if outcome == Outcome::Ok {
            if self.spread == 1 {
                self.lines[lane.link as usize].failures = 0;
            } else {
                for link in self.links_to(index) {
                    self.lines[link as usize].failures = 0;
                }
            }
        }
        if self.fresh {
            self.part(io, index, now);
        }
        self.next(io, index, was_sent, now)
    }

    /// Ends the connection that the transaction had of its own.
    fn part<I: Io>(&mut self, io: &mut I, index: u32, now: Instant) {
        let link = self.link(index);
        let line = &mut self.lines[link as usize];
        if !matches!(line.state, State::Down { .. }) {
            line.state = State::Down { retry: now };
            self.timeouts.stop(self.id(Who::Line(link)));
            self.hang_up(io, link);
        }
    }

    /// What the lane does after a transaction; whether that is the next one, which was begun.
    #[inline(always)]
    fn next<I: Io>(&mut self, io: &mut I, index: u32, was_sent: bool, now: Instant) -> bool {
        let lane = &mut self.lanes[index as usize];
        let Pace::Closed { think, .. } = &self.pace else {
            // Where nothing was sent, whoever gave the lane its transaction goes on giving.
            self.offer(index, now);
            if was_sent {
                self.assign(io);
            }
            return false;
        };
        let pause = think.sample(lane.client.number(), lane.client.n());
        if was_sent && pause == Nanos(0) && lane.quota.allows(lane.started, now) {
            self.begin_next(index, now, now);
            return true;
        }
        let mut due = now + pause;
        let line = &mut self.lines[lane.link as usize];
        if !was_sent && (self.spread > 1 || line.state == State::Up) {
            // Nothing was asked, so nothing but this pause lets time go by.
            line.failures += 1;
            due = due + line.back_off();
        }
        self.rest(index, due);
        false
    }

    /// Something that was to be done at a time.
    pub(super) fn woken<I: Io>(&mut self, io: &mut I, id: u32, now: Instant) {
        match self.who(id) {
            Who::Lane(index) => match self.lanes[index as usize].task {
                Task::Resting { until } if until <= now => self.begin(io, index, until, now),
                Task::Pausing { until } if until <= now => self.step(io, index, None, now),
                _ => {}
            },
            Who::Line(link) => self.retry(io, link, now),
        }
    }

    /// A connection that was lost or not made is tried again, if anybody wants it.
    fn retry<I: Io>(&mut self, io: &mut I, link: Link, now: Instant) {
        let wants = |lane: u32| match self.lanes[lane as usize].task {
            Task::Waiting(_) | Task::Redirected(_) => true,
            Task::Finished => false,
            _ => !self.fresh,
        };
        match self.lines[link as usize].state {
            State::Down { retry } if retry <= now && self.lanes_of(link).any(wants) => {
                self.connect(io, link, now);
            }
            _ => {
                for lane in self.lanes_of(link) {
                    self.offer(lane, now);
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
