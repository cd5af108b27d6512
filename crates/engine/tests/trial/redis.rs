//! Trials against Redis: the null server, and the real one where it is installed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tally::{Counter, Kind};

use crate::laboratory::{
    Measured, NullServer, free_port, has, measure, measure_each, merge, page, plan,
};

/// A variable that is set wherever tests run, and what it holds.
const SECRET: &str = "${env:CARGO_PKG_NAME}";
const PASSWORD: &str = env!("CARGO_PKG_NAME");

/// A Redis of its own in a process of its own, which ends with this value.
struct Redis {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Redis {
    fn start() -> Redis {
        let port = free_port();
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "no", "--requirepass", PASSWORD])
            .args(["--user", "writer", "on", &format!(">{PASSWORD}"), "~*", "+@all"])
            .arg("--unixsocket")
            .arg(folder.path().join("redis.sock"))
            .arg("--dir")
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut redis = Redis { child, port, folder };
        let deadline = Instant::now() + Duration::from_secs(10);
        while redis.say("PING").is_none_or(|answer| !answer.contains("PONG")) {
            assert!(Instant::now() < deadline, "redis-server does not answer");
            assert!(redis.child.try_wait().unwrap().is_none(), "redis-server has ended");
            std::thread::yield_now();
        }
        redis
    }

    /// What it answers to a line, on a connection of its own; `None` while it does not listen.
    fn say(&self, line: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        write!(stream, "AUTH {PASSWORD}\r\n{line}\r\nQUIT\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    fn driver(&self, keys: Value) -> Value {
        let target = format!("redis://127.0.0.1:{}", self.port);
        let mut driver = json!({"kind": "redis", "targets": [target], "password": SECRET});
        merge(&mut driver, keys);
        driver
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// A transaction `page` of these commands and what is expected of each.
fn asking(commands: &[(Value, Value)]) -> Value {
    let values = json!({
        "id": {"uniform": {"low": 1, "high": 50}},
        "text": {"text": {"length": {"low": 0, "high": 300}, "key": "id"}},
        "ids": {"list": {"low": 1, "high": 50, "length": {"low": 1, "high": 9}}},
        "database": {"constant": 3},
    });
    page(&values, commands)
}

fn run(driver: &Value, workload: &Value, keys: Value) -> Measured {
    measure(&trial(driver, workload, keys))
}

/// The same by each network provider.
fn run_each(driver: &Value, workload: &Value, keys: Value) -> Vec<Measured> {
    measure_each(&trial(driver, workload, keys))
}

fn trial(driver: &Value, workload: &Value, keys: Value) -> Value {
    let mut all = json!({
        "driver": driver, "workload": workload,
        "schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 6},
    });
    merge(&mut all, keys);
    plan("", all)
}

#[test]
fn the_null_server_answers_as_redis_would() {
    let server = NullServer::speaking("redis", &["--value-bytes", "5"]);
    let workload = asking(&[
        (json!(["GET", "k:${id}"]), json!({"reply": "xxxxx", "rows": "1"})),
        (json!(["SET", "k:${id}", "${text}"]), json!({"reply": "OK"})),
        (json!(["MGET", "k:${ids}"]), json!({"rows": "${ids}", "contains": "xxx"})),
        (json!(["MULTI"]), json!({"reply": "OK"})),
        (json!(["SET", "k", "v"]), json!({"reply": "QUEUED"})),
        (json!(["EXEC"]), json!({"rows": "1"})),
    ]);
    for resp in [2, 3] {
        let driver = json!({
            "kind": "redis", "targets": [format!("redis://{}", server.address)],
            "database": 1, "resp": resp, "password": SECRET,
        });
        let keys = json!({"stop": {"transactions": 500}, "schedule": {"closed": {"clients": 8}}});
        let measured = run(&driver, &workload, keys);
        assert_eq!(measured.outcomes(), [500, 0, 0, 0], "{:?}", measured.messages());
    }
}

#[test]
fn pipelined_answers_are_those_of_their_own_requests() {
    if !has("redis-server") {
        return;
    }
    let redis = Redis::start();
    let workload = asking(&[
        (json!(["SET", "k:${id}", "${text}"]), json!({"reply": "OK"})),
        (json!(["GET", "k:${id}"]), json!({"reply": "${text}"})),
        (json!(["ECHO", "${id}-${database}"]), json!({"reply": "${id}-3"})),
        (json!(["STRLEN", "k:${id}"]), json!({"rows": "1"})),
    ]);
    for (pipeline, resp, database) in [(1, 2, 0), (8, 2, 3), (16, 3, 3)] {
        for user in [json!(null), json!("writer")] {
            let driver = redis.driver(json!({"resp": resp, "database": database, "user": user}));
            let keys = json!({
                "stop": {"transactions": 2000}, "schedule": {"closed": {"clients": 16}},
                "pipeline": pipeline,
            });
            for measured in run_each(&driver, &workload, keys) {
                assert_eq!(measured.outcomes(), [2000, 0, 0, 0], "{:?}", measured.messages());
                let connected = measured.measurement.totals(
                    Kind::Operation,
                    Some("connect"),
                    i64::MIN..i64::MAX,
                );
                assert_eq!(connected[Counter::Ok], 16 / pipeline);
            }
        }
        assert!(redis.say("INFO keyspace").unwrap().contains(&format!("db{database}:keys=")));
    }
}

#[test]
fn records_are_told_from_those_of_other_keys_and_from_torn_ones() {
    if !has("redis-server") {
        return;
    }
    let redis = Redis::start();
    let values = json!({
        "id": {"uniform": {"low": 1, "high": 20}},
        "ids": {"list": {"low": 1, "high": 20, "length": 5}},
        "all": {"batch": {"start": 1, "length": 20, "last": 20}},
        "value": {"text": {"length": 50, "key": "id", "versioned": true}},
        "each": {"text": {"length": 50, "key": "all", "versioned": true}},
    });
    let operation = |name: &str, command: &Value, more: Value| {
        let mut operation =
            json!({"name": name, "request": {"command": command}, "expect": {"reply": "OK"}});
        for (key, value) in more.as_object().unwrap() {
            operation[key] = value.clone();
        }
        operation
    };
    let keyed = json!({"expect": {"keyed": "value"}});
    let set = operation("set", &json!(["SET", "k:${all}", "${each}"]), json!({"for_each": "all"}));
    let change = operation("change", &json!(["SET", "k:${id}", "${value}"]), json!({}));
    let get = operation("get", &json!(["GET", "k:${id}"]), keyed.clone());
    let many = operation("many", &json!(["MGET", "k:${ids}"]), keyed);
    let workload = |operations: Value| {
        let page = json!({"name": "page", "operations": operations});
        json!({"values": values, "transactions": [page]})
    };
    let keys = || json!({"stop": {"transactions": 300}, "schedule": {"closed": {"clients": 3}}});
    let driver = redis.driver(json!({}));
    let measured = run(&driver, &workload(json!([set])), json!({"stop": {"transactions": 1}}));
    assert_eq!(measured.outcomes(), [1, 0, 0, 0], "{:?}", measured.messages());
    let measured = run(&driver, &workload(json!([get, change, many])), keys());
    assert_eq!(measured.outcomes(), [300, 0, 0, 0], "{:?}", measured.messages());
    redis.say("COPY k:1 k:2 REPLACE").unwrap();
    redis.say("SETRANGE k:3 40 ?").unwrap();
    redis.say("DEL k:4").unwrap();
    for asked in [&get, &many] {
        let measured = run(&driver, &workload(json!([asked])), keys());
        let [ok, failed, ..] = measured.outcomes();
        assert!(ok > 0 && failed > 20 && ok + failed == 300, "{:?}", measured.outcomes());
        assert_eq!(measured.messages(), ["the body is not as expected".to_owned()].into());
    }
}

#[test]
fn a_socket_in_the_file_system_is_connected_to() {
    if !has("redis-server") {
        return;
    }
    let redis = Redis::start();
    let target = format!("redis://{}", redis.folder.path().join("redis.sock").display());
    let driver = redis.driver(json!({"targets": [target]}));
    let workload = asking(&[(json!(["PING"]), json!({"reply": "PONG"}))]);
    assert_eq!(run(&driver, &workload, json!({})).outcomes(), [6, 0, 0, 0]);
}

#[test]
fn values_that_are_missing_or_wrong_are_told_from_right_ones() {
    if !has("redis-server") {
        return;
    }
    let redis = Redis::start();
    redis.say("MSET k:1 one k:2 two n 7").unwrap();
    let driver = redis.driver(json!({}));
    for (command, right, wrong, message) in [
        (json!(["GET", "k:1"]), json!({"reply": "one"}), json!({"reply": "two"}), "body"),
        (json!(["GET", "no"]), json!({"rows": "0"}), json!({"reply": ""}), "body"),
        (json!(["GET", "no"]), json!({}), json!({"rows": "1"}), "fewer rows"),
        (json!(["INCRBY", "n", "0"]), json!({"reply": "7"}), json!({"reply": "8"}), "body"),
        (
            json!(["MGET", "k:1", "k:2", "k:3"]),
            json!({"rows": "2", "contains": "wo"}),
            json!({"rows": "3"}),
            "fewer rows",
        ),
        (
            json!(["MGET", "k:1", "k:2"]),
            json!({"contains": "one"}),
            json!({"contains": "onetwo"}),
            "body",
        ),
        (json!(["MGET", "k:1", "k:2"]), json!({"rows": "2"}), json!({"rows": "1"}), "more rows"),
    ] {
        let measured = run(&driver, &asking(&[(command.clone(), right)]), json!({}));
        assert_eq!(measured.outcomes(), [6, 0, 0, 0], "{command}: {:?}", measured.messages());
        let measured = run(&driver, &asking(&[(command.clone(), wrong)]), json!({}));
        assert_eq!(measured.outcomes(), [0, 6, 0, 0], "{command}");
        let messages = measured.messages();
        assert!(messages.iter().all(|told| told.contains(message)), "{messages:?}");
    }
}

#[test]
fn a_constant_script_is_loaded_and_asked_by_name() {
    if !has("redis-server") {
        return;
    }
    let redis = Redis::start();
    let driver = redis.driver(json!({}));
    let script = json!(["EVAL", "return ARGV[1]", "1", "k:${id}", "${id}"]);
    let echo = (script, json!({"reply": "${id}"}));
    let measured = run(&driver, &asking(std::slice::from_ref(&echo)), json!({}));
    assert_eq!(measured.outcomes(), [6, 0, 0, 0], "{:?}", measured.messages());
    let statistics = redis.say("INFO commandstats").unwrap();
    assert!(statistics.contains("cmdstat_evalsha:calls=6,"), "{statistics}");
    assert!(!statistics.contains("cmdstat_eval:"), "{statistics}");
    // A script that was forgotten fails once, and is loaded again with the next connection.
    let flushing = asking(&[echo, (json!(["SCRIPT", "FLUSH"]), json!({}))]);
    let measured = run(&driver, &flushing, json!({}));
    assert_eq!(measured.outcomes(), [3, 3, 0, 0], "{:?}", measured.messages());
    assert!(measured.messages().iter().any(|message| message.contains("NOSCRIPT")));
}

#[test]
fn what_is_gathered_for_exec_does_not_outlive_its_transaction() {
    if !has("redis-server") {
        return;
    }
    let redis = Redis::start();
    let driver = redis.driver(json!({}));
    let gathered = |command: Value, expect: Value| {
        asking(&[
            (json!(["MULTI"]), json!({"reply": "OK"})),
            (command, expect),
            (json!(["EXEC"]), json!({"rows": "1"})),
        ])
    };
    let good = gathered(json!(["SET", "k", "v"]), json!({"reply": "QUEUED"}));
    assert_eq!(run(&driver, &good, json!({})).outcomes(), [6, 0, 0, 0]);
    for (command, expect, message) in [
        (json!(["INCR", "k"]), json!({}), "ERR value is not an integer"),
        (json!(["NOTHING"]), json!({}), "ERR unknown command"),
        (json!(["SET", "k", "v"]), json!({"reply": "OK"}), "body"),
    ] {
        let measured = run(&driver, &gathered(command, expect), json!({}));
        assert_eq!(measured.outcomes(), [0, 6, 0, 0]);
        let messages = measured.messages();
        assert!(messages.iter().all(|told| told.contains(message)), "{messages:?}");
    }
}

#[test]
fn a_log_in_that_fails_is_told_in_the_servers_words() {
    if !has("redis-server") {
        return;
    }
    let redis = Redis::start();
    let workload = asking(&[(json!(["GET", "k"]), json!({}))]);
    for (keys, message) in [
        (json!({"password": "${env:CARGO_MANIFEST_DIR}"}), "WRONGPASS"),
        (json!({"password": null}), "NOAUTH"),
        (json!({"user": "nobody"}), "WRONGPASS"),
        (json!({"database": 99}), "ERR DB index is out of range"),
    ] {
        let stop = json!({"stop": {"duration_ns": 200_000_000}, "timeout_ns": 1_000_000_000});
        let measured = run(&redis.driver(keys), &workload, stop);
        let messages = measured.messages();
        assert!(messages.iter().all(|told| told.contains(message)), "{messages:?}");
        assert_eq!(measured.outcomes()[0], 0);
        assert!(!messages.is_empty());
    }
}

#[test]
fn what_redis_is_not_asked_so_is_refused_before_anything_starts() {
    let command = |words: Value| asking(&[(words, json!({}))]);
    let get = || command(json!(["GET", "k"]));
    let driver = |keys: Value| {
        let mut driver = json!({"kind": "redis", "targets": ["redis://127.0.0.1:1"]});
        merge(&mut driver, keys);
        driver
    };
    let lists = json!(["MGET", "${ids}${ids}", "${ids}-${more}"]);
    let mut two = command(lists);
    two["values"]["more"] = two["values"]["ids"].clone();
    for (driver, workload, pipeline, message) in [
        (driver(json!({"password": "plain"})), get(), 1, "driver.password"),
        (driver(json!({"user": "u"})), get(), 1, "driver.user = u: a user needs a password"),
        (driver(json!({"resp": 4})), get(), 1, "driver.resp = 4"),
        (driver(json!({"targets": ["http://h"]})), get(), 1, "redis://host:port"),
        (driver(json!({})), command(json!(["SUBSCRIBE", "c"])), 1, "one reply"),
        (driver(json!({})), command(json!(["client", "reply", "off"])), 1, "one reply"),
        (driver(json!({})), command(json!([])), 1, "at least a name"),
        (driver(json!({})), command(json!(["${text}"])), 1, "does not vary"),
        (driver(json!({})), command(json!(["MULTI"])), 2, "each other's"),
        (driver(json!({})), two, 1, "one list alone"),
    ] {
        let plan = plan(
            "",
            json!({
                "driver": driver, "workload": workload, "pipeline": pipeline,
                "schedule": {"closed": {"clients": 2}}, "stop": {"transactions": 1},
            }),
        );
        let error = engine::check(&plan.to_string()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert!(!error.contains("plain"), "{error}");
    }
}
