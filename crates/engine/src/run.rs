//! A whole trial: Plan in, Measurement out.
//!
//! It settles where time starts, gives each worker its thread, its core and its share, and writes
//! what the trial as a whole has to say. Absent from it: what happens within a worker.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use base::clock::{Clock, monotonic_ns, thread_cpu_ns, wall_ns};
use base::{Instant, Nanos};
use serde_json::{Value, json};
use tally::{Kind, Layout, Options, Progress, Recorder, Series, Sink, TallyError};

use crate::drivers::http::{self, Http};
use crate::error::{EngineError, HostError, PlanError};
use crate::net::epoll::{Epoll, Waiting};
use crate::net::sim::World;
use crate::plan::{Connection, Driver, Net, Plan, Schedule, Sim, SimService, Stop as End, Wait};
use crate::process;
use crate::responder::Answer;
use crate::worker::{self, Ended, Job, Stop, Worker};
use crate::workload::Program;

/// How a trial is watched and broken off.
pub struct Control<'a> {
    /// Set by whoever wants the trial to end now.
    pub stop: &'a AtomicBool,
    /// Called once a second, on another thread.
    pub progress: Option<Box<dyn FnMut(Progress) + Send>>,
    /// Whether a debug build may measure.
    pub allow_debug: bool,
}

/// How a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// As its Plan says.
    Complete,
    /// Broken off; what was measured until then is written.
    Interrupted,
}

/// Runs the trial of a Plan, JSON, and writes its Measurement to `out` as it goes.
pub fn run(
    text: &str,
    out: Box<dyn Write + Send>,
    control: Control<'_>,
) -> Result<Finished, EngineError> {
    let plan = Plan::read(text)?;
    let simulated = plan.net == Net::Sim;
    if cfg!(debug_assertions) && !control.allow_debug && !simulated {
        let what = "this is a debug build, whose figures mean nothing";
        return Err(HostError::new(what, "build with --release (or pass --allow-debug)").into());
    }
    let mut layout = Layout::new();
    let program = Program::compile(&plan.workload, &plan.seeds, &mut layout)?;
    let (http, hosts) = compile_http(&plan, &program)?;
    let connect = layout.add(Kind::Operation, "connect");
    let trial = Trial { plan: &plan, program: &program, http, connect, asked: control.stop };
    let options = Options {
        layout,
        plan: text.to_owned(),
        build: build(),
        workers: plan.workers as usize,
        timeout: Nanos(plan.timeout_ns),
        cpu_clock: (!simulated).then_some(|| Nanos(thread_cpu_ns() as u64)),
        progress: control.progress,
    };
    if let Some(sim) = &plan.sim {
        return trial.simulate(sim, options, out);
    }
    trial.measure(&hosts, options, out)
}

/// Checks a Plan, JSON, as far as that can be done without running it.
pub fn check(text: &str) -> Result<(), PlanError> {
    let plan = Plan::read(text)?;
    if let Some(sim) = &plan.sim {
        check_simulation(&plan, sim)?;
    }
    let program = Program::compile(&plan.workload, &plan.seeds, &mut Layout::new())?;
    compile_http(&plan, &program).map(|_| ())
}

fn compile_http(plan: &Plan, program: &Program) -> Result<(Http, Vec<String>), PlanError> {
    let Driver::Http { targets } = &plan.driver else {
        return Err(PlanError::new("driver", "", "not built yet"));
    };
    let field = |index| format!("driver.targets[{index}]");
    let named = targets.iter().enumerate().map(|(index, t)| http::host(t, &field(index)));
    let hosts = named.collect::<Result<Vec<_>, _>>()?;
    let http = Http::compile(program, hosts.clone(), plan.connection == Connection::New)?;
    Ok((http, hosts))
}

struct Trial<'a> {
    plan: &'a Plan,
    program: &'a Program,
    http: Http,
    connect: Series,
    asked: &'a AtomicBool,
}

