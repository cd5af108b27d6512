//! Clients of a system in the agent's own process: a thread each, which calls and waits.
//!
//! The sibling of [`crate::worker`] for drivers without a network: the same program, schedule,
//! outcomes and counting, but time is what the calls take. Absent from it: connections.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base::clock::Clock;
use base::{Instant, Nanos};
use tally::{Outcome, Recorder, Series, Times};

use crate::drivers::InProcess;
use crate::net::waiting::Waiting;
use crate::plan::{self, Plan};
use crate::process;
use crate::schedule::{OpenSchedule, Quota, Share, Think};
use crate::worker::{Ended, Stop};
use crate::workload::{self, OperationIndex, Program, Step};

/// How long a thread sleeps at most before it looks whether it is to stop.
const GLANCE: Nanos = Nanos(100_000_000);
/// How long before a deadline sleeping ends where the rest is spent polling the clock.
const SPIN: Nanos = Nanos(50_000);

/// How many threads a trial needs: one for each of the agent's clients.
pub fn threads(plan: &Plan) -> u32 {
    share(plan).len()
}

fn share(plan: &Plan) -> Share {
    let total = match plan.schedule {
        plan::Schedule::Closed { clients, .. } => clients,
        plan::Schedule::Open { connections, .. } => connections,
    };
    Share::new(total, plan.part, 0, 1)
}

/// What all clients share.
pub struct Calls<'a> {
    plan: &'a Plan,
    program: &'a Program,
    waiting: Waiting,
    /// The agent's share of an open schedule, and the ordinal of its next transaction. Whoever is
    /// free takes the next; the lock is held for nanoseconds.
    open: Option<Mutex<(OpenSchedule, u64)>>,
    /// When what has not been taken up of an open schedule is left as it is.
    tail_end: Instant,
}

impl<'a> Calls<'a> {
    /// Ready to be handed to threads.
    pub fn new(plan: &'a Plan, program: &'a Program, waiting: Waiting) -> Calls<'a> {
        let open = OpenSchedule::new(plan, 0, 1);
        let last = match plan.stop {
            plan::Stop::DurationNs(length) => Instant(0) + Nanos(length),
            plan::Stop::Transactions(_) | plan::Stop::PerClient(_) => {
                open.clone().and_then(Iterator::last).unwrap_or_default()
            }
        };
        let tail_end = last + Nanos(plan.timeout_ns);
        let open = open.map(|schedule| Mutex::new((schedule, 0)));
        Calls { plan, program, waiting, open, tail_end }
    }

    /// The agent's client of this index.
    pub fn client(
        &'a self,
        index: u32,
        clock: Clock,
        recorder: Recorder,
        stop: Stop<'a>,
    ) -> Caller<'a> {
        process::wake_punctually();
        let share = share(self.plan);
        let number = share.clients().nth(index as usize).unwrap_or_default();
        let client = match &self.open {
            Some(_) => self.program.client(share.stream().0, share.stream().1),
            None => self.program.client(number, share.total()),
        };
        Caller {
            shared: self,
            client,
            quota: Quota::new(self.plan.stop, number, share.total()),
            think: Think::new(self.plan),
            timeout: Nanos(self.plan.timeout_ns),
            clock,
            recorder,
            stop,
            woke: clock.now(),
            last_done: None,
            moved: (0, 0),
        }
    }

    /// The next transaction of an open schedule: its ordinal and intended time.
    fn take(&self) -> Option<(u64, Instant)> {
        let mut open = self.open.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let intended = open.0.next()?;
        open.1 += 1;
        Some((open.1 - 1, intended))
    }
}

/// One client, on its thread.
pub struct Caller<'a> {
    shared: &'a Calls<'a>,
    client: workload::Client,
    quota: Quota,
    think: Think,
    timeout: Nanos,
    clock: Clock,
    recorder: Recorder,
    stop: Stop<'a>,
    /// When it last woke up.
    woke: Instant,
    last_done: Option<Instant>,
    /// Bytes to and from the system within the present transaction.
    moved: (u64, u64),
}

