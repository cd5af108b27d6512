//! A simulated network, server and clock: exact, single-threaded, and as fast as it computes.
//!
//! Its server answers real bytes through the same [`Service`] as the null server. Time moves from
//! event to event; nothing is ever slept through. Absent from it: congestion, lost packets, and a
//! limit on the server's queue.

use std::cmp::Reverse;
use std::collections::binary_heap::{BinaryHeap, PeekMut};
use std::collections::{BTreeMap, VecDeque};
use std::io;

use base::random::{Draws, Key};
use base::{Instant, Nanos};

use super::{Event, Fault, Handler, Io, Link, Net};
use crate::plan::{Freeze, Misdeed, Sim as Setup, SimService};
use crate::responder::{Answered, Service, Session};

/// The provider.
pub struct World {
    state: State,
}

/// The world at one instant.
pub struct State {
    now: Instant,
    setup: Setup,
    service: Box<dyn Service>,
    /// What will happen, in order of time and then of being brought about.
    future: BinaryHeap<Reverse<(Instant, u64, Happening)>>,
    brought_about: u64,
    links: Vec<End>,
    server: Server,
}

/// One connection, both its ends.
#[derive(Default)]
struct End {
    /// Counts the connections this link has had, so that what was under way to one that is no more
    /// is dropped.
    generation: u32,
    open: bool,
    /// Whether the server never answers here again: answers come in order, so one that does not
    /// come holds up those behind it.
    silent: bool,
    session: Option<Box<dyn Session>>,
}

struct Server {
    idle: u32,
    queue: VecDeque<Job>,
    /// Ordinal of the next request.
    requests: u64,
    draws: Draws,
    misdeeds: BTreeMap<u64, Misdeed>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    link: Link,
    generation: u32,
    answer: Vec<u8>,
    keep: bool,
    misdeed: Option<Misdeed>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// Bytes reach the server.
    Asked(Link, u32, Vec<u8>),
    /// The server is done with a request.
    Served(Job),
    /// The client learns that it is connected.
    Connected(Link, u32),
    /// Bytes reach the client.
    Answered(Link, u32, Vec<u8>),
    /// The server's close reaches the client.
    Closed(Link, u32),
}

impl Happening {
    fn is_the_clients(&self) -> bool {
        !matches!(self, Happening::Asked(..) | Happening::Served(_))
    }
}

impl World {
    /// A world that begins at `start`, whose server answers as `service` does, after work drawn by
    /// `seed`.
    pub fn new(
        setup: &Setup,
        start: Instant,
        links: u32,
        service: Box<dyn Service>,
        seed: u64,
    ) -> World {
        let server = Server {
            idle: setup.servers,
            queue: VecDeque::new(),
            requests: 0,
            draws: Key::new(seed, "service").draws(0, 0),
            misdeeds: setup.misdeeds.clone(),
        };
        let mut setup = setup.clone();
        setup.freezes.sort_by_key(|freeze| freeze.at_ns);
        let state = State {
            now: start,
            setup,
            service,
            future: BinaryHeap::new(),
            brought_about: 0,
            links: (0..links).map(|_| End::default()).collect(),
            server,
        };
        World { state }
    }
}

impl World {
    /// The time now.
    pub fn now(&self) -> Instant {
        self.state.now
    }
}

impl Net for World {
    type Io = State;

    fn io(&mut self) -> &mut State {
        &mut self.state
    }

    fn wait(&mut self, _now: Instant, deadline: Instant) -> io::Result<Instant> {
        let state = &mut self.state;
        let mut until = deadline.max(state.now);
        while let Some(Reverse((at, _, happening))) = state.future.peek() {
            if *at > until {
                break;
            }
            if happening.is_the_clients() {
                until = *at;
                break;
            }
            state.pass_server();
        }
        let woke = state.now.max(until);
        // Waiting is over; what a starved agent loses then counts as work, as by the clock.
        state.now = woke + Nanos(state.setup.agent_step_ns);
        Ok(woke)
    }

    fn deliver(&mut self, handler: &mut impl Handler<State>) {
        let state = &mut self.state;
        let ahead = state.brought_about;
        while let Some(Reverse((at, ordinal, happening))) = state.future.peek() {
            // What the handler brings about is for the next round, as with a real poll.
            if *at > state.now || *ordinal >= ahead {
                break;
            }
            if !happening.is_the_clients() {
                state.pass_server();
                continue;
            }
            let Some(Reverse((at, _, mut happening))) = state.future.pop() else { break };
            state.gather(at, &mut happening);
            state.tell(happening, handler);
        }
    }
}

impl State {
    fn bring_about(&mut self, at: Instant, happening: Happening) {
        self.future.push(Reverse((at, self.brought_about, happening)));
        self.brought_about += 1;
    }

    /// Adds to an answer those that reach the client with it, as they would be read together.
    fn gather(&mut self, at: Instant, happening: &mut Happening) {
        let Happening::Answered(link, generation, bytes) = happening else { return };
        while let Some(next) = self.future.peek_mut()
            && let Reverse((then, _, Happening::Answered(to, of, more))) = &*next
            && (*then, *to, *of) == (at, *link, *generation)
        {
            bytes.extend_from_slice(more);
            PeekMut::pop(next);
        }
    }

    fn there(&self, link: Link, generation: u32) -> bool {
        let end = &self.links[link as usize];
        end.open && end.generation == generation
    }

    fn tell(&mut self, happening: Happening, handler: &mut impl Handler<State>) {
        match happening {
            Happening::Connected(link, generation) if self.there(link, generation) => {
                handler.on(self, Event::Connected(link));
            }
            Happening::Answered(link, generation, bytes) if self.there(link, generation) => {
                handler.on(self, Event::Data(link, &bytes));
            }
            Happening::Closed(link, generation) if self.there(link, generation) => {
                self.close(link);
                handler.on(self, Event::Lost(link, Fault::Closed));
            }
            _ => {}
        }
    }