impl Trial<'_> {
    fn job<'a>(&'a self, recorder: Recorder, worker: u32, stop: Stop<'a>) -> Job<'a, Http> {
        Job {
            plan: self.plan,
            program: self.program,
            protocol: self.http.clone(),
            recorder,
            connect: self.connect,
            targets: self.http.targets(),
            worker,
            stop,
        }
    }

    fn simulate(
        &self,
        sim: &Sim,
        options: Options,
        out: Box<dyn Write + Send>,
    ) -> Result<Finished, EngineError> {
        check_simulation(self.plan, sim)?;
        let (sink, mut recorders) = Sink::synchronous(options, out).map_err(unwritten)?;
        let note = json!({
            "origin_wall_ns": 0, "origin_monotonic_ns": 0, "net": "sim", "wait": "none",
            "workers": 1, "pid": 0,
        });
        let start = Instant(-(self.plan.warmup_ns as i64) - 4 * sim.latency_ns as i64 - 1_000_000);
        sink.event(start, "start", &note);
        let answer = Answer::new(200, &[], b"").map_err(|e| EngineError::Bug(e.to_string()))?;
        let links = worker::share(self.plan, 0).len();
        let mut world = World::new(sim, start, links, answer, self.plan.seeds.faults);
        let failed = AtomicBool::new(false);
        let recorder = recorders.remove(0);
        let stop = Stop { asked: self.asked, failed: &failed, sink: &sink };
        let ended = Worker::new(self.job(recorder, 0, stop))
            .run(&mut world)
            .map_err(|error| EngineError::Bug(error.to_string()))?;
        let usage = process::Usage { user_ns: 0, system_ns: 0, max_resident_bytes: 0 };
        self.close(sink, ended, world.now(), usage)
    }

    fn measure(
        &self,
        hosts: &[String],
        options: Options,
        out: Box<dyn Write + Send>,
    ) -> Result<Finished, EngineError> {
        let plan = self.plan;
        process::pin(&plan.cpus)?;
        let connections: u32 = (0..plan.workers).map(|w| worker::share(plan, w).len()).sum();
        process::allow_open_files(u64::from(connections) + 64 + 4 * u64::from(plan.workers))?;
        let resolved = hosts.iter().map(|host| http::resolve(host));
        let addresses = resolved.collect::<Result<Vec<_>, _>>()?;
        let clock = Clock { origin_monotonic_ns: origin_monotonic_ns(plan, connections)? };
        let waiting = waiting(plan);
        let (sink, recorders) = Sink::threaded(options, out).map_err(unwritten)?;
        let note = json!({
            "origin_wall_ns": wall_ns() - clock.now().0,
            "origin_monotonic_ns": clock.origin_monotonic_ns,
            "net": "epoll", "wait": waiting.name(), "workers": plan.workers,
            "pid": std::process::id(),
        });
        sink.event(Instant(-(plan.warmup_ns as i64)), "start", &note);
        let crew = Crew { trial: self, clock, addresses, waiting, sink: &sink };
        let (ended, usage) = crew.work(recorders)?;
        self.close(sink, ended, clock.now(), usage)
    }

    fn close(
        &self,
        sink: Sink,
        ended: Ended,
        now: Instant,
        usage: process::Usage,
    ) -> Result<Finished, EngineError> {
        let elapsed = match self.plan.stop {
            End::DurationNs(length) if !ended.interrupted => Instant(length as i64),
            End::DurationNs(length) => now.min(Instant(length as i64)),
            End::Transactions(_) | End::PerClient(_) => ended.last_done.unwrap_or_default(),
        };
        let finished = if ended.interrupted { Finished::Interrupted } else { Finished::Complete };
        let broken = sink.failed();
        let note = json!({
            "reason": if ended.interrupted { "interrupted" } else { "complete" },
            "elapsed_ns": elapsed.0.max(0),
            "user_cpu_ns": usage.user_ns,
            "system_cpu_ns": usage.system_ns,
            "max_resident_bytes": usage.max_resident_bytes,
        });
        sink.close(now.max(elapsed), &note).map_err(unwritten)?;
        if broken {
            return Err(EngineError::Bug("the Measurement failed without a reason".to_owned()));
        }
        Ok(finished)
    }
}

/// The worker threads of a trial.
struct Crew<'a> {
    trial: &'a Trial<'a>,
    clock: Clock,
    addresses: Vec<SocketAddr>,
    waiting: Waiting,
    sink: &'a Sink,
}