impl Caller<'_> {
    /// Works until the trial is over.
    pub fn run(mut self, session: &mut impl InProcess) -> Ended {
        self.woke = self.clock.now();
        self.recorder.tick(self.woke);
        let complete = match self.shared.open {
            Some(_) => self.open(session),
            None => self.closed(session),
        } && self.wait_until(self.end());
        let now = self.clock.now();
        self.recorder.worked(now, now.since(self.woke));
        self.recorder.finish(now);
        Ended { last_done: self.last_done, interrupted: !complete }
    }

    /// When the measured part ends, where that is by time.
    fn end(&self) -> Instant {
        match self.shared.plan.stop {
            plan::Stop::DurationNs(length) => Instant(0) + Nanos(length),
            plan::Stop::Transactions(_) | plan::Stop::PerClient(_) => Instant(i64::MIN),
        }
    }

    fn closed(&mut self, session: &mut impl InProcess) -> bool {
        let mut due = Instant(-(self.shared.plan.warmup_ns as i64));
        let mut started = 0;
        let mut n = 0;
        while self.quota.allows(started, due) {
            if !self.wait_until(due) {
                return false;
            }
            started += u64::from(due >= Instant(0));
            let ready = self.clock.now();
            let Some(done) = self.transaction(session, n, due, ready) else {
                return false;
            };
            due = done + self.think.sample(self.client.number(), n);
            n += 1;
        }
        true
    }

    fn open(&mut self, session: &mut impl InProcess) -> bool {
        while let Some((n, intended)) = self.shared.take() {
            let taken = self.clock.now();
            if taken >= self.shared.tail_end {
                // Due and not taken up: nothing but that is counted.
                let series = self.shared.program.series(self.client.number(), n);
                self.recorder.due(series, intended);
                continue;
            }
            if !self.wait_until(intended) {
                return false;
            }
            // Whoever finds a transaction that is overdue was busy when it came due, as was every
            // other thread: that is waiting for a client, and no lag of this thread's.
            let ready = if taken > intended { intended } else { self.clock.now() };
            if self.transaction(session, n, intended, ready).is_none() {
                return false;
            }
        }
        true
    }

    /// Runs one transaction; says when it was done. One that is broken off is left open.
    fn transaction(
        &mut self,
        session: &mut impl InProcess,
        n: u64,
        intended: Instant,
        ready: Instant,
    ) -> Option<Instant> {
        let program = self.shared.program;
        let series = program.begin(&mut self.client, n).series;
        self.recorder.due(series, intended);
        let sent = self.clock.now();
        self.recorder.in_flight(sent, 1);
        let next = |client: &mut workload::Client, reply| program.step(client, reply);
        let outcome = self.steps(session, intended, ready, next)?;
        let done = self.clock.now();
        self.recorder.in_flight(done, -1);
        let moved = std::mem::take(&mut self.moved);
        self.recorder.ended(series, &Times { intended, ready, sent, done }, outcome, moved);
        if intended >= Instant(0) {
            self.last_done = Some(done);
        }
        self.glance(done);
        Some(done)
    }

    /// Does what `next` says until the transaction has ended; `None` where it is broken off.
    fn steps(
        &mut self,
        session: &mut impl InProcess,
        intended: Instant,
        ready: Instant,
        mut next: impl FnMut(&mut workload::Client, Option<Outcome>) -> Step,
    ) -> Option<Outcome> {
        let mut reply = None;
        loop {
            match next(&mut self.client, reply) {
                Step::Send(operation) => {
                    reply = Some(self.call(session, operation, intended, ready)?);
                }
                Step::Wait(length) => {
                    let until = self.clock.now() + length;
                    if !self.wait_until(until) {
                        return None;
                    }
                    reply = None;
                }
                Step::End(outcome) => return Some(outcome),
            }
        }
    }

    fn call(
        &mut self,
        session: &mut impl InProcess,
        operation: OperationIndex,
        intended: Instant,
        ready: Instant,
    ) -> Option<Outcome> {
        if self.stop.asked() {
            return None;
        }
        let series: Series = self.shared.program.operations()[operation].series;
        self.recorder.due(series, intended);
        let sent = self.clock.now();
        let answer = session.answer(operation, self.shared.program, &self.client);
        let done = self.clock.now();
        if answer.outcome != Outcome::Ok && self.stop.asked() {
            // Broken off with the trial: what the system would have said is not known.
            return None;
        }
        let late = answer.outcome == Outcome::Ok && done.since(sent) > self.timeout;
        let (outcome, why) = if late {
            (Outcome::TimedOut, "no answer within the time-out")
        } else {
            (answer.outcome, answer.why)
        };
        let (out, back) = answer.moved;
        self.moved.0 += out;
        self.moved.1 += back;
        if outcome != Outcome::Ok {
            self.recorder.error(series, outcome, why);
        }
        self.recorder.ended(series, &Times { intended, ready, sent, done }, outcome, answer.moved);
        Some(outcome)
    }

    /// Counts the time worked, and hands over what was counted at a second's edge.
    fn glance(&mut self, now: Instant) {
        if now.since(self.woke) >= GLANCE {
            self.recorder.worked(now, now.since(self.woke));
            self.woke = now;
        }
        self.recorder.tick(now);
    }

    /// Waits; says whether the trial goes on.
    fn wait_until(&mut self, at: Instant) -> bool {
        let mut now = self.clock.now();
        if self.stop.asked() {
            return false;
        }
        if now >= at {
            return true;
        }
        self.recorder.worked(now, now.since(self.woke));
        while now < at {
            let left = at.since(now);
            let spins = match self.shared.waiting {
                Waiting::Sleep
                | Waiting::SpinThenSleep
                | Waiting::Coalesce { .. }
                | Waiting::Tick(_) => false,
                Waiting::SleepThenSpin => left <= SPIN,
                Waiting::Spin => true,
            };
            if spins {
                std::hint::spin_loop();
            } else {
                let then_spins = self.shared.waiting == Waiting::SleepThenSpin;
                let early = if then_spins { SPIN } else { Nanos(0) };
                let length = Nanos(left.0 - early.0).min(GLANCE);
                std::thread::sleep(Duration::from_nanos(length.0));
            }
            now = self.clock.now();
            self.recorder.tick(now);
            if self.stop.asked() {
                return false;
            }
        }
        self.woke = now;
        true
    }
}

#[cfg(test)]
mod tests;
