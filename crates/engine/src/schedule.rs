//! When transactions should start, as a pure function of the Plan.
//!
//! An open schedule is the sequence of intended times; a closed one is think times and quotas.
//! Every worker of every agent makes its own share from the Plan alone, and the shares together are
//! the whole trial's. Absent: the clock, and what is asked.

use std::sync::Arc;

use base::random::{Draws, Key};
use base::{Instant, Nanos};

use crate::plan::{self, Arrivals, Part, Plan, Segment, Stop};

/// Which of the trial's clients (or, in an open schedule, connections) one worker serves: those
/// numbered `first`, `first + stride`, … below `total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    first: u64,
    stride: u64,
    total: u32,
}

impl Share {
    /// The share of worker `worker` of `workers` in the agent `part`.
    pub fn new(total: u32, part: Part, worker: u32, workers: u32) -> Share {
        let (index, of) = (u64::from(part.index), u64::from(part.of));
        Share { first: index + of * u64::from(worker), stride: of * u64::from(workers), total }
    }

    /// The numbers of its clients within the whole trial.
    pub fn clients(self) -> impl Iterator<Item = u32> {
        (self.first..u64::from(self.total)).step_by(self.stride as usize).map(|c| c as u32)
    }

    /// How many they are.
    pub fn len(self) -> u32 {
        u64::from(self.total).saturating_sub(self.first).div_ceil(self.stride) as u32
    }

    /// How many there are in the whole trial.
    pub fn total(self) -> u32 {
        self.total
    }

    /// Which share this is, of how many: the client number and count by which an open schedule's
    /// values are drawn, n being the transaction's ordinal in the share, so that they do not depend
    /// on which connection was free.
    pub fn stream(self) -> (u32, u32) {
        (self.first as u32, self.stride as u32)
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// How many of `total` transactions fall to `client` of `clients`: shares differ by at most one and
/// add up to the total.
fn portion(total: u64, client: u32, clients: u32) -> u64 {
    let clients = u64::from(clients);
    total / clients + u64::from(u64::from(client) < total % clients)
}

/// A stretch of the rate, in seconds from the origin.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start_s: f64,
    length_s: f64,
    from: f64,
    to: f64,
}

impl Stretch {
    fn of(segment: &Segment, start_s: f64) -> Stretch {
        Stretch {
            start_s,
            length_s: segment.length_ns as f64 / 1e9,
            from: segment.from_per_second,
            to: segment.to_per_second,
        }
    }

    /// The integral of the rate over the stretch: how many transactions are expected in it.
    fn mass(&self) -> f64 {
        if self.length_s.is_infinite() {
            if self.from > 0.0 { f64::INFINITY } else { 0.0 }
        } else {
            f64::midpoint(self.from, self.to) * self.length_s
        }
    }

