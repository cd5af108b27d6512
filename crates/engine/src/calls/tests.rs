//! Pauses within a transaction, which no mix makes: the steps are the test's own.

use std::sync::atomic::{AtomicBool, Ordering};

use base::clock::{monotonic_ns, wall_ns};
use serde_json::json;
use tally::{Counter, Kind, Layout, Measurement, Options, SharedBytes, Sink};

use super::*;
use crate::drivers::sqlite::Sqlite;

const MILLISECOND: Nanos = Nanos(1_000_000);

/// Has one client do what `next` says, and tells how its transaction ended and what was counted.
fn steps(
    asked: &AtomicBool,
    next: impl FnMut(&mut workload::Client, Option<Outcome>) -> Step,
) -> (Option<Outcome>, u64) {
    let path = std::env::temp_dir().join(format!("calls-{}-{}", std::process::id(), wall_ns()));
    let plan = json!({
        "version": 1,
        "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
        "driver": {"kind": "sqlite", "path": path.to_str().unwrap()},
        "workload": {"transactions": [
            {"name": "t", "operations": [{"name": "ask", "request": {"sql": "SELECT 1"}}]},
        ]},
        "schedule": {"closed": {"clients": 1}},
        "stop": {"transactions": 1},
    });
    let plan = Plan::read(&plan.to_string()).unwrap();
    let mut layout = Layout::new();
    let program = Program::compile(&plan.workload, &plan.seeds, &mut layout).unwrap();
    let options = Options {
        layout,
        plan: String::new(),
        build: String::new(),
        workers: 1,
        timeout: Nanos(plan.timeout_ns),
        cpu_clock: None,
        progress: None,
    };
    let out = SharedBytes::default();
    let (sink, mut recorders) = Sink::synchronous(options, Box::new(out.clone())).unwrap();
    let clock = Clock { origin_monotonic_ns: monotonic_ns() };
    let sqlite = Sqlite::compile(&plan, &program).unwrap();
    let link = sqlite.connect().unwrap();
    let calls = Calls::new(&plan, &program, Waiting::Sleep);
    let failed = AtomicBool::new(false);
    let stop = Stop { asked, failed: &failed, sink: &sink };
    let mut caller = calls.client(0, clock, recorders.remove(0), stop);
    caller.recorder.tick(clock.now());
    program.begin(&mut caller.client, 0);
    let ended = caller.steps(&mut sqlite.session(&link), Instant(0), Instant(0), next);
    caller.recorder.finish(clock.now());
    sink.close(clock.now(), &json!({})).unwrap();
    std::fs::remove_file(path).unwrap();
    let measured = Measurement::read(&out.bytes()).unwrap();
    (ended, measured.totals(Kind::Operation, Some("ask"), 0..i64::MAX)[Counter::Ok])
}

#[test]
fn a_transaction_goes_on_after_a_pause() {
    let mut left = vec![Step::End(Outcome::Ok), Step::Send(0), Step::Wait(Nanos(20_000_000))];
    let mut replies = Vec::new();
    let began = monotonic_ns();
    let ended = steps(&AtomicBool::new(false), |_, reply| {
        replies.push(reply);
        left.pop().unwrap()
    });
    assert!(monotonic_ns() - began >= 20 * MILLISECOND.0 as i64);
    assert_eq!(ended, (Some(Outcome::Ok), 1));
    assert_eq!(replies, [None, None, Some(Outcome::Ok)], "a pause has no reply");
}

#[test]
fn a_pause_ends_with_the_trial_and_nothing_is_sent_after_it() {
    let asked = AtomicBool::new(false);
    let mut left = vec![Step::Send(0), Step::Wait(Nanos(3600 * 1_000_000_000))];
    let began = monotonic_ns();
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            asked.store(true, Ordering::Relaxed);
        });
        steps(&asked, |_, _| left.pop().unwrap())
    });
    assert!(monotonic_ns() - began < 2_000_000_000);
    assert_eq!(ended, (None, 0));
    assert_eq!(left, [Step::Send(0)]);
}
