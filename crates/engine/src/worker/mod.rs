//! One thread's share of a trial: a loop over time, network and the clients it serves.
//!
//! Schedule, program, driver and network are passed in; time comes from the network, so that the
//! same loop runs in the simulator. A *line* is a connection; a *lane* is one transaction at a time
//! on a line: in a closed schedule a client's, in an open one whoever's turn it is. A line has as
//! many lanes as the Plan's `pipeline` says, and their answers come in the order of asking. Where
//! a driver places what it asks on several servers, a line to each takes the place of one.
//! Absent from it: threads and files.

mod arrivals;
mod lane;
mod lifecycle;
mod lines;
mod timers;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Instant, Nanos};
use tally::{Recorder, Series, Sink};

use crate::drivers::Protocol;
use crate::net::{Event, Handler, Io, Link, Net};
use crate::plan::{self, Plan};
use crate::schedule::{OpenSchedule, Quota, Share, Think};
use crate::tls;
use crate::workload::Program;

use arrivals::Arrivals;
use lane::{Lane, Line, Task};
use timers::{Timeouts, Wakes};

/// How often a worker looks up from its work at the least, to see whether it is to stop.
const GLANCE_NS: i64 = 100_000_000;

/// What a worker is given.
pub struct Job<'a, P> {
    /// The Plan.
    pub plan: &'a Plan,
    /// Its workload, compiled.
    pub program: &'a Program,
    /// The driver, this worker's own.
    pub protocol: P,
    /// Where it counts.
    pub recorder: Recorder,
    /// The series of the operation `connect`.
    pub connect: Series,
    /// How connections are encrypted, where they are.
    pub tls: Option<&'a tls::Config>,
    /// Which of the agent's workers it is, from 0.
    pub worker: u32,
    /// Tells whether the trial is to be broken off.
    pub stop: Stop<'a>,
}

/// What breaks a trial off.
#[derive(Clone, Copy)]
pub struct Stop<'a> {
    /// Whoever started it wants it to end.
    pub asked: &'a AtomicBool,
    /// Another worker failed.
    pub failed: &'a AtomicBool,
    /// Where the Measurement is written.
    pub sink: &'a Sink,
}

impl Stop<'_> {
    /// Whether the trial is to be broken off.
    pub fn asked(self) -> bool {
        self.asked.load(Ordering::Relaxed)
            || self.failed.load(Ordering::Relaxed)
            || self.sink.failed()
    }
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When the last transaction of the measured part was done.
    pub last_done: Option<Instant>,
    /// Whether it was broken off.
    pub interrupted: bool,
}

/// A worker at work.
pub struct Worker<'a, P: Protocol> {
    program: &'a Program,
    protocol: P,
    recorder: Recorder,
    connect: Series,
    stop: Stop<'a>,
    lines: Vec<Line<P::Conn>>,
    lanes: Vec<Lane<P::Asked>>,
    /// How many lanes a line has.
    depth: u32,
    /// How many lines those lanes share: one, or one to each target.
    spread: u32,
    pace: Pace,
    timeouts: Timeouts,
    wakes: Wakes,
    timeout: Nanos,
    /// Whether each transaction has a connection of its own.
    fresh: bool,
    /// When transactions start at the earliest.
    start: Instant,
    /// When the measured part ends, if that is by time.
    end: Option<Instant>,
    /// Transactions that were begun and have not ended.
    under_way: u32,
    last_done: Option<Instant>,
    /// What is to be sent on the corked line.
    out: Vec<u8>,
    /// The line that requests are gathered for.
    corked: Option<Link>,
    tls: Option<&'a tls::Config>,
    /// What was decrypted, and what was encrypted.
    plain: Vec<u8>,
    wire: Vec<u8>,
}

/// Whom a time-out or a wake-up is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Lane(u32),
    Line(Link),
}

/// When transactions start.
enum Pace {
    Closed {
        think: Think,
        /// Clients that may still start one.
        active: u32,
    },
    Open {
        arrivals: Box<Arrivals>,
        /// Slots that may be free, the one that has been so for longest first.
        free: std::collections::VecDeque<u32>,
        /// The client number by which all of this worker's values are drawn.
        stream: u32,
    },
}

/// How many connections a worker has.
pub fn share(plan: &Plan, worker: u32) -> Share {
    let total = match plan.schedule {
        plan::Schedule::Closed { clients, .. } => clients / plan.pipeline,
        plan::Schedule::Open { connections, .. } => connections,
    };
    Share::new(total, plan.part, worker, plan.workers)
}

