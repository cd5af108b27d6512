//! The threads of a trial: started together, watched, and waited for.
//!
//! Absent from it: what a thread does.

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
            let usage = self.usage(&endings);
            let mut whole = Ended { last_done: None, interrupted: false };
            for thread in threads {
                let ended = thread.join().map_err(|panic| EngineError::Bug(told(&*panic)))??;
                whole.last_done = whole.last_done.max(ended.last_done);
                whole.interrupted |= ended.interrupted;
            }
            Ok((whole, usage))
        })
    }

    /// What the process uses during the measured part; returns when that is over.
    fn usage(&self, endings: &mpsc::Receiver<()>) -> process::Usage {
        // Nothing is ever sent: the channel closes when the last thread has ended.
        let wait_until = |at: Instant| {
            let left = Duration::from_nanos(at.since(self.clock.now()).0);
            let _ended_or_not = endings.recv_timeout(left);
        };
        wait_until(Instant(0));
        let before = process::usage();
        match self.plan.stop {
            End::DurationNs(length) => wait_until(Instant(0) + Nanos(length)),
            End::Transactions(_) | End::PerClient(_) => {
                let _ended = endings.recv();
            }
        }
        let after = process::usage();
        process::Usage {
            user_ns: after.user_ns - before.user_ns,
            system_ns: after.system_ns - before.system_ns,
            max_resident_bytes: after.max_resident_bytes,
        }
    }
}

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