    /// Seconds from the origin at which the integral from the stretch's start reaches `mass`: the
    /// root of from·t + (to − from)/(2·length)·t² = mass, in the form that never cancels.
    fn reaches(&self, mass: f64) -> f64 {
        let slope = (self.to - self.from) / self.length_s;
        let root = (self.from * self.from + 2.0 * slope * mass).max(0.0).sqrt();
        let sum = self.from + root;
        let t = if sum > 0.0 { 2.0 * mass / sum } else { 0.0 };
        self.start_s + t.min(self.length_s)
    }
}

/// The intended times of one worker's share of an open schedule, in order; negative in warm-up.
///
/// A clone is a second cursor over the same sequence: how far a stalled worker is behind can be
/// counted without keeping what it missed.
///
/// Poisson: a process of rate one, mapped through the inverse of the integrated rate (time
/// rescaling: E. Çınlar, "Introduction to Stochastic Processes", 1975, ch. 4), each share an
/// independent process at its part of the rate: their union is the whole trial's process, by
/// superposition. Constant: the trial's k-th transaction (k = 0 at the origin) starts when the
/// integrated rate reaches k, and belongs to connection k modulo their number.
#[derive(Clone, Debug)]
pub struct OpenSchedule {
    stretches: Arc<[Stretch]>,
    current: usize,
    process: Process,
    /// Intended times stop before this, in nanoseconds.
    end: Instant,
    /// Transactions of the measured part still to come.
    left: u64,
    head: Option<Instant>,
}

#[derive(Clone, Debug)]
enum Process {
    Poisson { draws: Draws, share: f64, mass: f64 },
    Constant { share: Share, cycle: i64, connection: u64, before: f64 },
}

impl OpenSchedule {
    /// The share of worker `worker` of `workers` in the Plan's agent; `None` where the schedule is
    /// closed or the worker has no connection. A count in `stop` is divided among the connections.
    pub fn new(plan: &Plan, worker: u32, workers: u32) -> Option<OpenSchedule> {
        let plan::Schedule::Open { arrivals, connections, shape } = &plan.schedule else {
            return None;
        };
        let share = Share::new(*connections, plan.part, worker, workers);
        let stretches = stretches(shape, plan.warmup_ns);
        if share.is_empty() || stretches.is_empty() {
            return None;
        }
        let warmup_mass = if plan.warmup_ns > 0 { stretches[0].mass() } else { 0.0 };
        let process = match arrivals {
            Arrivals::Poisson => Process::Poisson {
                draws: Key::new(plan.seeds.arrivals, "arrivals").draws(share.first as u32, 0),
                share: f64::from(share.len()) / f64::from(share.total),
                mass: 0.0,
            },
            Arrivals::Constant => Process::constant(share, warmup_mass),
        };
        let (end, left) = match plan.stop {
            Stop::DurationNs(duration) => (Instant(clamped(duration)), u64::MAX),
            Stop::Transactions(count) => {
                let portions = share.clients().map(|client| portion(count, client, share.total));
                (Instant(i64::MAX), portions.sum())
            }
            Stop::PerClient(count) => {
                (Instant(i64::MAX), count.saturating_mul(u64::from(share.len())))
            }
        };
        let mut schedule = OpenSchedule { stretches, current: 0, process, end, left, head: None };
        schedule.advance();
        Some(schedule)
    }

    /// The next intended time, left in place.
    pub fn peek(&self) -> Option<Instant> {
        self.head
    }

    fn advance(&mut self) {
        self.process.step();
        self.head = self.settle().filter(|&at| at < self.end);
        if self.head.is_some_and(|at| at >= Instant(0)) {
            match self.left.checked_sub(1) {
                Some(left) => self.left = left,
                None => self.head = None,
            }
        }
    }

    /// Finds the stretch in which the process's integrated rate is reached, and when.
    fn settle(&mut self) -> Option<Instant> {
        loop {
            let stretch = self.stretches.get(self.current)?;
            let needed = self.process.needed();
            let mass = stretch.mass();
            // An event on the edge belongs to the later stretch, so that one at the origin is not
            // taken for one of the warm-up.
            if needed < mass {
                return Some(Instant((stretch.reaches(needed) * 1e9).round() as i64));
            }
            self.process.spend(mass);
            self.current += 1;
        }
    }
}

impl Iterator for OpenSchedule {
    type Item = Instant;

    fn next(&mut self) -> Option<Instant> {
        let at = self.head?;
        self.advance();
        Some(at)
    }
}

impl Process {
    /// The whole trial's k-th transaction is the share's when k modulo connections is; warm-up has
    /// those with −mass ≤ k < 0.
    fn constant(share: Share, warmup_mass: f64) -> Process {
        let total = i64::from(share.total);
        let least = (-warmup_mass).ceil() as i64;
        let cycle = least.div_euclid(total);
        let within = least.rem_euclid(total) as u64;
        let passed = within.saturating_sub(share.first).div_ceil(share.stride);
        // One step before the first, since the process steps before it is read.
        let connection = (share.first + passed * share.stride).wrapping_sub(share.stride);
        Process::Constant { share, cycle, connection, before: -warmup_mass }
    }

