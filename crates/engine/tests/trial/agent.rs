//! The agent as a process: what it takes, what it leaves, how it ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use engine::{Control, run};
use serde_json::{Value, json};
use tally::{Counter, Field, Kind, Measurement};

use crate::laboratory::{MILLISECOND, NullServer, SECOND, measure, plan};

fn start(plan: &str, arguments: &[&str]) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_agent"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(plan.as_bytes()).unwrap();
    child
}

fn finish(plan: &str, arguments: &[&str]) -> (i32, Output) {
    let output = start(plan, arguments).wait_with_output().unwrap();
    (output.status.code().unwrap(), output)
}

/// The one line that standard error must be.
fn complaint(output: &Output) -> Value {
    let text = std::str::from_utf8(&output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(text).unwrap()
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: the process is a child that has not been waited for, so the id is its own.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn a_plan_goes_in_and_a_measurement_comes_out() {
    let server = NullServer::start(&[]);
    let keys = json!({"schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 10}});
    let text = plan(&server.address, keys).to_string();
    let (code, output) = finish(&text, &["--allow-debug", "--progress"]);
    assert_eq!(code, 0, "{}", String::from_utf8_lossy(&output.stderr));
    let measurement = Measurement::read(&output.stdout).unwrap();
    let part = &measurement.parts()[0];
    assert_eq!(part.plan, text, "the Plan is kept as it was given");
    assert!(part.is_complete() && part.torn.is_none());
    let progress = std::str::from_utf8(&output.stderr).unwrap().lines();
    let seconds = progress.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let completed: u64 = seconds.map(|second| second["completed"].as_u64().unwrap()).sum();
    assert_eq!(completed, 10);
}

#[test]
fn a_wrong_plan_is_one_line_that_names_the_field() {
    let keys = json!({"schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 10}});
    let mut wrong = plan("127.0.0.1:1", keys);
    wrong["driver"]["targets"] = json!(["ftp://127.0.0.1"]);
    for arguments in [&["--check"][..], &["--allow-debug"]] {
        let (code, output) = finish(&wrong.to_string(), arguments);
        assert_eq!(code, 2);
        assert!(output.stdout.is_empty());
        let told = complaint(&output);
        assert_eq!(told["field"], "driver.targets[0]");
        assert_eq!(told["value"], "ftp://127.0.0.1");
    }
    let (code, output) = finish("{", &["--check"]);
    assert_eq!((code, complaint(&output)["error"].as_str()), (2, Some("plan")));
}

#[test]
fn a_debug_build_refuses_to_measure() {
    let keys = json!({"schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 1}});
    let server = NullServer::start(&[]);
    let (code, output) = finish(&plan(&server.address, keys).to_string(), &[]);
    if cfg!(debug_assertions) {
        assert_eq!((code, complaint(&output)["error"].as_str()), (4, Some("host")));
    } else {
        assert_eq!(code, 0);
    }
}

#[test]
fn the_schema_is_the_published_one() {
    let (code, output) = finish("", &["--schema"]);
    assert_eq!(code, 0);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), engine::plan::schema());
}

#[test]
fn signals_end_the_load_and_leave_what_was_measured() {
    let server = NullServer::start(&[]);
    for number in [libc::SIGINT, libc::SIGTERM] {
        let keys = json!({
            "schedule": {"closed": {"clients": 2}}, "stop": {"duration_ns": 600 * SECOND},
        });
        let mut child =
            start(&plan(&server.address, keys).to_string(), &["--allow-debug", "--progress"]);
        let mut progress = BufReader::new(child.stderr.take().unwrap()).lines();
        // The first two seconds are there, so the load is on.
        while !progress.next().unwrap().unwrap().contains(r#""second":1"#) {}
        let asked = Instant::now();
        signal(&child, number);
        let mut bytes = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut bytes).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(asked.elapsed() < Duration::from_secs(2), "it took {:?}", asked.elapsed());
        let measurement = Measurement::read(&bytes).unwrap();
        let end = measurement.parts()[0].events.iter().find(|event| event.name == "end").unwrap();
        let note: Value = serde_json::from_str(&end.note).unwrap();
        assert_eq!(note["reason"], "interrupted");
        let ok = measurement.totals(Kind::Transaction, Some("page"), 0..i64::MAX)[Counter::Ok];
        assert!(ok > 0);
        let elapsed = note["elapsed_ns"].as_u64().unwrap();
        assert!((SECOND..100 * SECOND).contains(&elapsed));
    }
}

#[test]
fn agents_share_a_trial_and_start_it_together() {
    let server = NullServer::start(&[]);
    for schedule in [
        json!({"closed": {"clients": 3}}),
        json!({"open": {"connections": 3, "shape": [
            {"from_per_second": 1000, "to_per_second": 1000, "length_ns": SECOND}]}}),
    ] {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let start_at = now + SECOND / 2;
        let agent = |index: u32| {
            let keys = json!({
                "schedule": schedule, "stop": {"transactions": 101}, "start_at": start_at,
                "warmup_ns": 10 * MILLISECOND, "part": {"index": index, "of": 2},
            });
            let plan = plan(&server.address, keys);
            std::thread::spawn(move || measure(&plan))
        };
        let parts: Vec<_> = [agent(0), agent(1)].map(|t| t.join().unwrap()).into();
        let whole: u64 = parts.iter().map(|part| part.outcomes()[0]).sum();
        assert_eq!(whole, 101);
        assert!(parts.iter().all(|part| part.outcomes()[0] > 30), "one did nearly all");
        for part in parts {
            let origin = part.notes("start")[0]["origin_wall_ns"].as_u64().unwrap();
            let off = origin.abs_diff(start_at + 10 * MILLISECOND);
            assert!(off < MILLISECOND, "the origin is off by {off} ns");
        }
    }
}

#[test]
fn a_start_that_has_passed_is_refused() {
    let keys = json!({
        "schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 1}, "start_at": 1,
    });
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: None, allow_debug: true };
    let text = plan("127.0.0.1:1", keys).to_string();
    let error = run(&text, Box::new(std::io::sink()), control).unwrap_err();
    assert_eq!(error.exit_code(), 4);
    assert!(error.to_string().contains("start_at"), "{error}");
}

#[test]
fn a_full_disk_ends_the_trial_and_says_so() {
    let server = NullServer::start(&[]);
    let keys = json!({
        "schedule": {"closed": {"clients": 1}}, "stop": {"duration_ns": 600 * SECOND},
    });
    let mut child = Command::new(env!("CARGO_BIN_EXE_agent"))
        .arg("--allow-debug")
        .stdin(Stdio::piped())
        .stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let text = plan(&server.address, keys).to_string();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(complaint(&output)["message"].as_str().unwrap().contains("No space left"));
}

/// The slow one: ten seconds against a process that is really stopped for half a second.
#[test]
fn a_stopped_server_shows_in_the_response_and_not_in_the_service_time() {
    let server = NullServer::start(&[]);
    let keys = json!({
        "schedule": {"open": {"connections": 32, "shape": [
            {"from_per_second": 5000, "to_per_second": 5000, "length_ns": SECOND}]}},
        "stop": {"duration_ns": 10 * SECOND},
    });
    let plan = plan(&server.address, keys);
    let (passed, seconds) = mpsc::channel();
    let trial = std::thread::spawn(move || {
        let stop = AtomicBool::new(false);
        let out = tally::SharedBytes::default();
        let progress: Box<dyn FnMut(tally::Progress) + Send> =
            Box::new(move |progress| passed.send(progress.second).unwrap_or_default());
        let control = Control { stop: &stop, progress: Some(progress), allow_debug: true };
        run(&plan.to_string(), Box::new(out.clone()), control).unwrap();
        Measurement::read(&out.bytes()).unwrap()
    });
    while seconds.recv().unwrap() < 3 {}
    signal(&server.child, libc::SIGSTOP);
    let stopped = Instant::now();
    while let Some(left) = Duration::from_millis(500).checked_sub(stopped.elapsed()) {
        let _a_second_passed = seconds.recv_timeout(left);
    }
    signal(&server.child, libc::SIGCONT);
    let measurement = trial.join().unwrap();
    let p99_s = |field| {
        let range = 0..i64::MAX;
        let histogram =
            measurement.histogram(Kind::Transaction, Some("page"), field, range).unwrap();
        histogram.value_at_quantile(0.99) as f64 / 1e9
    };
    let (response, service) = (p99_s(Field::Response), p99_s(Field::Service));
    assert!((0.3..0.55).contains(&response), "p99 of the response is {response} s");
    assert!(service < response / 4.0, "p99 of the service is {service} s");
}

/// What forbids `io_uring` to the calling thread and what it starts, as container engines do.
fn forbid_uring() -> std::io::Result<()> {
    const DENIED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let step =
        |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    // The number of the system call is the first field of what the filter is shown.
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_io_uring_setup as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, DENIED),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: the first call takes no pointers; the program and its steps outlive the second.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[test]
fn without_io_uring_epoll_serves_and_the_measurement_says_why() {
    let server = NullServer::start(&[]);
    let run = |net: &str, wait: Value| {
        let keys = json!({
            "schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 10},
            "net": net, "wait": wait,
        });
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent"));
        command.arg("--allow-debug").stdin(Stdio::piped()).stdout(Stdio::piped());
        // SAFETY: between fork and exec it makes two system calls and allocates nothing.
        unsafe { command.pre_exec(forbid_uring) };
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let text = plan(&server.address, keys).to_string();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let output = run("auto", json!("auto"));
    let measurement = Measurement::read(&output.stdout).unwrap();
    let start = measurement.parts()[0].events.iter().find(|event| event.name == "start").unwrap();
    let note: Value = serde_json::from_str(&start.note).unwrap();
    assert_eq!(note["net"], "epoll");
    assert!(note["net_why"].as_str().unwrap().contains("forbidden"), "{note}");
    let coalesce = json!({"coalesce": {"answers": 2, "window_ns": 1000}});
    for (net, wait) in [("uring", json!("auto")), ("auto", coalesce)] {
        let output = run(net, wait);
        assert_eq!(output.status.code(), Some(4), "{net}");
        assert!(complaint(&output)["message"].as_str().unwrap().contains("forbidden"));
    }
}
