//! A whole trial: Plan in, Measurement out.
//!
//! It puts driver, network and clock together as the Plan wants them, and writes what the trial as
//! a whole has to say. Absent from it: what happens within a worker.

use std::io::Write;
use std::sync::atomic::AtomicBool;

use base::clock::{Clock, thread_cpu_ns, wall_ns};
use base::{Instant, Nanos};
use serde_json::{Value, json};
use tally::{Kind, Layout, Options, Progress, Recorder, Series, Sink, TallyError};

use crate::calls::{self, Calls};
use crate::crew::{self, Crew};
use crate::drivers::Protocol;
use crate::drivers::file::File;
use crate::drivers::http::Http;
use crate::drivers::ldap::Ldap;
use crate::drivers::memcached::Memcached;
use crate::drivers::mysql::Mysql;
use crate::drivers::postgresql::Postgresql;
use crate::drivers::redis::Redis;
use crate::drivers::sqlite::Sqlite;
use crate::drivers::target::Target;
use crate::error::{EngineError, HostError, PlanError};
use crate::net::choice::{Choice, Way};
use crate::net::epoll::Epoll;
use crate::net::file::Disk;
use crate::net::sim::World;
use crate::net::uring::Uring;
use crate::net::waiting::Waiting;
use crate::plan::{self, Connection, Net, Plan, Schedule, Sim, SimService, Stop as End, Wait};
use crate::process;
use crate::tls;
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
    let driver = Driver::compile(&plan, &program)?;
    let way =
        if let Driver::File(_) = driver { Way::of(&plan, waiting(&plan))? } else { Way::Ring };
    let connect = layout.add(Kind::Operation, "connect");
    let workers = match &driver {
        Driver::Sqlite(_) => calls::threads(&plan),
        Driver::File(_) if way != Way::Ring => calls::threads(&plan),
        _ => plan.workers,
    };
    let options = Options {
        layout,
        plan: text.to_owned(),
        build: build(),
        workers: workers as usize,
        timeout: Nanos(plan.timeout_ns),
        cpu_clock: (!simulated).then_some(|| Nanos(thread_cpu_ns() as u64)),
        progress: control.progress,
    };
    let trial = Trial { plan: &plan, program: &program, connect, asked: control.stop };
    match driver {
        Driver::File(file) => trial.file(file, &way, options, out),
        Driver::Http(http) => trial.network(&http, options, out),
        Driver::Ldap(ldap) => trial.network(&ldap, options, out),
        Driver::Memcached(memcached) => trial.network(&memcached, options, out),
        Driver::Mysql(mysql) => trial.network(&mysql, options, out),
        Driver::Postgresql(postgresql) => trial.network(&postgresql, options, out),
        Driver::Redis(redis) => trial.network(&redis, options, out),
        Driver::Sqlite(sqlite) => trial.in_process(&sqlite, options, out),
    }
}

/// Checks a Plan, JSON, as far as that can be done without running it.
pub fn check(text: &str) -> Result<(), EngineError> {
    let plan = Plan::read(text)?;
    if let Some(sim) = &plan.sim {
        check_simulation(&plan, sim)?;
    }
    let program = Program::compile(&plan.workload, &plan.seeds, &mut Layout::new())?;
    Driver::compile(&plan, &program).map(drop)
}

/// A driver, compiled.
enum Driver<'p> {
    File(File),
    Http(Http),
    Ldap(Ldap),
    Memcached(Memcached),
    Mysql(Mysql<'p>),
    Postgresql(Postgresql),
    Redis(Redis),
    Sqlite(Sqlite),
}

impl<'p> Driver<'p> {
    fn compile(plan: &Plan, program: &'p Program) -> Result<Driver<'p>, EngineError> {
        let fresh = plan.connection == Connection::New;
        Ok(match &plan.driver {
            plan::Driver::File { .. } => Driver::File(File::compile(plan, program)?),
            plan::Driver::Http { .. } => Driver::Http(Http::compile(program, plan)?),
            plan::Driver::Ldap { .. } => Driver::Ldap(Ldap::compile(plan, program)?),
            plan::Driver::Memcached { .. } => Driver::Memcached(Memcached::compile(plan, program)?),
            plan::Driver::Mysql { .. } => Driver::Mysql(Mysql::compile(plan, program)?),
            plan::Driver::Postgresql { .. } => {
                Driver::Postgresql(Postgresql::compile(plan, program)?)
            }
            plan::Driver::Redis { .. } => Driver::Redis(Redis::compile(plan, program)?),
            plan::Driver::Sqlite { .. } if fresh => {
                let why = "`sqlite` keeps its connections";
                let error = PlanError::new("connection", "new", why);
                return Err(error.nearest_to("kept", ["kept"]).into());
            }
            plan::Driver::Sqlite { .. } => Driver::Sqlite(Sqlite::compile(plan, program)?),
        })
    }
}

struct Trial<'a> {
    plan: &'a Plan,
    program: &'a Program,
    connect: Series,
    asked: &'a AtomicBool,
}

