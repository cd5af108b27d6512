//! No allocation on the path of a request, and no memory that grows with their number.
//!
//! In a test of its own, since it counts with the process's allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use engine::{Control, run};
use serde_json::{Value, json};

/// Allocations made by worker threads.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// Bytes that are allocated at the moment, and the most that ever were.
static LIVE: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static IS_WORKER: Cell<Option<bool>> = const { Cell::new(None) };
}

struct Counting;

// SAFETY: all requests are passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_worker() {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
        let live = LIVE.fetch_add(layout.size() as i64, Ordering::Relaxed) + layout.size() as i64;
        MOST.fetch_max(live, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Whether the calling thread is a worker, by its name; without allocating.
fn is_worker() -> bool {
    IS_WORKER.with(|known| {
        if known.get().is_none() {
            let mut name = [0u8; 16];
            // SAFETY: the kernel writes at most 16 bytes, which is what there is.
            unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
            known.set(Some(name.starts_with(b"worker ")));
        }
        known.get() == Some(true)
    })
}

struct Server {
    child: Child,
    /// The keys of a Plan, driver and workload, against it.
    keys: Value,
}

impl Server {
    fn start(protocol: &str, arguments: &[&str]) -> Server {
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
        let target = format!("{protocol}://{}", told["listening"].as_str().unwrap());
        let mut driver = json!({"kind": protocol, "targets": [target]});
        let asked = if protocol == "ldap" {
            of_a_directory()
        } else {
            driver["cookies"] = json!("keep");
            driver["redirects"] = json!("follow");
            over_http()
        };
        let values = json!({
            "id": {"zipfian": {"low": 1, "high": 100_000}},
            "ids": {"list": {"low": 1, "high": 100_000, "length": {"low": 1, "high": 9}}},
            "text": {"text": {"length": {"low": 5, "high": 50}}},
        });
        let keys = json!({
            "driver": driver,
            "workload": {"values": values, "transactions": asked},
        });
        Server { child, keys }
    }
}

fn over_http() -> Value {
    let request = json!({"http": {
        "method": "POST", "path": "/item/${id}?x=${text}", "headers": [["X-Id", "${id}"]],
        "body": "{\"id\": ${id}, \"text\": \"${text}\"}",
    }});
    let expect = json!({"status": [200], "contains": "ell"});
    json!([
        {"name": "one", "weight": 3, "operations": [
            {"name": "put", "request": request, "expect": expect}]},
        {"name": "two", "operations": [
            {"name": "put", "request": request},
            {"name": "get", "request": {"http": {"method": "GET", "path": "/"}}}]},
    ])
}

fn of_a_directory() -> Value {
    let search = |filter: &str| {
        json!({"ldap": {"search": {
            "base": "uid=${text},dc=lab", "filter": filter, "attributes": ["uid"]}}})
    };
    let modify = json!({"ldap": {"modify": {
        "dn": "uid=${id},dc=lab", "replace": {"description": ["${text}"]}}}});
    json!([{"name": "one", "operations": [
        {"name": "one", "request": search("(uid=${id})"), "expect": {"rows": "1", "first": "7"}},
        {"name": "many", "request": search("(|(uid=${ids}))"), "expect": {"rows": "${ids}"}},
        {"name": "change", "request": modify, "expect": {"rows": "1"}},
    ]}])
}

impl Drop for Server {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Allocations of the workers, and the most memory, of one trial.
fn cost(server: &Server, schedule: &Value, stop: &Value) -> (u64, i64) {
    let mut plan = json!({
        "version": 1,
        "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
        "schedule": schedule, "stop": stop, "timeout_ns": 500_000_000,
    });
    for (key, value) in server.keys.as_object().unwrap() {
        plan[key] = value.clone();
    }
    cost_of(&plan)
}

/// Allocations of the workers, and the most memory, of so many reads and writes of a file.
fn cost_of_file(path: &std::path::Path, transactions: u32) -> (u64, i64) {
    let block = json!({"at": "${block}", "bytes": 4096});
    cost_of(&json!({
        "version": 1,
        "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
        "driver": {"kind": "file", "path": path.to_str().unwrap(), "size_bytes": 65536},
        "workload": {
            "values": {"block": {"sequence": {"start": 0}}},
            "transactions": [{"name": "both", "operations": [
                {"name": "write", "request": {"file": {"write": block}}},
                {"name": "read", "request": {"file": {"read": block}}, "expect": {"intact": true}},
            ]}],
        },
        "schedule": {"closed": {"clients": 8}}, "stop": {"transactions": transactions},
    }))
}

fn cost_of(plan: &Value) -> (u64, i64) {
    let control = Control { stop: &AtomicBool::new(false), progress: None, allow_debug: true };
    ALLOCATIONS.store(0, Ordering::Relaxed);
    let before = LIVE.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    run(&plan.to_string(), Box::new(std::io::sink()), control).unwrap();
    (ALLOCATIONS.load(Ordering::Relaxed), MOST.load(Ordering::Relaxed) - before)
}

/// One test, since trials beside one another would count each other's memory.
#[test]
fn neither_allocations_nor_memory_grow_with_requests() {
    let cookie = "Set-Cookie: seen=1; Path=/";
    let server = Server::start("http", &["--body", "hello", "--header", cookie]);
    let closed = json!({"closed": {"clients": 8}});
    let judge = |name: &str, few: (u64, i64), many: (u64, i64)| {
        let ((few_allocations, few_bytes), (many_allocations, many_bytes)) = (few, many);
        // What is made at the start is made in both; a buffer may find its size a little later.
        assert!(
            many_allocations <= few_allocations + 32,
            "{name}: {few_allocations} allocations became {many_allocations}"
        );
        // The writer has a second's buffer more or less in hand when a trial ends.
        assert!(
            many_bytes < few_bytes + 4 * 1024 * 1024,
            "{name}: {few_bytes} bytes became {many_bytes}"
        );
    };
    let compare = |name: &str, server: &Server, few: [&Value; 2], many: [&Value; 2]| {
        judge(name, cost(server, few[0], few[1]), cost(server, many[0], many[1]));
    };
    let count = |n: u32| json!({"transactions": n});
    compare("closed", &server, [&closed, &count(2_000)], [&closed, &count(40_000)]);
    let directory = Server::start("ldap", &["--attribute", "uid: 7"]);
    compare("ldap", &directory, [&closed, &count(2_000)], [&closed, &count(20_000)]);
    let open = |rate: f64| {
        json!({"open": {"connections": 4, "shape": [
            {"from_per_second": rate, "to_per_second": rate, "length_ns": 1_000_000_000}]}})
    };
    let time = json!({"duration_ns": 2_000_000_000_u64});
    compare("open", &server, [&open(1_000.0), &time], [&open(10_000.0), &time]);
    // Far beyond what the server can do, so that nearly all of it waits.
    let slow = Server::start("http", &["--service-ns", "2000000"]);
    compare("backlog", &slow, [&open(5_000.0), &time], [&open(300_000.0), &time]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![0; 65536]).unwrap();
    judge("file", cost_of_file(&path, 1_000), cost_of_file(&path, 20_000));
}
