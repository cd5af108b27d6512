//! Plans to vary, servers to run them against, and figures to look at.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::Duration;

use engine::net::waiting::Waiting;
use engine::{Control, Finished, run};
use serde_json::{Value, json};
use tally::{Counter, Field, Kind, Measurement, SharedBytes};

pub const SECOND: u64 = 1_000_000_000;
pub const MILLISECOND: u64 = 1_000_000;

/// The seed of what the simulated server draws.
pub const FAULTS_SEED: u64 = 4;

/// A Plan that GETs `/` as transaction `page`, with these keys added or replaced.
pub fn plan(target: &str, keys: Value) -> Value {
    let mut plan = json!({
        "version": 1,
        "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": FAULTS_SEED},
        "driver": {"kind": "http", "targets": [format!("http://{target}")]},
        "workload": {"transactions": [{"name": "page", "operations": [
            {"name": "get", "request": {"http": {"method": "GET", "path": "/"}}},
        ]}]},
    });
    merge(&mut plan, keys);
    plan
}

/// The real network providers this machine has.
pub fn providers() -> &'static [&'static str] {
    match engine::net::uring::probe(1, Waiting::Sleep) {
        Ok(()) => &["epoll", "uring"],
        Err(why) => {
            eprintln!("without io_uring: {why}");
            &["epoll"]
        }
    }
}

/// Runs a Plan to its end with each real provider.
pub fn measure_each(plan: &Value) -> Vec<Measured> {
    let by = |net: &&str| {
        let mut plan = plan.clone();
        plan["net"] = json!(net);
        let measured = measure(&plan);
        assert_eq!(measured.notes("start")[0]["net"], *net);
        measured
    };
    providers().iter().map(by).collect()
}

/// A Plan for the simulator.
pub fn simulated(sim: &Value, keys: Value) -> Value {
    let mut plan = plan("sim", json!({"net": "sim", "sim": sim}));
    merge(&mut plan, keys);
    plan
}

/// Sets keys of an object.
pub fn merge(plan: &mut Value, keys: Value) {
    if let Value::Object(keys) = keys {
        for (key, value) in keys {
            plan[key] = value;
        }
    }
}

/// A workload of one transaction, `page`, of these commands and what is expected of each.
pub fn page(values: &Value, commands: &[(Value, Value)]) -> Value {
    let operation = |(index, (command, expect)): (usize, &(Value, Value))| {
        let name = format!("c{index}");
        json!({"name": name, "request": {"command": command}, "expect": expect})
    };
    let operations: Vec<Value> = commands.iter().enumerate().map(operation).collect();
    json!({"values": values, "transactions": [{"name": "page", "operations": operations}]})
}

/// Runs a Plan to its end and reads what it left.
pub fn measure(plan: &Value) -> Measured {
    let stop = AtomicBool::new(false);
    let out = SharedBytes::default();
    let control = Control { stop: &stop, progress: None, allow_debug: true };
    let finished = run(&plan.to_string(), Box::new(out.clone()), control).unwrap();
    assert_eq!(finished, Finished::Complete);
    let bytes = out.bytes();
    Measured { measurement: Measurement::read(&bytes).unwrap(), bytes }
}

/// Runs a Plan that is asked to end so long after it began, and reads what it left.
pub fn broken_off(plan: &Value, after: Duration) -> (Finished, Measured) {
    ended_by(plan, || std::thread::sleep(after))
}

/// Runs a Plan while `work` is done beside it, ends it when that is done or has failed, and reads
/// what it left.
pub fn beside(plan: &Value, work: impl FnOnce() + Send) -> Measured {
    ended_by(plan, work).1
}

fn ended_by(plan: &Value, work: impl FnOnce() + Send) -> (Finished, Measured) {
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = AtomicBool::new(false);
    let out = SharedBytes::default();
    let finished = std::thread::scope(|scope| {
        scope.spawn(|| {
            let _at_the_end = Stop(&stop);
            work();
        });
        let control = Control { stop: &stop, progress: None, allow_debug: true };
        run(&plan.to_string(), Box::new(out.clone()), control).unwrap()
    });
    let bytes = out.bytes();
    (finished, Measured { measurement: Measurement::read(&bytes).unwrap(), bytes })
}

/// A Measurement and short ways to its figures, all of the measured part.
pub struct Measured {
    pub measurement: Measurement,
    pub bytes: Vec<u8>,
}

impl Measured {
    pub fn count(&self, kind: Kind, name: &str, counter: Counter) -> u64 {
        self.measurement.totals(kind, Some(name), 0..i64::MAX)[counter]
    }

    /// Ok, failed, timed out and unknown ones of the transaction `page`.
    pub fn outcomes(&self) -> [u64; 4] {
        let counters = [Counter::Ok, Counter::Failed, Counter::TimedOut, Counter::Unknown];
        counters.map(|counter| self.count(Kind::Transaction, "page", counter))
    }

    /// What has come due and not ended.
    pub fn open(&self) -> u64 {
        let due = self.count(Kind::Transaction, "page", Counter::Due);
        due - self.outcomes().iter().sum::<u64>()
    }

    pub fn quantile_ns(&self, field: Field, quantile: f64) -> u64 {
        self.histogram(field).value_at_quantile(quantile)
    }

    pub fn mean_ns(&self, field: Field) -> f64 {
        self.histogram(field).mean()
    }

    pub fn histogram(&self, field: Field) -> hdrhistogram::Histogram<u64> {
        let range = 0..i64::MAX;
        self.measurement.histogram(Kind::Transaction, Some("page"), field, range).unwrap()
    }

    /// The notes of the events of this name.
    pub fn notes(&self, name: &str) -> Vec<Value> {
        let events = &self.measurement.parts()[0].events;
        let named = events.iter().filter(|event| event.name == name);
        named.map(|event| serde_json::from_str(&event.note).unwrap()).collect()
    }

    /// The distinct messages of its errors.
    pub fn messages(&self) -> BTreeSet<String> {
        let notes = self.notes("error");
        notes.iter().map(|note| note["message"].as_str().unwrap().to_owned()).collect()
    }
}

/// Whether a program that a test needs is there; a test that lacks it says so, and fails where all
/// of them must be.
pub fn has(program: &str) -> bool {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    });
    assert!(found || std::env::var_os("CI").is_none(), "{program} is not installed");
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// A port that nobody listens on, for a server that must be told one. It lies below those that the
/// system hands out, so that no test that runs beside this one is given it meanwhile.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let beginning = 20_000 + (std::process::id() % 100) as u16 * 100;
    let candidates = (0..100).map(|_| beginning + NEXT.fetch_add(1, Ordering::Relaxed) % 100);
    let mut free = candidates.filter(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok());
    free.next().expect("one in a hundred is free")
}

/// A null server in a process of its own, which ends with this value.
pub struct NullServer {
    pub child: Child,
    pub address: String,
}

impl NullServer {
    /// One that speaks HTTP.
    pub fn start(arguments: &[&str]) -> NullServer {
        NullServer::speaking("http", arguments)
    }

    pub fn speaking(protocol: &str, arguments: &[&str]) -> NullServer {
        let mut child = Command::new(env!("CARGO_BIN_EXE_nullserver"))
            .arg(protocol)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let address = told["listening"].as_str().unwrap().to_owned();
        let _is_an_address: SocketAddr = address.parse().unwrap();
        NullServer { child, address }
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // It ends when its standard input closes, even if it is stopped at the moment of the kill.
        drop(self.child.stdin.take());
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}
