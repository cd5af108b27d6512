//! The threads of a trial: started together, watched, and waited for.
//!
//! Absent from it: what a thread does, and how one that waits in a call is made to look up.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use base::clock::{Clock, monotonic_ns, wall_ns};
use base::{Instant, Nanos};
use tally::{Recorder, Sink};

use crate::error::{EngineError, HostError};
use crate::plan::{Plan, Stop as End};
use crate::process;
use crate::worker::{Ended, Stop};

/// How long the crew waits at most before it looks whether its threads are to be broken off.
const GLANCE: Nanos = Nanos(200_000_000);

/// What the threads of a trial share.
pub struct Crew<'a> {
    /// The Plan.
    pub plan: &'a Plan,
    /// The trial's time.
    pub clock: Clock,
    /// Set by whoever wants the trial to end now.
    pub asked: &'a AtomicBool,
    /// Where the Measurement is written.
    pub sink: &'a Sink,
    /// Ends the calls that threads wait in, once the trial is to end; `None` where threads look
    /// for themselves.
    pub break_off: Option<&'a dyn Fn()>,
}

impl Crew<'_> {
    /// Runs `work` on a thread for each recorder, each on its core, and waits for all.
    pub fn work(
        &self,
        recorders: Vec<Recorder>,
        work: impl Fn(u32, Recorder, Stop<'_>) -> Result<Ended, EngineError> + Sync,
    ) -> Result<(Ended, process::Usage), EngineError> {
        let failed = AtomicBool::new(false);
        let member = |index: u32, recorder| {
            let cpus = &self.plan.cpus;
            if !cpus.is_empty() {
                process::pin(&[cpus[index as usize % cpus.len()]])?;
            }
            work(index, recorder, Stop { asked: self.asked, failed: &failed, sink: self.sink })
        };
        std::thread::scope(|scope| {
            let (ending, endings) = mpsc::channel::<()>();
            let mut threads = Vec::new();
            for (index, recorder) in recorders.into_iter().enumerate() {
                let (ending, member, failed) = (ending.clone(), &member, &failed);
                let thread = std::thread::Builder::new().name(format!("worker {index}"));
                let spawned = thread.spawn_scoped(scope, move || {
                    let _open_until_the_thread_ends = ending;
                    let mut alarm = Alarm { failed, armed: true };
                    let ended = member(index as u32, recorder)?;
                    alarm.armed = false;
                    Ok::<_, EngineError>(ended)
                });
                threads.push(spawned.map_err(|error| {
                    failed.store(true, Ordering::Relaxed);
                    HostError::new(format!("cannot start a thread: {error}"), "use fewer of them")
                })?);
            }
            drop(ending);
            let stop = Stop { asked: self.asked, failed: &failed, sink: self.sink };
            let usage = self.usage(&endings, stop);
            let mut whole = Ended { last_done: None, interrupted: false };
            for thread in threads {
                let ended = thread.join().map_err(|panic| EngineError::Bug(told(&*panic)))??;
                whole.last_done = whole.last_done.max(ended.last_done);
                whole.interrupted |= ended.interrupted;
            }
            Ok((whole, usage))
        })
    }

    /// What the process uses during the measured part. Returns when that is over, or all threads
    /// have ended where they are to be broken off.
    fn usage(&self, endings: &mpsc::Receiver<()>, stop: Stop<'_>) -> process::Usage {
        self.watch(endings, Instant(0), stop);
        let before = process::usage();
        match self.plan.stop {
            End::DurationNs(length) => self.watch(endings, Instant(0) + Nanos(length), stop),
            End::Transactions(_) | End::PerClient(_) => self.watch(endings, FOREVER, stop),
        }
        let after = process::usage();
        if self.break_off.is_some() {
            self.watch(endings, FOREVER, stop);
        }
        process::Usage {
            user_ns: after.user_ns - before.user_ns,
            system_ns: after.system_ns - before.system_ns,
            max_resident_bytes: after.max_resident_bytes,
        }
    }

    /// Waits until `end`, or until the last thread has ended, breaking them off where that is asked
    /// for.
    fn watch(&self, endings: &mpsc::Receiver<()>, end: Instant, stop: Stop<'_>) {
        let mut now = self.clock.now();
        while now < end {
            let left = end.since(now);
            let length = if self.break_off.is_some() { left.min(GLANCE) } else { left };
            // Nothing is ever sent: the channel closes when the last thread has ended.
            let waited = endings.recv_timeout(Duration::from_nanos(length.0));
            if waited == Err(mpsc::RecvTimeoutError::Disconnected) {
                return;
            }
            if let Some(break_off) = self.break_off
                && stop.asked()
            {
                break_off();
            }
            now = self.clock.now();
        }
    }
}

/// Later than any trial, and near enough for the time until then to be a length.
const FOREVER: Instant = Instant(i64::MAX / 2);

/// Breaks the trial off for the other threads when one ends by an error or a panic.
struct Alarm<'a> {
    failed: &'a AtomicBool,
    armed: bool,
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.failed.store(true, Ordering::Relaxed);
        }
    }
}

/// The trial's clock: its origin lies late enough for connections to be there when the load starts.
pub fn clock(plan: &Plan, connections: u32) -> Result<Clock, HostError> {
    let warmup = i64::try_from(plan.warmup_ns).unwrap_or(i64::MAX);
    let lead = match plan.start_at {
        None => 50_000_000 + 100_000 * i64::from(connections),
        Some(start_at) => start_at.saturating_sub(wall_ns()),
    };
    if lead < 0 {
        let late = Nanos(lead.unsigned_abs()).as_seconds();
        return Err(HostError::new(
            format!("start_at was {late:.3} s ago"),
            "start the agents earlier, and set their clocks by one source",
        ));
    }
    Ok(Clock { origin_monotonic_ns: monotonic_ns().saturating_add(lead).saturating_add(warmup) })
}

fn told(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    text.or(owned).unwrap_or("panic").to_owned()
}