impl<'a, P: Protocol> Worker<'a, P> {
    /// A worker that has not begun yet.
    pub fn new(job: Job<'a, P>) -> Worker<'a, P> {
        let Job { plan, program, protocol, recorder, connect, tls, worker, stop } = job;
        let share = share(plan, worker);
        let (stream, streams) = share.stream();
        let open = OpenSchedule::new(plan, worker, plan.workers);
        let is_open = matches!(plan.schedule, plan::Schedule::Open { .. });
        let (depth, spread) = (plan.pipeline, protocol.spread());
        let lane = |(group, line): (u32, u32), place: u32| {
            let (number, total) = (line * depth + place, share.total() * depth);
            let client = if is_open {
                program.client(stream, streams)
            } else {
                program.client(number, total)
            };
            let quota = Quota::new(plan.stop, number, total);
            Lane::new(group * spread, protocol.asked(), client, quota)
        };
        let places = |line: (u32, u32)| (0..depth).map(move |place| (line, place));
        let groups = (0..).zip(share.clients());
        let lanes: Vec<_> =
            groups.flat_map(places).map(|(line, place)| lane(line, place)).collect();
        let line = |number: u32| {
            let target = number as usize % protocol.targets().len();
            Line::new(protocol.conn(target), target, depth as usize)
        };
        let numbers = |group: u32| group * spread..(group + 1) * spread;
        let lines: Vec<_> = share.clients().flat_map(numbers).map(line).collect();
        let start = Instant(-(plan.warmup_ns as i64));
        let count = lanes.len();
        let timed = count + lines.len();
        let pace = match open {
            Some(schedule) => Pace::Open {
                arrivals: Box::new(Arrivals::new(schedule, start)),
                free: std::collections::VecDeque::with_capacity(count),
                stream,
            },
            None => Pace::Closed { think: Think::new(plan), active: count as u32 },
        };
        Worker {
            program,
            protocol,
            recorder,
            connect,
            stop,
            lines,
            lanes,
            depth,
            spread,
            pace,
            timeouts: Timeouts::new(timed),
            wakes: Wakes::new(timed),
            timeout: Nanos(plan.timeout_ns),
            fresh: plan.connection == plan::Connection::New,
            start,
            end: match plan.stop {
                plan::Stop::DurationNs(length) => Some(Instant(0) + Nanos(length)),
                plan::Stop::Transactions(_) | plan::Stop::PerClient(_) => None,
            },
            under_way: 0,
            last_done: None,
            out: Vec::with_capacity(16 * 1024),
            corked: None,
            tls,
            plain: Vec::new(),
            wire: Vec::new(),
        }
    }

    /// Works until the trial is over.
    pub fn run<N: Net>(mut self, net: &mut N) -> io::Result<Ended> {
        self.prepare(net.io());
        let mut woke = net.io().now();
        loop {
            let now = net.io().now();
            self.recorder.tick(now);
            let now = if self.advance(net.io(), now) { net.io().now() } else { now };
            let interrupted = self.stop.asked();
            if interrupted || self.is_over(now) {
                self.recorder.worked(now, now.since(woke));
                self.recorder.finish(now);
                return Ok(Ended { last_done: self.last_done, interrupted });
            }
            self.recorder.worked(now, now.since(woke));
            woke = net.wait(now, self.deadline(now))?;
            net.deliver(&mut self);
        }
    }

    /// Connects, and sets the clients to start when the warm-up does.
    fn prepare<I: Io>(&mut self, io: &mut I) {
        let now = io.now();
        if !self.fresh {
            for link in 0..self.lines.len() as u32 {
                self.connect(io, link, now);
            }
        }
        for lane in 0..self.lanes.len() as u32 {
            if let Pace::Closed { .. } = self.pace {
                self.rest(lane, self.start);
            } else {
                self.offer(lane, now);
            }
        }
    }

    /// Does what is due; says whether there was anything.
    fn advance<I: Io>(&mut self, io: &mut I, now: Instant) -> bool {
        let mut did = false;
        while let Some((id, since)) = self.timeouts.oldest()
            && since + self.timeout <= now
        {
            did = true;
            self.time_out(io, id, now);
        }
        while let Some(id) = self.wakes.pop(now) {
            did = true;
            // The time is read for each, since the one before took its while.
            let now = io.now();
            self.woken(io, id, now);
        }
        did |= self.notice(io, now);
        self.uncork(io);
        did
    }

    /// Notices what came due in an open schedule, and starts what it can.
    fn notice<I: Io>(&mut self, io: &mut I, now: Instant) -> bool {
        let Pace::Open { arrivals, stream, .. } = &mut self.pace else { return false };
        let mut came = false;
        while let Some((n, intended)) = arrivals.notice(now) {
            came = true;
            self.recorder.due(self.program.series(*stream, n), intended);
        }
        if came {
            self.assign(io);
        }
        came
    }

    /// When there will be something to do, if nothing arrives before.
    fn deadline(&self, now: Instant) -> Instant {
        let mut deadline = Instant((now.0.div_euclid(GLANCE_NS) + 1) * GLANCE_NS);
        let mut until = |at: Option<Instant>| {
            if let Some(at) = at {
                deadline = deadline.min(at);
            }
        };
        until(self.timeouts.oldest().map(|(_, since)| since + self.timeout));
        until(self.wakes.next());
        until(self.end.filter(|&end| end > now));
        if let Pace::Open { arrivals, .. } = &self.pace {
            until(arrivals.next());
        }
        deadline
    }

    /// The last instant at which anything was to start, once it is known.
    fn last(&self) -> Option<Instant> {
        match &self.pace {
            Pace::Closed { .. } => self.end,
            Pace::Open { arrivals, .. } => self.end.or(arrivals.exhausted()),
        }
    }

    /// Whether what still waits is left waiting: the tail lasts for as long as the time-out.
    fn is_closing(&self, now: Instant) -> bool {
        self.last().is_some_and(|last| now >= last + self.timeout)
    }

    /// Whether all that is to be done is done. What was sent within the tail may still end, or time
    /// out; what goes on for longer, having many operations, is left open.
    fn is_over(&self, now: Instant) -> bool {
        if self.end.is_some_and(|end| now < end) {
            return false;
        }
        let none_to_come = match &self.pace {
            Pace::Closed { active, .. } => *active == 0,
            Pace::Open { arrivals, .. } => {
                let taken = arrivals.is_idle() || self.is_closing(now);
                arrivals.exhausted().is_some() && taken
            }
        };
        let tails = Nanos(self.timeout.0.saturating_mul(2));
        (none_to_come && self.under_way == 0) || self.last().is_some_and(|l| now >= l + tails)
    }
}

impl<I: Io, P: Protocol> Handler<I> for Worker<'_, P> {
    // It stays a function, so that its instructions can be counted by its name.
    #[inline(never)]
    fn on(&mut self, io: &mut I, event: Event<'_>) {
        let now = io.now();
        match event {
            Event::Connected(link) => self.reached(io, link, now),
            Event::Data(link, bytes) if self.lines[link as usize].tls.is_some() => {
                self.decrypt(io, link, bytes, now);
            }
            Event::Data(link, bytes) => self.received(io, link, bytes, now),
            Event::Lost(link, fault) => self.lost(io, link, fault, now),
        }
        self.uncork(io);
    }
}

