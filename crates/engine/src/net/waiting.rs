//! How a worker waits when nothing is due: in the kernel, by polling, or one after the other.
//!
//! The same for every real provider, which has only to say how it looks and how it sleeps. Absent
//! from it: which way suits a Plan.

use std::io;
use std::thread;
use std::time::Duration;

use base::{Instant, Nanos};

/// How long is spent polling before or after a sleep: more than a wake-up takes.
const SPIN: Nanos = Nanos(50_000);
/// After so many spins in vain, only one wait in as many still begins with one.
const VAIN_SPINS: u32 = 16;

/// How a worker waits when nothing is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// In the kernel, until an event or the deadline.
    Sleep,
    /// In the kernel until shortly before the deadline, then by polling.
    SleepThenSpin,
    /// By polling for about as long as a wake-up takes, then in the kernel; where polling keeps
    /// finding nothing, nearly always in the kernel at once.
    SpinThenSleep,
    /// By polling alone.
    Spin,
    /// In the kernel, until there are so many events, or one after a window, or the deadline.
    /// Events are noticed up to the window late.
    Coalesce {
        /// How many events end a wait at once.
        answers: u32,
        /// How long fewer of them are left waiting.
        window: Nanos,
    },
    /// For so long, whatever comes meanwhile. What is due or answered is noticed up to that late.
    Tick(Nanos),
}

impl Waiting {
    /// Its name in the Measurement.
    pub fn name(self) -> &'static str {
        match self {
            Waiting::Sleep => "sleep",
            Waiting::SleepThenSpin => "sleep_then_spin",
            Waiting::SpinThenSleep => "spin_then_sleep",
            Waiting::Spin => "spin",
            Waiting::Coalesce { .. } => "coalesce",
            Waiting::Tick(_) => "tick",
        }
    }

    /// Whether it ever polls.
    pub fn spins(self) -> bool {
        !matches!(self, Waiting::Sleep | Waiting::Coalesce { .. } | Waiting::Tick(_))
    }
}

/// What can be waited for.
pub(super) trait Source {
    /// The time now.
    fn now(&self) -> Instant;
    /// Looks without waiting; says whether there is something to deliver.
    fn look(&mut self) -> io::Result<bool>;
    /// Waits in the kernel from `now` until there is something to deliver or the deadline has come.
    fn sleep(&mut self, now: Instant, deadline: Instant) -> io::Result<()>;
}

/// Waits in one way.
pub(super) struct Waiter {
    waiting: Waiting,
    /// Waits since polling before a sleep last found something.
    in_vain: u32,
}

impl Waiter {
    pub fn new(waiting: Waiting) -> Waiter {
        Waiter { waiting, in_vain: 0 }
    }

    /// Waits from `now` until there is something or the deadline has come; tells when that was.
    pub fn wait(
        &mut self,
        source: &mut impl Source,
        now: Instant,
        deadline: Instant,
    ) -> io::Result<Instant> {
        match self.waiting {
            Waiting::Sleep | Waiting::Coalesce { .. } => sleep(source, now, deadline),
            Waiting::Spin => Ok(spin(source, deadline)?.1),
            Waiting::SleepThenSpin if deadline.since(now) <= SPIN => Ok(spin(source, deadline)?.1),
            Waiting::SleepThenSpin => sleep(source, now, deadline - SPIN),
            Waiting::SpinThenSleep => self.spin_then_sleep(source, now, deadline),
            Waiting::Tick(length) => tick(source, length),
        }
    }

    fn spin_then_sleep(
        &mut self,
        source: &mut impl Source,
        now: Instant,
        deadline: Instant,
    ) -> io::Result<Instant> {
        self.in_vain = self.in_vain.saturating_add(1);
        if self.in_vain > VAIN_SPINS && !self.in_vain.is_multiple_of(VAIN_SPINS) {
            return sleep(source, now, deadline);
        }
        let (found, now) = spin(source, deadline.min(now + SPIN))?;
        if found {
            self.in_vain = 0;
        }
        if found || now >= deadline { Ok(now) } else { sleep(source, now, deadline) }
    }
}

fn sleep(source: &mut impl Source, now: Instant, deadline: Instant) -> io::Result<Instant> {
    source.sleep(now, deadline)?;
    Ok(source.now())
}

/// Sleeps for a length of time unless there is something at once; tells when it was over.
fn tick(source: &mut impl Source, length: Nanos) -> io::Result<Instant> {
    // Looking hands over what is to be sent, too.
    if !source.look()? {
        thread::sleep(Duration::from_nanos(length.0));
        source.look()?;
    }
    Ok(source.now())
}

/// Looks until there is something or the deadline has come; says which, and when.
fn spin(source: &mut impl Source, deadline: Instant) -> io::Result<(bool, Instant)> {
    loop {
        let found = source.look()?;
        let now = source.now();
        if found || now >= deadline {
            return Ok((found, now));
        }
    }
}
