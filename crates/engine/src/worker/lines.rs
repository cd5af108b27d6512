//! Connections: made, opened, lost, timed out and made again.

use base::{Instant, Nanos};
use tally::{Outcome, Times};

use super::lane::{Stage, State, Task};
use super::{Pace, Who, Worker};
use crate::drivers::{Opening, Protocol, Reason, Received, Told};
use crate::net::{Fault, Io, Link};

impl<P: Protocol> Worker<'_, P> {
    /// Begins to connect; there is no connection.
    pub(super) fn connect<I: Io>(&mut self, io: &mut I, link: Link, now: Instant) {
        let waiting = self.waiting(link);
        let line = &mut self.lines[link as usize];
        line.tls = None;
        line.state = State::Connecting { since: now, stage: Stage::Reaching };
        line.connect_for = waiting.map_or(now, |lane| self.lanes[lane as usize].intended);
        let target = line.target;
        self.recorder.due(self.connect, line.connect_for);
        if self.fresh
            && let Some(lane) = waiting
        {
            self.mark_sent(lane, now);
        }
        self.timeouts.start(self.id(Who::Line(link)), now);
        io.connect(link, target);
    }

    /// The first of the connection's lanes that waits for it.
    fn waiting(&self, link: Link) -> Option<u32> {
        self.lanes_of(link).find(|&lane| self.waits(lane, link))
    }

    /// Whether the lane waits for the connection.
    fn waits(&self, lane: u32, link: Link) -> bool {
        matches!(self.lanes[lane as usize].task, Task::Waiting(_) | Task::Redirected(_))
            && self.links_to(lane).any(|other| other == link)
    }

    /// Whether all connections are there that the lane's operation goes to.
    pub(super) fn is_reached(&self, lane: u32) -> bool {
        self.links_to(lane).all(|link| self.lines[link as usize].state == State::Up)
    }

    /// A connection is there, as far as the network is concerned.
    pub(super) fn reached<I: Io>(&mut self, io: &mut I, link: Link, now: Instant) {
        let line = &mut self.lines[link as usize];
        let State::Connecting { since, stage: Stage::Reaching } = line.state else { return };
        line.state = State::Connecting { since, stage: Stage::Opening };
        self.cork(io, link);
        let line = &mut self.lines[link as usize];
        let opening = self.protocol.open(&mut line.conn, &mut self.out);
        self.go_on_opening(io, link, since, opening, now);
    }

    /// Bytes arrived before the connection was open.
    pub(super) fn open<I: Io>(
        &mut self,
        io: &mut I,
        link: Link,
        since: Instant,
        mut input: &[u8],
        now: Instant,
    ) {
        self.cork(io, link);
        let line = &mut self.lines[link as usize];
        let opening = self.protocol.opening(&mut line.conn, &mut input, &mut self.out);
        let opening = match opening {
            Ok(Opening::Ready) if !input.is_empty() => Err(Reason::Surplus),
            other => other,
        };
        self.go_on_opening(io, link, since, opening, now);
    }

    fn go_on_opening<I: Io>(
        &mut self,
        io: &mut I,
        link: Link,
        since: Instant,
        opening: Result<Opening, Reason>,
        now: Instant,
    ) {
        match opening {
            Ok(Opening::More) => {}
            Ok(Opening::Secure) => self.secure(io, link, since, now),
            Ok(Opening::Ready) => self.connected(io, link, since, now),
            Err(reason) => {
                self.hang_up(io, link);
                self.not_connected(io, link, since, Outcome::Failed, reason, now);
            }
        }
    }

    /// Begins to encrypt the connection.
    fn secure<I: Io>(&mut self, io: &mut I, link: Link, since: Instant, now: Instant) {
        // What the driver has said so far goes out as it is.
        self.uncork(io);
        let line = &mut self.lines[link as usize];
        let session = match self.tls {
            Some(config) => config.session(line.target),
            None => Err(Reason::Tls(Told::new(b"this target is not to be encrypted"))),
        };
        match session {
            Ok(session) => {
                line.tls = Some(Box::new(session));
                line.state = State::Connecting { since, stage: Stage::Securing };
                self.send(io, link);
            }
            Err(reason) => {
                self.hang_up(io, link);
                self.not_connected(io, link, since, Outcome::Failed, reason, now);
            }
        }
    }

    /// Encrypted bytes arrived.
    pub(super) fn decrypt<I: Io>(&mut self, io: &mut I, link: Link, bytes: &[u8], now: Instant) {
        let line = &mut self.lines[link as usize];
        let Some(tls) = &mut line.tls else { return };
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let read = tls.read(bytes, &mut plain);
        let secured = !tls.is_opening();
        // The hand-shake's next part, or what says why it failed.
        self.cork(io, link);
        self.send(io, link);
        match (read, self.lines[link as usize].state) {
            (Err(reason), State::Connecting { since, .. }) => {
                self.hang_up(io, link);
                self.not_connected(io, link, since, Outcome::Failed, reason, now);
            }
            (Err(reason), _) => {
                self.hang_up(io, link);
                self.down(link, now);
                self.abandon(io, link, reason, now);
            }
            (Ok(()), State::Connecting { since, stage: Stage::Securing }) if secured => {
                let line = &mut self.lines[link as usize];
                line.state = State::Connecting { since, stage: Stage::Opening };
                let opening = self.protocol.secured(&mut line.conn, &mut self.out);
                self.go_on_opening(io, link, since, opening, now);
            }
            (Ok(()), _) => {}
        }
        if !plain.is_empty() {
            self.received(io, link, &plain, now);
        }
        self.plain = plain;
    }

    /// Sends what was gathered for the corked line, encrypted where it is.
    pub(super) fn send<I: Io>(&mut self, io: &mut I, link: Link) {
        if let Some(tls) = &mut self.lines[link as usize].tls {
            self.wire.clear();
            tls.write(&self.out, &mut self.wire);
            if !self.wire.is_empty() {
                io.send(link, &self.wire);
            }
        } else if !self.out.is_empty() {
            io.send(link, &self.out);
        }
        self.out.clear();
    }

    /// A connection is open.
    fn connected<I: Io>(&mut self, io: &mut I, link: Link, since: Instant, now: Instant) {
        self.lines[link as usize].state = State::Up;
        self.timeouts.stop(self.id(Who::Line(link)));
        self.end_connect(link, since, Outcome::Ok, None, now);
        for lane in self.lanes_of(link) {
            match self.lanes[lane as usize].task {
                Task::Waiting(operation) if self.is_reached(lane) => {
                    self.ask(io, lane, operation, now);
                }
                Task::Redirected(operation) if self.is_reached(lane) => {
                    if self.say(io, lane, operation, now) {
                        self.timeouts.start(self.id(Who::Lane(lane)), now);
                    }
                }
                Task::Waiting(_) | Task::Redirected(_) => {}
                _ => self.offer(lane, now),
            }
        }
        self.assign(io);
    }

    fn end_connect(
        &mut self,
        link: Link,
        since: Instant,
        outcome: Outcome,
        reason: Option<Reason>,
        now: Instant,
    ) {
        let intended = self.lines[link as usize].connect_for;
        let times = Times { intended, ready: since, sent: since, done: now };
        self.recorder.ended(self.connect, &times, outcome, (0, 0));
        if let Some(reason) = reason {
            self.tell(self.connect, outcome, reason);
        }
    }

    /// A connection could not be made, or is no more.
    pub(super) fn lost<I: Io>(&mut self, io: &mut I, link: Link, fault: Fault, now: Instant) {
        let line = &mut self.lines[link as usize];
        let reason = Reason::Fault(fault);
        match line.state {
            State::Connecting { since, .. } => {
                self.not_connected(io, link, since, Outcome::Failed, reason, now);
            }
            State::Up => {
                let Some(&lane) = line.asking.front() else { return self.down(link, now) };
                let asked = &mut self.lanes[lane as usize].asked_for;
                let ended = self.protocol.ended(&mut line.conn, asked);
                self.down(link, now);
                let mut why = reason;
                match (fault, ended) {
                    (Fault::Closed, reply @ Received::Reply { .. }) => {
                        self.lines[link as usize].asking.pop_front();
                        self.take_in(io, link, lane, &reply, now);
                    }
                    (Fault::Closed, Received::Broken(reason)) => why = reason,
                    _ => {}
                }
                self.abandon(io, link, why, now);
            }
            State::Down { .. } => {}
        }
    }

    /// Gives up what was asked on a connection that is no more: whether the system did it is not
    /// known.
    pub(super) fn abandon<I: Io>(&mut self, io: &mut I, link: Link, reason: Reason, now: Instant) {
        while let Some(lane) = self.lines[link as usize].asking.pop_front() {
            self.timeouts.stop(self.id(Who::Lane(lane)));
            self.fail_operation(lane, Outcome::Unknown, reason, now);
            let others = self.drop_awaited(io, lane, now);
            self.finish(io, lane, Outcome::Unknown, now);
            self.abandon_all(io, lane, others, now);
        }
    }

    /// Hangs up the connections on which the lane's operation still awaits something, since nobody
    /// will be there to take it; their places, as bits.
    pub(super) fn drop_awaited<I: Io>(&mut self, io: &mut I, lane: u32, now: Instant) -> u64 {
        let first = self.link(lane);
        let mut dropped = 0;
        for link in self.links_to(lane) {
            let asking = &mut self.lines[link as usize].asking;
            let before = asking.len();
            asking.retain(|&other| other != lane);
            if asking.len() < before {
                dropped |= 1 << (link - first);
                self.hang_up(io, link);
                self.down(link, now);
            }
        }
        dropped
    }

    /// Gives up what else was asked on connections that the lane has dropped.
    pub(super) fn abandon_all<I: Io>(&mut self, io: &mut I, lane: u32, places: u64, now: Instant) {
        for link in self.links_at(lane, places) {
            self.abandon(io, link, Reason::Behind, now);
        }
    }

    /// What was begun has taken too long.
    pub(super) fn time_out<I: Io>(&mut self, io: &mut I, id: u32, now: Instant) {
        self.timeouts.stop(id);
        match self.who(id) {
            Who::Line(link) => {
                io.close(link);
                if let State::Connecting { since, .. } = self.lines[link as usize].state {
                    let outcome = Outcome::TimedOut;
                    self.not_connected(io, link, since, outcome, Reason::TimedOut, now);
                }
            }
            Who::Lane(lane) => {
                let dropped = self.drop_awaited(io, lane, now);
                self.fail_operation(lane, Outcome::TimedOut, Reason::TimedOut, now);
                self.finish(io, lane, Outcome::TimedOut, now);
                self.abandon_all(io, lane, dropped, now);
            }
        }
    }

    /// Connecting did not succeed: so the transaction that waits for it has this outcome too.
    fn not_connected<I: Io>(
        &mut self,
        io: &mut I,
        link: Link,
        since: Instant,
        outcome: Outcome,
        reason: Reason,
        now: Instant,
    ) {
        self.timeouts.stop(self.id(Who::Line(link)));
        self.end_connect(link, since, outcome, Some(reason), now);
        self.down(link, now);
        self.protocol.unreachable(self.lines[link as usize].target);
        if self.waiting(link).is_some() {
            for lane in self.lanes_of(link) {
                if self.waits(lane, link) {
                    if let Task::Redirected(_) = self.lanes[lane as usize].task {
                        self.fail_operation(lane, outcome, reason, now);
                    }
                    self.finish(io, lane, outcome, now);
                }
            }
            if self.spread > 1 {
                // What waits may be for the others, and is not left until this one is there.
                self.assign(io);
            }
            return;
        }
        // Where there are several, it is not known yet who will need this one.
        if self.spread > 1 {
            return;
        }
        // In an open schedule the connection was made for whoever waits longest.
        let free = |&lane: &u32| self.lanes[lane as usize].task == Task::Free;
        let Some(lane) = self.lanes_of(link).find(free) else { return };
        if let Pace::Open { arrivals, .. } = &mut self.pace
            && let Some(due) = arrivals.take()
        {
            self.lanes[lane as usize].n = due.n;
            self.take_up(io, lane, due.intended, due.ready, now);
            if matches!(self.lanes[lane as usize].task, Task::Waiting(_)) {
                self.finish(io, lane, outcome, now);
            }
        }
    }

    /// Closes a connection; what was still to be sent on it is dropped.
    pub(super) fn hang_up<I: Io>(&mut self, io: &mut I, link: Link) {
        if self.corked == Some(link) {
            self.out.clear();
        }
        io.close(link);
    }

    /// There is no connection any more; another is made after a pause.
    pub(super) fn down(&mut self, link: Link, now: Instant) {
        let line = &mut self.lines[link as usize];
        let pause: Nanos = line.back_off();
        line.failures = line.failures.saturating_add(1);
        line.state = State::Down { retry: now + pause };
        self.wakes.add(now + pause, self.id(Who::Line(link)));
    }
}