impl<P: Protocol> Worker<'_, P> {
    /// The line of a lane, the first of several.
    fn link(&self, lane: u32) -> Link {
        self.lanes[lane as usize].link
    }

    /// The lines that the lane's present operation goes to.
    fn links_to(&self, lane: u32) -> impl Iterator<Item = Link> + use<P> {
        self.links_at(lane, self.lanes[lane as usize].places)
    }

    /// Those of the lane's lines whose bits are set.
    fn links_at(&self, lane: u32, places: u64) -> impl Iterator<Item = Link> + use<P> {
        let first = self.link(lane);
        (0..self.spread).filter(move |place| places >> place & 1 == 1).map(move |at| first + at)
    }

    /// The lanes of a line.
    fn lanes_of(&self, link: Link) -> std::ops::Range<u32> {
        let group = if self.spread == 1 { link } else { link / self.spread };
        group * self.depth..(group + 1) * self.depth
    }

    /// Whoever it is, as a number among the time-outs and wake-ups.
    fn id(&self, who: Who) -> u32 {
        match who {
            Who::Lane(lane) => lane,
            Who::Line(link) => self.lanes.len() as u32 + link,
        }
    }

    fn who(&self, id: u32) -> Who {
        match id.checked_sub(self.lanes.len() as u32) {
            None => Who::Lane(id),
            Some(link) => Who::Line(link),
        }
    }

    /// Gathers what is to be sent on this line, so that requests that follow one another on it
    /// leave at once.
    fn cork<I: Io>(&mut self, io: &mut I, link: Link) {
        if self.corked != Some(link) {
            self.uncork(io);
            self.corked = Some(link);
        }
    }

    /// Sends what was gathered.
    fn uncork<I: Io>(&mut self, io: &mut I) {
        if let Some(link) = self.corked.take()
            && !self.out.is_empty()
        {
            self.send(io, link);
        }
    }

    /// Lets a client's next transaction be due at `at`.
    fn rest(&mut self, index: u32, at: Instant) {
        let lane = &mut self.lanes[index as usize];
        if lane.quota.allows(lane.started, at) {
            lane.task = Task::Resting { until: at };
            self.wakes.add(at, self.id(Who::Lane(index)));
        } else {
            self.retire(index);
        }
    }

    fn retire(&mut self, index: u32) {
        self.lanes[index as usize].task = Task::Finished;
        if let Pace::Closed { active, .. } = &mut self.pace {
            *active -= 1;
        }
    }
}