impl Trial<'_> {
    fn job<'a, P: Protocol>(
        &'a self,
        protocol: &P,
        tls: Option<&'a tls::Config>,
        recorder: Recorder,
        worker: u32,
        stop: Stop<'a>,
    ) -> Job<'a, P> {
        Job {
            plan: self.plan,
            program: self.program,
            protocol: protocol.clone(),
            recorder,
            connect: self.connect,
            tls,
            worker,
            stop,
        }
    }

    /// Runs a driver that has connections.
    fn network<P: Protocol>(
        &self,
        protocol: &P,
        options: Options,
        out: Box<dyn Write + Send>,
    ) -> Result<Finished, EngineError> {
        match &self.plan.sim {
            Some(_) if protocol.targets().iter().any(|target| target.tls) => {
                Err(PlanError::new("driver.targets", "", "the simulator knows no TLS").into())
            }
            Some(sim) => self.simulate(sim, protocol, options, out),
            None => self.connected(protocol, options, out),
        }
    }

    fn simulate<P: Protocol>(
        &self,
        sim: &Sim,
        protocol: &P,
        options: Options,
        out: Box<dyn Write + Send>,
    ) -> Result<Finished, EngineError> {
        check_simulation(self.plan, sim)?;
        let (sink, mut recorders) = Sink::synchronous(options, out).map_err(unwritten)?;
        // Nothing that differs from run to run, so that the same Plan leaves the same bytes.
        let note = json!({
            "origin_wall_ns": 0, "origin_monotonic_ns": 0, "net": "sim", "wait": "none",
            "workers": 1, "pid": 0,
        });
        sink.event(Instant(-(self.plan.warmup_ns as i64)), "start", &note);
        let start = Instant(-(self.plan.warmup_ns as i64) - 4 * sim.latency_ns as i64 - 1_000_000);
        let links = worker::share(self.plan, 0).len() * protocol.spread();
        let mut world = World::new(sim, start, links, protocol.simulated(), self.plan.seeds.faults);
        let failed = AtomicBool::new(false);
        let stop = Stop { asked: self.asked, failed: &failed, sink: &sink };
        let job = self.job(protocol, None, recorders.remove(0), 0, stop);
        let ended = Worker::new(job)
            .run(&mut world)
            .map_err(|error| EngineError::Bug(error.to_string()))?;
        self.close(sink, ended, world.now(), process::Usage::default())
    }

    fn connected<P: Protocol>(
        &self,
        protocol: &P,
        options: Options,
        out: Box<dyn Write + Send>,
    ) -> Result<Finished, EngineError> {
        let plan = self.plan;
        let share = |worker| worker::share(plan, worker).len() * protocol.spread();
        let connections: u32 = (0..plan.workers).map(share).sum();
        process::allow_open_files(u64::from(connections) + 64 + 4 * u64::from(plan.workers))?;
        let resolved = protocol.targets().iter().map(Target::resolve);
        let addresses = resolved.collect::<Result<Vec<_>, _>>()?;
        let tls = tls::Config::new(&plan.tls, protocol.targets())?;
        let waiting = waiting(plan);
        let choice = Choice::of(plan.net, waiting, share(0))?;
        let note = choice.note();
        self.measure(&note, connections, options, out, None, |clock, index, recorder, stop| {
            let job = self.job(protocol, tls.as_ref(), recorder, index, stop);
            let links = share(index);
            let ended = match &choice {
                Choice::Uring => {
                    Worker::new(job).run(&mut Uring::new(clock, &addresses, links, waiting)?)
                }
                Choice::Epoll(_) => {
                    Worker::new(job).run(&mut Epoll::new(clock, &addresses, links, waiting)?)
                }
            };
            ended.map_err(Into::into)
        })
    }

    /// Runs the driver of files: through `io_uring`, on threads, or in the simulator.
    fn file(
        &self,
        mut file: File,
        way: &Way,
        options: Options,
        out: Box<dyn Write + Send>,
    ) -> Result<Finished, EngineError> {
        if let Some(sim) = &self.plan.sim {
            return self.simulate(sim, &file, options, out);
        }
        let plan = self.plan;
        let opened = file.open_file()?;
        let waiting = waiting(plan);
        let calls = Calls::new(plan, self.program, waiting);
        let clients = calls::threads(plan);
        self.measure(&way.note(), clients, options, out, None, |clock, index, recorder, stop| {
            if *way != Way::Ring {
                let mut session = file.session(&opened);
                return Ok(calls.client(index, clock, recorder, stop).run(&mut session));
            }
            let job = self.job(&file, None, recorder, index, stop);
            let links = worker::share(plan, index).len();
            let mut disk = Disk::new(clock, &opened, links, file.largest(), waiting)?;
            Worker::new(job).run(&mut disk).map_err(Into::into)
        })
    }

    fn in_process(
        &self,
        sqlite: &Sqlite,
        options: Options,
        out: Box<dyn Write + Send>,
    ) -> Result<Finished, EngineError> {
        let calls = Calls::new(self.plan, self.program, waiting(self.plan));
        let threads = calls::threads(self.plan);
        let break_off = || sqlite.break_off();
        self.measure(
            &json!({"net": "none"}),
            threads,
            options,
            out,
            Some(&break_off),
            |clock, index, recorder, stop| {
                let link = sqlite.connect()?;
                Ok(calls.client(index, clock, recorder, stop).run(&mut sqlite.session(&link)))
            },
        )
    }

    /// Runs `work` on a thread for each recorder, by the clock of the wall. `break_off` ends the
    /// calls that threads wait in.
    fn measure(
        &self,
        net: &Value,
        connections: u32,
        options: Options,
        out: Box<dyn Write + Send>,
        break_off: Option<&dyn Fn()>,
        work: impl Fn(Clock, u32, Recorder, Stop<'_>) -> Result<Ended, EngineError> + Sync,
    ) -> Result<Finished, EngineError> {
        let plan = self.plan;
        process::pin(&plan.cpus)?;
        let (sink, recorders) = Sink::threaded(options, out).map_err(unwritten)?;
        let clock = crew::clock(plan, connections)?;
        let mut note = json!({
            "origin_wall_ns": wall_ns() - clock.now().0,
            "origin_monotonic_ns": clock.origin_monotonic_ns,
            "wait": waiting(plan).name(), "workers": recorders.len(), "pid": std::process::id(),
        });
        for (key, value) in net.as_object().into_iter().flatten() {
            note[key] = value.clone();
        }
        sink.event(Instant(-(plan.warmup_ns as i64)), "start", &note);
        let crew = Crew { plan, clock, asked: self.asked, sink: &sink, break_off };
        let worked =
            crew.work(recorders, |index, recorder, stop| work(clock, index, recorder, stop));
        let (ended, usage) = match worked {
            Ok(worked) => worked,
            Err(error) => {
                // The worker's error says more than a Measurement that could not be finished.
                let _less = sink.close(clock.now(), &json!({"reason": "failed"}));
                return Err(error);
            }
        };
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
        let note = json!({
            "reason": if ended.interrupted { "interrupted" } else { "complete" },
            "elapsed_ns": elapsed.0.max(0),
            "user_cpu_ns": usage.user_ns,
            "system_cpu_ns": usage.system_ns,
            "max_resident_bytes": usage.max_resident_bytes,
        });
        sink.close(now.max(elapsed), &note).map_err(unwritten)?;
        Ok(if ended.interrupted { Finished::Interrupted } else { Finished::Complete })
    }
}

