//! Trials of `SQLite`, in the process of the test.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::error::EngineError;
use engine::{Control, Finished, run};
use serde_json::{Value, json};
use tally::{Counter, Field, Kind};

use crate::laboratory::{MILLISECOND, SECOND, broken_off, measure};

/// A folder that goes away with this value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("trial-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _already_gone = std::fs::remove_dir_all(&self.0);
    }
}

fn plan(folder: &Folder, sql: &str, keys: &Value) -> Value {
    let mut plan = json!({
        "version": 1,
        "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
        "driver": {"kind": "sqlite", "path": folder.0.join("data").to_str().unwrap()},
        "workload": {"transactions": [{"name": "page", "operations": [
            {"name": "ask", "request": {"sql": sql}, "expect": {"first": "1"}},
        ]}]},
    });
    for (key, value) in keys.as_object().unwrap() {
        plan[key] = value.clone();
    }
    plan
}

#[test]
fn clients_call_until_their_share_is_done() {
    let folder = Folder::new("closed");
    let keys = json!({
        "schedule": {"closed": {"clients": 3}},
        "stop": {"transactions": 100},
        "warmup_ns": 20 * MILLISECOND,
    });
    let measured = measure(&plan(&folder, "SELECT 1", &keys));
    assert_eq!(measured.outcomes(), [100, 0, 0, 0]);
    assert_eq!(measured.open(), 0);
    assert_eq!(measured.count(Kind::Operation, "ask", Counter::Ok), 100);
    assert_eq!(measured.notes("start")[0]["workers"], 3);
}

#[test]
fn a_wrong_answer_is_a_failed_transaction_with_its_reason() {
    let folder = Folder::new("wrong");
    let keys = json!({"schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 5}});
    let measured = measure(&plan(&folder, "SELECT 2", &keys));
    assert_eq!(measured.outcomes(), [0, 5, 0, 0]);
    assert_eq!(measured.messages().len(), 1);
}

#[test]
fn an_open_load_beyond_capacity_waits_and_is_left_open_after_the_tail() {
    // Counting to a hundred thousand takes some milliseconds; a thousand a second are asked for.
    let sql = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100000) \
               SELECT count(*) > 0 FROM c";
    let folder = Folder::new("open");
    let shape = json!([{"from_per_second": 1000, "to_per_second": 1000, "length_ns": SECOND}]);
    let keys = json!({
        "schedule": {"open": {"connections": 2, "shape": shape, "arrivals": "constant"}},
        "stop": {"duration_ns": SECOND / 2},
        "timeout_ns": SECOND,
    });
    let measured = measure(&plan(&folder, sql, &keys));
    assert_eq!(measured.count(Kind::Transaction, "page", Counter::Due), 500);
    let done: u64 = measured.outcomes().iter().sum();
    assert!(done > 0 && done < 500, "{done} of 500 were done");
    assert_eq!(measured.open(), 500 - done);
    // The threads were busy: that is waiting for a client, and no lag of the agent's.
    assert!(measured.quantile_ns(Field::Wait, 1.0) > 100 * MILLISECOND);
    let lag = measured.quantile_ns(Field::Lag, 0.5);
    assert!(lag < MILLISECOND, "the calls were counted as a lag of {lag} ns");
}

#[test]
fn a_trial_is_broken_off_although_its_clients_wait_for_a_lock() {
    let folder = Folder::new("locked");
    let holder = rusqlite::Connection::open(folder.0.join("data")).unwrap();
    holder.execute_batch("CREATE TABLE t (id); BEGIN EXCLUSIVE").unwrap();
    let shape = json!([{"from_per_second": 100, "to_per_second": 100, "length_ns": SECOND}]);
    for schedule in
        [json!({"closed": {"clients": 2}}), json!({"open": {"connections": 2, "shape": shape}})]
    {
        for stop in [json!({"duration_ns": SECOND / 5}), json!({"transactions": 50})] {
            let keys = json!({"schedule": schedule, "stop": stop, "timeout_ns": 60 * SECOND});
            let plan = plan(&folder, "INSERT INTO t VALUES (1)", &keys);
            // Long enough for the measured part of the first stop to be over, and for the naps
            // between tries to have grown to their longest.
            let asked_after = Duration::from_millis(600);
            let began = Instant::now();
            let (finished, measured) = broken_off(&plan, asked_after);
            let took = began.elapsed().saturating_sub(asked_after);
            assert_eq!(finished, Finished::Interrupted);
            assert!(took < Duration::from_secs(2), "it took {took:?}");
            // What was under way has no outcome, and is not the system's failure.
            assert_eq!(measured.outcomes(), [0, 0, 0, 0]);
            assert!(measured.open() >= 2);
        }
    }
}

#[test]
fn a_trial_is_broken_off_within_a_statement_and_between_statements() {
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) \
                   SELECT count(*) FROM n";
    let folder = Folder::new("endless");
    let keys = json!({
        "schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 1},
        "timeout_ns": 60 * SECOND,
    });
    let short = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000) \
                 SELECT count(*) > 0 FROM n";
    let mut many = plan(&folder, short, &keys);
    many["workload"]["values"] =
        json!({"ids": {"list": {"low": 1, "high": 100_000_000, "length": 1_000_000}}});
    many["workload"]["transactions"][0]["operations"][0]["for_each"] = json!("ids");
    for plan in [plan(&folder, endless, &keys), many] {
        let asked_after = Duration::from_millis(600);
        let began = Instant::now();
        let (finished, measured) = broken_off(&plan, asked_after);
        let took = began.elapsed().saturating_sub(asked_after);
        assert_eq!(finished, Finished::Interrupted);
        assert!(took < Duration::from_secs(2), "it took {took:?}");
        assert_eq!(measured.outcomes(), [0, 0, 0, 0]);
    }
}

#[test]
fn what_cannot_be_had_is_told_before_anything_runs() {
    let stop = AtomicBool::new(false);
    let try_to = |plan: Value| {
        let control = Control { stop: &stop, progress: None, allow_debug: true };
        run(&plan.to_string(), Box::new(std::io::sink()), control).unwrap_err()
    };
    let folder = Folder::new("refused");
    let keys = json!({
        "schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 5}, "connection": "new",
    });
    let error = try_to(plan(&folder, "SELECT 1", &keys));
    assert!(matches!(&error, EngineError::Plan(error) if error.field == "connection"), "{error}");
    let mut nowhere = plan(&folder, "SELECT 1", &keys);
    nowhere["connection"] = json!("kept");
    nowhere["driver"]["path"] = json!("/nowhere/at/all");
    let error = try_to(nowhere);
    assert!(matches!(error, EngineError::Host(_)), "{error}");
}