    /// Lets the server's next happening come to pass, at its own time.
    fn pass_server(&mut self) {
        match self.future.pop() {
            Some(Reverse((at, _, Happening::Asked(link, generation, bytes)))) => {
                self.asked(at, link, generation, &bytes);
            }
            Some(Reverse((at, _, Happening::Served(job)))) => self.served(at, job),
            _ => {}
        }
    }

    fn asked(&mut self, at: Instant, link: Link, generation: u32, mut bytes: &[u8]) {
        if !self.there(link, generation) {
            return;
        }
        loop {
            let Some(session) = &mut self.links[link as usize].session else { return };
            let mut answer = Vec::new();
            match session.answer(&mut bytes, &mut answer) {
                Ok(Answered::More) => return,
                Ok(Answered::Aside | Answered::Secure) => {
                    let at = at + Nanos(self.setup.latency_ns);
                    self.bring_about(at, Happening::Answered(link, generation, answer));
                }
                Ok(Answered::Request { keep }) => {
                    self.take_in(at, Job { link, generation, answer, keep, misdeed: None });
                }
                Err(_) => {
                    let at = at + Nanos(self.setup.latency_ns);
                    return self.bring_about(at, Happening::Closed(link, generation));
                }
            }
        }
    }

    fn take_in(&mut self, at: Instant, mut job: Job) {
        let ordinal = self.server.requests;
        self.server.requests += 1;
        job.misdeed = self.server.misdeeds.get(&ordinal).copied();
        if self.server.idle == 0 {
            self.server.queue.push_back(job);
        } else {
            self.server.idle -= 1;
            self.serve(at, job);
        }
    }

    fn serve(&mut self, at: Instant, job: Job) {
        let work = match self.setup.service {
            SimService::ConstantNs(length) => length,
            SimService::ExponentialNs(mean) => {
                (mean as f64 * self.server.draws.exponential()).round() as u64
            }
        };
        let done = thawed(&self.setup.freezes, at, Nanos(work));
        self.bring_about(done, Happening::Served(job));
    }

    fn served(&mut self, at: Instant, job: Job) {
        self.answer(at, job);
        match self.server.queue.pop_front() {
            Some(next) => self.serve(at, next),
            None => self.server.idle += 1,
        }
    }

    fn answer(&mut self, at: Instant, job: Job) {
        let Job { link, generation, mut answer, keep, misdeed } = job;
        if self.there(link, generation) && self.links[link as usize].silent {
            return;
        }
        let arrives = at + Nanos(self.setup.latency_ns);
        let half = answer.len() / 2;
        let closes = match misdeed {
            None => !keep,
            Some(Misdeed::Error) => {
                answer.clear();
                if let Some(session) = &mut self.links[link as usize].session {
                    session.deny(&mut answer);
                }
                false
            }
            Some(Misdeed::Garbage) => {
                answer = b"\x16\x03 this is no answer\r\n\r\n".to_vec();
                false
            }
            Some(Misdeed::Cut) => {
                answer.truncate(half);
                true
            }
            Some(Misdeed::Close) => {
                answer.clear();
                true
            }
            Some(Misdeed::Silence) => {
                if self.there(link, generation) {
                    self.links[link as usize].silent = true;
                }
                return;
            }
        };
        if !answer.is_empty() {
            self.bring_about(arrives, Happening::Answered(link, generation, answer));
        }
        if closes {
            self.bring_about(arrives, Happening::Closed(link, generation));
        }
    }
}

/// When `work` begun at `start` is done by a server that stands still during `freezes`, which are
/// in order of time.
fn thawed(freezes: &[Freeze], start: Instant, work: Nanos) -> Instant {
    let mut done = start + work;
    for freeze in freezes {
        let (from, to) = (Instant(freeze.at_ns), Instant(freeze.at_ns) + Nanos(freeze.for_ns));
        if to > start && from < done {
            done = done + to.since(from.max(start));
        }
    }
    done
}

impl Io for State {
    fn now(&self) -> Instant {
        self.now
    }

    fn connect(&mut self, link: Link, _target: usize) {
        let end = &mut self.links[link as usize];
        end.open = true;
        end.silent = false;
        let mut session = self.service.session();
        let mut greeting = Vec::new();
        session.greet(&mut greeting);
        end.session = Some(session);
        let generation = end.generation;
        let at = self.now + Nanos(2 * self.setup.latency_ns);
        self.bring_about(at, Happening::Connected(link, generation));
        if !greeting.is_empty() {
            self.bring_about(at, Happening::Answered(link, generation, greeting));
        }
    }

    fn send(&mut self, link: Link, bytes: &[u8]) {
        let generation = self.links[link as usize].generation;
        let at = self.now + Nanos(self.setup.latency_ns);
        self.bring_about(at, Happening::Asked(link, generation, bytes.to_vec()));
    }

    fn close(&mut self, link: Link) {
        let end = &mut self.links[link as usize];
        end.open = false;
        end.generation = end.generation.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_stands_still_while_the_server_is_frozen() {
        let freezes = [Freeze { at_ns: 10, for_ns: 5 }, Freeze { at_ns: 100, for_ns: 50 }];
        let done = |start, work| thawed(&freezes, Instant(start), Nanos(work)).0;
        assert_eq!(done(0, 5), 5);
        assert_eq!(done(0, 10), 10);
        assert_eq!(done(0, 11), 16);
        assert_eq!(done(12, 4), 19);
        assert_eq!(done(0, 100), 155);
        assert_eq!(done(150, 7), 157);
    }
}