impl Crew<'_> {
    fn work(&self, recorders: Vec<Recorder>) -> Result<(Ended, process::Usage), EngineError> {
        let failed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (ending, endings) = mpsc::channel::<()>();
            let mut threads = Vec::new();
            for (worker, recorder) in recorders.into_iter().enumerate() {
                let (ending, failed) = (ending.clone(), &failed);
                let thread = std::thread::Builder::new().name(format!("worker {worker}"));
                let spawned = thread.spawn_scoped(scope, move || {
                    let ended = self.worker(worker as u32, recorder, failed);
                    if ended.is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                    drop(ending);
                    ended
                });
                threads.push(spawned.map_err(|error| {
                    failed.store(true, Ordering::Relaxed);
                    HostError::new(format!("cannot start a thread: {error}"), "use fewer workers")
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

    fn worker(
        &self,
        index: u32,
        recorder: Recorder,
        failed: &AtomicBool,
    ) -> Result<Ended, EngineError> {
        let plan = self.trial.plan;
        if !plan.cpus.is_empty() {
            process::pin(&[plan.cpus[index as usize % plan.cpus.len()]])?;
        }
        let links = worker::share(plan, index).len();
        let refused = |error: std::io::Error| {
            HostError::new(format!("epoll refuses: {error}"), "raise the limit on open files")
        };
        let mut net =
            Epoll::new(self.clock, self.addresses.clone(), links, self.waiting).map_err(refused)?;
        let stop = Stop { asked: self.trial.asked, failed, sink: self.sink };
        let job = self.trial.job(recorder, index, stop);
        Ok(Worker::new(job).run(&mut net).map_err(refused)?)
    }

    /// What the process uses during the measured part; returns when that is over.
    fn usage(&self, endings: &mpsc::Receiver<()>) -> process::Usage {
        // Nothing is ever sent: the channel closes when the last worker has ended.
        let wait_until = |at: Instant| {
            let left = Duration::from_nanos(at.since(self.clock.now()).0);
            let _ended_or_not = endings.recv_timeout(left);
        };
        wait_until(Instant(0));
        let before = process::usage();
        match self.trial.plan.stop {
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

/// When the measured part begins: late enough for connections to be there when the load starts.
fn origin_monotonic_ns(plan: &Plan, connections: u32) -> Result<i64, HostError> {
    let warmup = plan.warmup_ns as i64;
    let Some(start_at) = plan.start_at else {
        let lead = 50_000_000 + 100_000 * i64::from(connections);
        return Ok(monotonic_ns() + lead + warmup);
    };
    let left = start_at - wall_ns();
    if left < 0 {
        let late = Nanos(left.unsigned_abs()).as_seconds();
        return Err(HostError::new(
            format!("start_at was {late:.3} s ago"),
            "start the agents earlier, and set their clocks by the same source",
        ));
    }
    Ok(monotonic_ns() + left + warmup)
}

/// How workers wait: polling for the last stretch before a transaction is due makes it punctual,
/// at the price of a core, so `auto` does that only where the core is the agent's own.
fn waiting(plan: &Plan) -> Waiting {
    let open = matches!(plan.schedule, Schedule::Open { .. });
    match plan.wait {
        Wait::Spin => Waiting::Spin,
        Wait::Auto if open && !plan.cpus.is_empty() => Waiting::SleepThenSpin,
        Wait::Auto | Wait::Sleep => Waiting::Sleep,
    }
}

fn check_simulation(plan: &Plan, sim: &Sim) -> Result<(), PlanError> {
    if plan.workers != 1 {
        let why = "the simulator is single-threaded: 1";
        return Err(PlanError::new("workers", plan.workers.to_string(), why));
    }
    if sim.servers == 0 {
        return Err(PlanError::new("sim.servers", "0", "at least one is needed"));
    }
    let (SimService::ConstantNs(service) | SimService::ExponentialNs(service)) = sim.service;
    if service == 0 && sim.latency_ns == 0 && sim.agent_step_ns == 0 {
        let why = "in a world where nothing takes time, no time passes";
        return Err(PlanError::new("sim.service", service.to_string(), why));
    }
    Ok(())
}

fn unwritten(error: TallyError) -> EngineError {
    match error {
        TallyError::Io { what, source } => HostError::new(
            format!("{what}: {source}"),
            "see to it that the Measurement can be written",
        )
        .into(),
        other => EngineError::Bug(other.to_string()),
    }
}

fn told(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    text.or(owned).unwrap_or("panic").to_owned()
}

fn build() -> String {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let build: Value =
        json!({"version": env!("CARGO_PKG_VERSION"), "profile": profile, "target": target});
    build.to_string()
}