    fn step(&mut self) {
        match self {
            Process::Poisson { draws, mass, .. } => *mass += draws.exponential(),
            Process::Constant { share, cycle, connection, .. } => {
                *connection = connection.wrapping_add(share.stride);
                if *connection >= u64::from(share.total) {
                    *connection = share.first;
                    *cycle += 1;
                }
            }
        }
    }

    /// The whole trial's integrated rate, from the start of the current stretch, at the next event.
    fn needed(&self) -> f64 {
        match self {
            Process::Poisson { share, mass, .. } => mass / share,
            Process::Constant { share, cycle, connection, before } => {
                (cycle * i64::from(share.total) + *connection as i64) as f64 - before
            }
        }
    }

    /// Leaves a stretch of this mass behind.
    fn spend(&mut self, stretch: f64) {
        match self {
            Process::Poisson { share, mass, .. } => *mass -= stretch * *share,
            Process::Constant { before, .. } => *before += stretch,
        }
    }
}

/// The rate from the start of the warm-up, at the initial rate, to the end of time, at the final.
fn stretches(shape: &[Segment], warmup_ns: u64) -> Arc<[Stretch]> {
    let (Some(first), Some(last)) = (shape.first(), shape.last()) else {
        return Arc::new([]);
    };
    let warmup = Segment {
        from_per_second: first.from_per_second,
        to_per_second: first.from_per_second,
        length_ns: warmup_ns,
    };
    let mut all = Vec::with_capacity(shape.len() + 2);
    if warmup_ns > 0 {
        all.push(Stretch::of(&warmup, -(warmup_ns as f64) / 1e9));
    }
    let mut start_ns = 0;
    for segment in shape {
        all.push(Stretch::of(segment, start_ns as f64 / 1e9));
        start_ns += segment.length_ns;
    }
    let rate = last.to_per_second;
    all.push(Stretch {
        start_s: start_ns as f64 / 1e9,
        length_s: f64::INFINITY,
        from: rate,
        to: rate,
    });
    all.into()
}

fn clamped(nanoseconds: u64) -> i64 {
    i64::try_from(nanoseconds).unwrap_or(i64::MAX)
}

/// The pauses of a closed schedule's clients.
#[derive(Clone, Copy, Debug)]
pub struct Think {
    law: plan::Think,
    key: Key,
}

impl Think {
    /// The Plan's think time; none where the schedule is open.
    pub fn new(plan: &Plan) -> Think {
        let law = match plan.schedule {
            plan::Schedule::Closed { think, .. } => think,
            plan::Schedule::Open { .. } => plan::Think::None,
        };
        Think { law, key: Key::new(plan.seeds.arrivals, "think") }
    }

    /// How long `client` thinks after its `n`th transaction.
    pub fn sample(&self, client: u32, n: u64) -> Nanos {
        match self.law {
            plan::Think::None => Nanos(0),
            plan::Think::ConstantNs(length) => Nanos(length),
            plan::Think::ExponentialNs(mean) => {
                Nanos((mean as f64 * self.key.draws(client, n).exponential()).round() as u64)
            }
        }
    }
}

/// How long a client of a closed schedule goes on starting transactions in the measured part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quota {
    /// This many; the counts of all clients add up to the trial's.
    Count(u64),
    /// Until this instant.
    Until(Instant),
}

impl Quota {
    /// The quota of `client` of the trial's `clients`.
    pub fn new(stop: Stop, client: u32, clients: u32) -> Quota {
        match stop {
            Stop::DurationNs(duration) => Quota::Until(Instant(clamped(duration))),
            Stop::Transactions(total) => Quota::Count(portion(total, client, clients)),
            Stop::PerClient(count) => Quota::Count(count),
        }
    }

    /// Whether a client that started `started` transactions since the origin may start one at `at`.
    pub fn allows(self, started: u64, at: Instant) -> bool {
        match self {
            Quota::Count(count) => at < Instant(0) || started < count,
            Quota::Until(end) => at < end,
        }
    }
}

#[cfg(test)]
mod tests;
