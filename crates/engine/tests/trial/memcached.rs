//! Trials against memcached: the null server, and the real one where it is installed.

use std::io::{BufRead, BufReader, Lines, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::laboratory::{
    Measured, NullServer, free_port, has, measure, measure_each, merge, page, plan,
};
use crate::misdeeds::server;

/// A variable that is set wherever tests run, and what it holds.
const SECRET: &str = "${env:CARGO_PKG_NAME}";
const PASSWORD: &str = env!("CARGO_PKG_NAME");

/// A memcached of its own in a process of its own, which ends with this value.
struct Memcached {
    child: Child,
    port: u16,
}

impl Memcached {
    fn start(arguments: &[&str]) -> Memcached {
        let port = free_port();
        let child = Command::new("memcached")
            .args(["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-u", "nobody"])
            .args(arguments)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut memcached = Memcached { child, port };
        let deadline = Instant::now() + Duration::from_secs(10);
        while memcached.say("version").is_none() {
            assert!(Instant::now() < deadline, "memcached does not answer");
            assert!(memcached.child.try_wait().unwrap().is_none(), "memcached has ended");
            std::thread::yield_now();
        }
        memcached
    }

    /// The first line it answers, on a connection of its own; `None` while it does not listen.
    fn say(&self, request: &str) -> Option<String> {
        self.lines(request)?.next()?.ok()
    }

    /// The lines it answers, on a connection of its own.
    fn lines(&self, request: &str) -> Option<Lines<BufReader<TcpStream>>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        write!(stream, "{request}\r\n").ok()?;
        Some(BufReader::new(stream).lines())
    }

    fn driver(&self) -> Value {
        driver(&[self.port], json!({}))
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

fn driver(ports: &[u16], keys: Value) -> Value {
    let targets: Vec<String> =
        ports.iter().map(|port| format!("memcached://127.0.0.1:{port}")).collect();
    let mut driver = json!({"kind": "memcached", "targets": targets});
    merge(&mut driver, keys);
    driver
}

/// A transaction `page` of these commands and what is expected of each.
fn asking(commands: &[(Value, Value)]) -> Value {
    let values = json!({
        "id": {"uniform": {"low": 1, "high": 50}},
        "ids": {"list": {"low": 1, "high": 20, "length": {"low": 1, "high": 9}}},
        "all": {"batch": {"start": 1, "length": 20, "last": 20}},
        "text": {"text": {"length": {"low": 0, "high": 300}, "key": "id"}},
        "value": {"text": {"length": 50, "key": "id", "versioned": true}},
        "bytes": {"bytes": {"length": 100}},
        "spaced": {"constant": "a b"},
    });
    page(&values, commands)
}

/// The storing of twenty records.
fn loading() -> Value {
    let mut load =
        asking(&[(json!(["set", "k:${all}", "0", "0", "${each}"]), json!({"reply": "STORED"}))]);
    load["values"]["each"] = load["values"]["value"].clone();
    load["values"]["each"]["text"]["key"] = json!("all");
    load["transactions"][0]["operations"][0]["for_each"] = json!("all");
    load
}

fn trial(driver: &Value, workload: &Value, keys: Value) -> Value {
    let mut all = json!({
        "driver": driver, "workload": workload,
        "schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 6},
    });
    merge(&mut all, keys);
    plan("", all)
}

fn run(driver: &Value, workload: &Value, keys: Value) -> Measured {
    measure(&trial(driver, workload, keys))
}

#[test]
fn the_null_server_answers_as_memcached_would() {
    let workload = asking(&[
        (json!(["get", "k:${id}"]), json!({"reply": "xxxxx", "rows": "1"})),
        (json!(["gats", "60", "k:${ids}"]), json!({"contains": "xxxxx", "rows": "${ids}"})),
        (json!(["set", "k:${id}", "0", "0", "${text}"]), json!({"reply": "STORED"})),
        (json!(["incr", "k:${id}", "1"]), json!({"reply": "1"})),
        (json!(["mg", "k:${id}", "v", "f", "O${id}"]), json!({"reply": "xxxxx"})),
        (json!(["mg", "k:${id}", "k", "O${id}"]), json!({"reply": "HD kk:${id} O${id}"})),
        (json!(["ms", "k:${id}", "T0", "${text}"]), json!({"reply": "HD"})),
        (json!(["md", "k:${id}"]), json!({"reply": "HD"})),
        (json!(["mn"]), json!({"reply": "MN"})),
    ]);
    let server = NullServer::speaking("memcached", &["--value-bytes", "5"]);
    let port = server.address.rsplit_once(':').unwrap().1.parse().unwrap();
    let keys = json!({"stop": {"transactions": 500}, "schedule": {"closed": {"clients": 8}}});
    let measured = run(&driver(&[port], json!({})), &workload, keys);
    assert_eq!(measured.outcomes(), [500, 0, 0, 0], "{:?}", measured.messages());
}

#[test]
fn the_null_server_says_nothing_where_nothing_is_wanted() {
    let server = NullServer::speaking("memcached", &["--value-bytes", "1"]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream
        .write_all(b"set k 0 0 1 noreply\r\nx\r\nms k 1 q\r\nx\r\nmd k q\r\nmg k v q k\r\nmn\r\n")
        .unwrap();
    let lines: Vec<String> = BufReader::new(stream).lines().take(3).map(Result::unwrap).collect();
    assert_eq!(lines, ["VA 1 kk", "x", "MN"]);
}

#[test]
fn pipelined_answers_are_those_of_their_own_requests() {
    if !has("memcached") {
        return;
    }
    let memcached = Memcached::start(&[]);
    let workload = asking(&[
        (json!(["set", "k:${id}", "0", "0", "${text}"]), json!({"reply": "STORED"})),
        (json!(["get", "k:${id}"]), json!({"reply": "${text}", "rows": "1"})),
        (json!(["mg", "k:${id}", "O${id}"]), json!({"reply": "HD O${id}"})),
        (json!(["ms", "k:${id}", "T60", "O${id}", "${text}"]), json!({"reply": "HD O${id}"})),
        (json!(["set", "b:${id}", "0", "0", "${bytes}"]), json!({"reply": "STORED"})),
        (json!(["gat", "60", "k:${id}", "no:${id}"]), json!({"reply": "${text}", "rows": "1"})),
    ]);
    for pipeline in [1, 16] {
        let keys = json!({
            "stop": {"transactions": 2000}, "schedule": {"closed": {"clients": 16}},
            "pipeline": pipeline,
        });
        for measured in measure_each(&trial(&memcached.driver(), &workload, keys)) {
            assert_eq!(measured.outcomes(), [2000, 0, 0, 0], "{:?}", measured.messages());
        }
    }
}

#[test]
fn records_are_told_from_those_of_other_keys_and_from_missing_ones() {
    if !has("memcached") {
        return;
    }
    let memcached = Memcached::start(&[]);
    let once = json!({"stop": {"transactions": 1}});
    let measured = run(&memcached.driver(), &loading(), once);
    assert_eq!(measured.outcomes(), [1, 0, 0, 0], "{:?}", measured.messages());

    let keyed = || json!({"keyed": "value"});
    let one = (json!(["get", "k:${id}"]), keyed());
    let many = (json!(["get", "k:${ids}"]), json!({"keyed": "value", "rows": "${ids}"}));
    let meta = (json!(["mg", "k:${id}", "v"]), keyed());
    let change = (json!(["replace", "k:${id}", "0", "0", "${value}"]), json!({"rows": "1"}));
    let asked = |commands: &[(Value, Value)]| {
        let mut workload = asking(commands);
        workload["values"]["id"]["uniform"]["high"] = json!(20);
        let keys = json!({"stop": {"transactions": 300}, "schedule": {"closed": {"clients": 3}}});
        run(&memcached.driver(), &workload, keys)
    };
    let measured = asked(&[one.clone(), change, many.clone(), meta.clone()]);
    assert_eq!(measured.outcomes(), [300, 0, 0, 0], "{:?}", measured.messages());

    assert_eq!(memcached.say("set k:3 0 0 3\r\nxyz").unwrap(), "STORED");
    assert_eq!(memcached.say("delete k:4").unwrap(), "DELETED");
    for command in [one, many, meta] {
        let measured = asked(&[command]);
        let [ok, failed, ..] = measured.outcomes();
        assert!(ok > 0 && failed > 20 && ok + failed == 300, "{:?}", measured.outcomes());
    }
}

/// Every key of a multi-get that is placed on two servers by the remainder, some on each.
const BOTH: [&str; 9] = ["get", "k:1", "k:2", "k:3", "k:4", "k:5", "k:6", "k:7", "k:8"];

#[test]
fn keys_are_placed_on_several_servers_and_found_there() {
    if !has("memcached") {
        return;
    }
    for (sharding, pipeline) in [("ketama", 1), ("ketama", 4), ("modulo", 1)] {
        let servers = [(); 3].map(|()| Memcached::start(&[]));
        let driver = driver(&servers.each_ref().map(|s| s.port), json!({"sharding": sharding}));
        let once = json!({"stop": {"transactions": 1}});
        assert_eq!(run(&driver, &loading(), once).outcomes(), [1, 0, 0, 0]);
        let items = |server: &Memcached| {
            let mut lines = server.lines("stats").unwrap().map(Result::unwrap);
            lines
                .find_map(|line| line.strip_prefix("STAT curr_items ")?.parse::<u32>().ok())
                .unwrap()
        };
        let held = servers.each_ref().map(items);
        assert!(held.iter().sum::<u32>() == 20 && held.iter().all(|&items| items > 0), "{held:?}");

        let keyed = || json!({"keyed": "value", "rows": "${ids}"});
        let mut workload = asking(&[
            (json!(["get", "k:${ids}"]), keyed()),
            (json!(["replace", "k:${id}", "0", "0", "${value}"]), json!({"reply": "STORED"})),
            (json!(["get", "k:${id}"]), json!({"keyed": "value"})),
            (json!(["gats", "60", "k:${ids}"]), keyed()),
            (json!(["flush_all", "1000"]), json!({"reply": "OK", "rows": "3"})),
        ]);
        workload["values"]["id"]["uniform"]["high"] = json!(20);
        let keys = json!({
            "stop": {"transactions": 300}, "pipeline": pipeline,
            "schedule": {"closed": {"clients": 12}},
        });
        for measured in measure_each(&trial(&driver, &workload, keys)) {
            assert_eq!(measured.outcomes(), [300, 0, 0, 0], "{:?}", measured.messages());
        }
        let gone = servers.iter().map(|server| server.say("delete k:7").unwrap());
        assert_eq!(gone.filter(|told| told == "DELETED").count(), 1);
        let all = asking(&[(json!(["get", "k:${all}"]), json!({"keyed": "value"}))]);
        let measured = run(&driver, &all, json!({}));
        assert_eq!(measured.outcomes(), [0, 6, 0, 0]);
    }
}

#[test]
fn of_several_servers_one_that_is_gone_fails_what_is_asked_of_it_alone() {
    let server = NullServer::speaking("memcached", &["--value-bytes", "5"]);
    let here = server.address.rsplit_once(':').unwrap().1.parse().unwrap();
    let driver = driver(&[here, free_port()], json!({"sharding": "modulo"}));
    let workload = asking(&[(json!(["get", "k:${id}"]), json!({"reply": "xxxxx"}))]);
    let open = json!({"open": {"connections": 3, "shape": [
        {"from_per_second": 500, "to_per_second": 500, "length_ns": 1_000_000_000_u64}]}});
    for schedule in [json!({"closed": {"clients": 3}}), open] {
        let keys = json!({"schedule": schedule, "stop": {"transactions": 100}});
        for measured in measure_each(&trial(&driver, &workload, keys)) {
            let [ok, failed, ..] = measured.outcomes();
            assert!(ok > 20 && failed > 20 && ok + failed == 100, "{:?}", measured.outcomes());
            assert_eq!(measured.messages(), ["connection refused".to_owned()].into());
        }
    }
}

#[test]
fn an_answer_in_parts_is_as_good_as_the_worst_of_them() {
    let sound = NullServer::speaking("memcached", &["--value-bytes", "5"]);
    let port = |address: &str| address.rsplit_once(':').unwrap().1.parse().unwrap();
    let workload = asking(&[(json!(BOTH), json!({"rows": "8", "contains": "xxxxx"}))]);
    let other: [(&[u8], bool, [u64; 4], &str); 6] = [
        (b"VALUE k:1 0 1\r\ny\r\nEND\r\n", true, [0, 6, 0, 0], "fewer rows"),
        (b"SERVER_ERROR out of memory\r\n", true, [0, 6, 0, 0], "out of memory"),
        (b"garbage\r\n", true, [0, 6, 0, 0], "begins as none does"),
        (b"VALUE k:1 0 5\r\nhel", true, [0, 0, 6, 0], "time-out"),
        (b"VALUE k:1 0 5\r\nhel", false, [0, 0, 0, 6], "within the answer"),
        (b"", false, [0, 0, 0, 6], "before the answer"),
    ];
    for (bytes, stays, outcomes, message) in other {
        let wrong = server(move |mut stream| {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while let Some(Ok(_request)) = lines.next() {
                if stream.write_all(bytes).is_err() || !stays {
                    return;
                }
            }
        });
        let driver = driver(&[port(&sound.address), port(&wrong)], json!({"sharding": "modulo"}));
        for (clients, pipeline) in [(2, 1), (4, 2)] {
            let keys = json!({
                "schedule": {"closed": {"clients": clients}}, "stop": {"transactions": 6},
                "timeout_ns": 100_000_000, "pipeline": pipeline,
            });
            for measured in measure_each(&trial(&driver, &workload, keys)) {
                let messages = measured.messages();
                assert_eq!(measured.open(), 0);
                // Whoever shares the connection is behind what went wrong on it.
                if pipeline == 1 {
                    assert_eq!(measured.outcomes(), outcomes, "{messages:?}");
                    assert!(messages.iter().any(|told| told.contains(message)), "{messages:?}");
                } else {
                    assert_eq!(measured.outcomes()[0], 0, "{messages:?}");
                }
            }
        }
    }
}

#[test]
fn several_servers_are_simulated_as_one() {
    let driver = driver(&[1, 2, 3], json!({"sharding": "ketama"}));
    let workload = asking(&[(json!(["get", "k:${ids}"]), json!({"rows": "${ids}"}))]);
    let sim = json!({"service": {"constant_ns": 1_000_000}, "servers": 64, "latency_ns": 100_000});
    let keys = json!({
        "schedule": {"closed": {"clients": 4}}, "stop": {"transactions": 100},
        "net": "sim", "sim": sim,
    });
    let measured = run(&driver, &workload, keys);
    assert_eq!(measured.outcomes(), [100, 0, 0, 0], "{:?}", measured.messages());
    // The parts of an answer are awaited at once, not one after another.
    let longest = measured.count(tally::Kind::Transaction, "page", tally::Counter::MaxService);
    assert!((1_200_000..1_300_000).contains(&longest), "{longest}");
}

#[test]
fn values_that_are_missing_or_wrong_are_told_from_right_ones() {
    if !has("memcached") {
        return;
    }
    let memcached = Memcached::start(&[]);
    memcached.say("set n 0 0 1\r\n7").unwrap();
    let run = |commands: &[(Value, Value)]| run(&memcached.driver(), &asking(commands), json!({}));
    for (command, right, wrong, message) in [
        (json!(["get", "n"]), json!({"reply": "7"}), json!({"reply": "8"}), "body"),
        (json!(["get", "n", "n"]), json!({"rows": "2"}), json!({"reply": "7"}), "body"),
        (json!(["get", "no"]), json!({"rows": "0"}), json!({"reply": ""}), "body"),
        (json!(["get", "no"]), json!({}), json!({"rows": "1"}), "fewer rows"),
        (json!(["mg", "no", "v"]), json!({"rows": "0"}), json!({"reply": "EN"}), "body"),
        (json!(["incr", "n", "0"]), json!({"reply": "7"}), json!({"reply": "8"}), "body"),
        (json!(["incr", "no", "1"]), json!({"rows": "0"}), json!({"rows": "1"}), "fewer rows"),
        (json!(["touch", "n", "0"]), json!({"reply": "TOUCHED"}), json!({"rows": "2"}), "fewer"),
        (json!(["stats"]), json!({"contains": "curr_items"}), json!({"contains": "nope"}), "body"),
        (json!(["version"]), json!({"contains": "VERSION"}), json!({"rows": "0"}), "more rows"),
        (
            json!(["add", "n", "0", "0", "1"]),
            json!({"reply": "NOT_STORED"}),
            json!({"rows": "1"}),
            "fewer rows",
        ),
    ] {
        let measured = run(&[(command.clone(), right)]);
        assert_eq!(measured.outcomes(), [6, 0, 0, 0], "{command}: {:?}", measured.messages());
        let measured = run(&[(command.clone(), wrong)]);
        assert_eq!(measured.outcomes(), [0, 6, 0, 0], "{command}");
        let messages = measured.messages();
        assert!(messages.iter().all(|told| told.contains(message)), "{messages:?}");
    }
}

#[test]
fn what_memcached_refuses_is_failed_and_harms_nothing_behind_it() {
    if !has("memcached") {
        return;
    }
    let memcached = Memcached::start(&[]);
    for (command, message) in [
        (json!(["incr", "k", "x"]), "CLIENT_ERROR invalid numeric delta"),
        (json!(["set", "k", "x", "0", "${text}"]), "CLIENT_ERROR bad command line format"),
        (json!(["ms", "k", "Tx", "${text}"]), "CLIENT_ERROR bad token"),
        (json!(["set", "k", "0", "0", "${large}"]), "SERVER_ERROR object too large for cache"),
        (json!(["get", "k:${spaced}"]), "no space"),
        (json!(["get", "k:${large}"]), "1 to 250 bytes"),
    ] {
        let get = (json!(["get", "n"]), json!({"rows": "0"}));
        let mut workload = asking(&[(command.clone(), json!({})), get]);
        workload["values"]["large"] = json!({"text": {"length": 1_100_000}});
        // Each transaction's first operation fails; the other transaction is never harmed.
        let other = asking(&[(json!(["get", "n"]), json!({"rows": "0"}))]);
        let mut other = other["transactions"][0].clone();
        other["name"] = json!("other");
        workload["transactions"].as_array_mut().unwrap().push(other);
        let measured = run(&memcached.driver(), &workload, json!({"stop": {"transactions": 60}}));
        let [ok, failed, ..] = measured.outcomes();
        let others = measured.count(tally::Kind::Transaction, "other", tally::Counter::Ok);
        assert_eq!((ok, failed + others), (0, 60), "{command}: {:?}", measured.messages());
        assert!(failed > 0 && others > 0);
        let messages = measured.messages();
        assert_eq!(messages.len(), 1, "{command}: {messages:?}");
        assert!(messages.iter().all(|told| told.contains(message)), "{messages:?}");
    }
}

#[test]
fn a_log_in_is_that_of_the_servers_file_of_users() {
    if !has("memcached") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    std::fs::write(&users, format!("reader:{PASSWORD}\n")).unwrap();
    let memcached = Memcached::start(&["-Y", users.to_str().unwrap()]);
    let workload = asking(&[(json!(["get", "k"]), json!({"rows": "0"}))]);
    let driver = |user: &str| driver(&[memcached.port], json!({"user": user, "password": SECRET}));
    let measured = run(&driver("reader"), &workload, json!({}));
    assert_eq!(measured.outcomes(), [6, 0, 0, 0], "{:?}", measured.messages());
    let stop = json!({"stop": {"duration_ns": 200_000_000}});
    let measured = run(&driver("stranger"), &workload, stop);
    assert_eq!(measured.outcomes()[0], 0);
    let messages = measured.messages();
    assert!(!messages.is_empty());
    assert!(messages.iter().all(|told| told.contains("CLIENT_ERROR authentication failure")));
}

#[test]
fn a_socket_in_the_file_system_is_connected_to() {
    if !has("memcached") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memcached.sock");
    let mut child = Command::new("memcached")
        .args(["-u", "root", "-s"])
        .arg(&path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while std::os::unix::net::UnixStream::connect(&path).is_err() {
        assert!(Instant::now() < deadline, "memcached does not listen");
        std::thread::yield_now();
    }
    let target = format!("memcached://{}", path.display());
    let workload = asking(&[(json!(["mn"]), json!({"reply": "MN"}))]);
    let measured = run(&driver(&[], json!({"targets": [target]})), &workload, json!({}));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(measured.outcomes(), [6, 0, 0, 0], "{:?}", measured.messages());
}

#[test]
fn what_memcached_is_not_asked_so_is_refused_before_anything_starts() {
    let command = |words: Value| asking(&[(words, json!({}))]);
    let get = || command(json!(["get", "k"]));
    let with = |keys: Value| driver(&[1], keys);
    let plain = || with(json!({}));
    for (driver, workload, message) in [
        (with(json!({"user": "u", "password": "plain"})), get(), "driver.password"),
        (with(json!({"user": "u"})), get(), "belong together"),
        (with(json!({"password": SECRET})), get(), "belong together"),
        (with(json!({"targets": ["redis://h"]})), get(), "memcached://host:port"),
        (driver(&[1, 2], json!({})), get(), "ketama or modulo"),
        (driver(&[1; 65], json!({"sharding": "modulo"})), get(), "at most 64 servers"),
        (with(json!({"sharding": "rendezvous"})), get(), "known: ketama, modulo"),
        (plain(), command(json!(["gett", "k"])), "did you mean `get`"),
        (plain(), command(json!(["watch"])), "knows no such command"),
        (plain(), command(json!(["set", "k", "0", "0"])), "what a command stores"),
        (plain(), command(json!(["ms", "k"])), "what a command stores"),
        (plain(), command(json!(["delete"])), "a key is needed"),
        (plain(), command(json!(["delete", "k", "noreply"])), "one answer"),
        (plain(), command(json!(["mg", "k", "v", "q"])), "one answer"),
        (plain(), command(json!(["get", "a b"])), "no space"),
        (plain(), command(json!(["delete", "k:${ids}"])), "several keys"),
        (plain(), command(json!(["gat", "${ids}", "k"])), "several keys"),
    ] {
        let plan = trial(&driver, &workload, json!({}));
        let error = engine::check(&plan.to_string()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert!(!error.contains("plain"), "{error}");
    }
    let fresh = json!({"connection": "new"});
    let plan = trial(&driver(&[1, 2], json!({"sharding": "ketama"})), &get(), fresh);
    let error = engine::check(&plan.to_string()).unwrap_err().to_string();
    assert!(error.contains("keep their connections"), "{error}");
}