/// With this many connections a worker, each answer is waited for by itself.
const FEW: u32 = 4;

/// How workers wait. Polling for the last stretch before a transaction is due makes it punctual,
/// and polling for an answer that comes at once keeps the wake-up out of its time; both at the
/// price of a core, so `auto` does them only where the core is the agent's own. A disk does not
/// answer at once.
fn waiting(plan: &Plan) -> Waiting {
    match (plan.wait, &plan.schedule) {
        (Wait::Spin, _) => Waiting::Spin,
        (Wait::Coalesce { answers, window_ns }, _) => {
            Waiting::Coalesce { answers, window: Nanos(window_ns) }
        }
        (Wait::Tick { every_ns }, _) => Waiting::Tick(Nanos(every_ns)),
        (Wait::Auto, Schedule::Open { .. }) if !plan.cpus.is_empty() => Waiting::SleepThenSpin,
        (Wait::Auto, Schedule::Closed { clients, .. })
            if !plan.cpus.is_empty()
                && *clients <= FEW * plan.workers
                && !matches!(plan.driver, plan::Driver::File { .. }) =>
        {
            Waiting::SpinThenSleep
        }
        (Wait::Auto | Wait::Sleep, _) => Waiting::Sleep,
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

/// Version, profile and target of the engine, JSON.
pub fn build() -> String {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let build: Value =
        json!({"version": env!("CARGO_PKG_VERSION"), "profile": profile, "target": target});
    build.to_string()
}
