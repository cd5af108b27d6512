//! Trials against a Redis Cluster: three masters, slots that move, a master that is lost.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha1::{Digest, Sha1};
use tally::{Counter, Kind};
use wire::redis::cluster::slot;

use crate::laboratory::{
    Measured, NullServer, SECOND, beside, free_port, has, measure, measure_each, merge, page, plan,
    providers, simulated,
};

/// A node in a process of its own, which ends with this value.
struct Node {
    child: Child,
    port: u16,
    bus: u16,
    /// Where it is asked encrypted, if it is.
    encrypted: Option<u16>,
    _folder: tempfile::TempDir,
}

impl Node {
    fn start() -> Node {
        Node::with(None)
    }

    /// With a certificate, clients and other nodes are to ask it encrypted.
    fn with(certificate: Option<&Path>) -> Node {
        let (port, bus) = (free_port(), free_port());
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("redis-server");
        let encrypted = certificate.map(|folder| {
            let port = free_port();
            command.args(["--tls-port", &port.to_string(), "--tls-cluster", "yes"]);
            command.args(["--tls-auth-clients", "no", "--tls-key-file"]).arg(folder.join("key"));
            for of in ["--tls-cert-file", "--tls-ca-cert-file"] {
                command.arg(of).arg(folder.join("certificate"));
            }
            port
        });
        let child = command
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--cluster-enabled", "yes", "--cluster-port", &bus.to_string()])
            .args(["--cluster-require-full-coverage", "no", "--cluster-node-timeout", "5000"])
            .args(["--repl-diskless-sync-delay", "0", "--appendonly", "no"])
            .arg("--dir")
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let node = Node { child, port, bus, encrypted, _folder: folder };
        node.wait_for("PING", "PONG");
        node
    }

    /// What it answers to a line, on a connection of its own; nothing while it does not listen.
    fn say(&self, line: &str) -> String {
        let mut answer = String::new();
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            write!(stream, "{line}\r\nQUIT\r\n").unwrap();
            stream.read_to_string(&mut answer).unwrap();
        }
        answer
    }

    fn do_at_once(&self, line: &str) {
        let answer = self.say(line);
        assert!(answer.starts_with("+OK"), "{line}: {answer}");
    }

    fn wait_for(&self, line: &str, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let answer = self.say(line);
            if answer.contains(text) {
                return;
            }
            assert!(Instant::now() < deadline, "{line}: no `{text}` in {answer}");
            std::thread::yield_now();
        }
    }

    fn id(&self) -> String {
        let answer = self.say("CLUSTER MYID");
        answer.lines().nth(1).unwrap().to_owned()
    }

    fn target(&self) -> String {
        let scheme = if self.encrypted.is_some() { "rediss" } else { "redis" };
        format!("{scheme}://127.0.0.1:{}", self.known_port())
    }

    /// The port that the others and the driver know.
    fn known_port(&self) -> u16 {
        self.encrypted.unwrap_or(self.port)
    }

    /// A figure of `INFO`, such as that of `cmdstat_get:calls=`; 0 where there is none.
    fn figure(&self, section: &str, name: &str) -> u64 {
        let info = self.say(&format!("INFO {section}"));
        let found = info.lines().find_map(|line| line.strip_prefix(name));
        let digits = found.unwrap_or("0").split(|c: char| !c.is_ascii_digit()).next();
        digits.unwrap().parse().unwrap()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// The slots of each master: not such as anybody would guess.
const SLOTS: [&[(u16, u16)]; 3] =
    [&[(0, 99), (12_000, 16_383)], &[(100, 8_000)], &[(8_001, 11_999)]];

/// The master that has a key at first.
fn holder(key: &str) -> usize {
    let slot = slot(key.as_bytes());
    let has = |ranges: &&[(u16, u16)]| ranges.iter().any(|(a, b)| (*a..=*b).contains(&slot));
    SLOTS.iter().position(has).unwrap()
}

/// Three masters that know each other.
fn masters() -> Vec<Node> {
    introduced((0..3).map(|_| Node::start()).collect())
}

fn introduced(nodes: Vec<Node>) -> Vec<Node> {
    for (node, ranges) in nodes.iter().zip(SLOTS) {
        for (first, last) in ranges {
            node.do_at_once(&format!("CLUSTER ADDSLOTSRANGE {first} {last}"));
        }
        meet(node, &nodes[0]);
    }
    for node in &nodes {
        node.wait_for("CLUSTER INFO", "cluster_known_nodes:3");
        node.wait_for("CLUSTER INFO", "cluster_slots_assigned:16384");
        node.wait_for("CLUSTER INFO", "cluster_state:ok");
    }
    nodes
}

fn meet(node: &Node, other: &Node) {
    node.do_at_once(&format!("CLUSTER MEET 127.0.0.1 {} {}", other.known_port(), other.bus));
}

fn driver(nodes: &[Node], keys: Value) -> Value {
    let targets: Vec<String> = nodes.iter().map(Node::target).collect();
    let mut driver = json!({"kind": "redis", "targets": targets, "cluster": true});
    merge(&mut driver, keys);
    driver
}

/// A transaction `page` of these commands and what is expected of each.
fn asking(commands: &[(Value, Value)]) -> Value {
    let values = json!({
        "id": {"uniform": {"low": 1, "high": 100}},
        "text": {"text": {"length": {"low": 0, "high": 300}, "key": "id"}},
        "ids": {"list": {"low": 1, "high": 100, "length": 9, "distinct": true}},
    });
    page(&values, commands)
}

fn setting_and_getting() -> Value {
    asking(&[
        (json!(["SET", "k:${id}", "${text}"]), json!({"reply": "OK"})),
        (json!(["GET", "k:${id}"]), json!({"reply": "${text}"})),
    ])
}

fn trial(driver: &Value, workload: &Value, keys: Value) -> Value {
    let mut all = json!({
        "driver": driver, "workload": workload,
        "schedule": {"closed": {"clients": 8}}, "stop": {"transactions": 400},
    });
    merge(&mut all, keys);
    plan("", all)
}

fn connected(measured: &Measured) -> u64 {
    let always = i64::MIN..i64::MAX;
    measured.measurement.totals(Kind::Operation, Some("connect"), always)[Counter::Ok]
}

#[test]
fn each_command_goes_to_the_node_that_has_its_key() {
    if !has("redis-server") {
        return;
    }
    let nodes = masters();
    let script = "return redis.call('GET', KEYS[1])";
    let digits = Sha1::digest(script);
    let sha = digits.iter().fold(String::new(), |sha, byte| sha + &format!("{byte:02x}"));
    for node in &nodes {
        let answer = node.say(&format!("SCRIPT LOAD \"{script}\""));
        assert!(answer.contains(&sha), "{answer}");
    }
    let workload = asking(&[
        (json!(["SET", "k:${id}", "${text}"]), json!({"reply": "OK"})),
        (json!(["GET", "k:${id}"]), json!({"reply": "${text}"})),
        (json!(["EVALSHA", sha, "1", "k:${id}"]), json!({"reply": "${text}"})),
        (json!(["EVAL", "return KEYS[1]", "1", "k:${id}"]), json!({"reply": "k:${id}"})),
        (json!(["OBJECT", "REFCOUNT", "k:${id}"]), json!({"reply": "1"})),
        (json!(["MGET", "{n}${ids}"]), json!({"rows": "0"})),
        (json!(["PING"]), json!({"reply": "PONG"})),
    ]);
    let open = json!({"open": {"connections": 8, "shape": [
        {"from_per_second": 2000, "to_per_second": 2000, "length_ns": SECOND}]}});
    for (keys, groups) in [
        (json!({}), 8),
        (json!({"pipeline": 4}), 2),
        (json!({"schedule": open, "workers": 2}), 8),
        (json!({"driver": driver(&nodes, json!({"resp": 3}))}), 8),
    ] {
        for measured in measure_each(&trial(&driver(&nodes, json!({})), &workload, keys)) {
            assert_eq!(measured.outcomes(), [400, 0, 0, 0], "{:?}", measured.messages());
            assert_eq!(connected(&measured), 3 * groups);
        }
    }
    for node in &nodes {
        assert!(node.figure("commandstats", "cmdstat_get:calls=") > 100);
        assert_eq!(node.figure("errorstats", "errorstat_MOVED:count="), 0);
    }
}

#[test]
fn keys_of_several_slots_and_slots_of_other_nodes_are_failed_operations() {
    if !has("redis-server") {
        return;
    }
    let nodes = masters();
    let several = asking(&[(json!(["MGET", "k:${ids}"]), json!({}))]);
    let measured = measure(&trial(&driver(&nodes, json!({})), &several, json!({})));
    assert_eq!(measured.outcomes(), [0, 400, 0, 0]);
    assert!(measured.messages().iter().all(|told| told.starts_with("CROSSSLOT")));
    let measured = measure(&trial(
        &driver(&nodes[..2], json!({})),
        &setting_and_getting(),
        json!({"stop": {"transactions": 1000}}),
    ));
    let [ok, failed, ..] = measured.outcomes();
    let absent = (1..=100).filter(|id| holder(&format!("k:{id}")) == 2).count() as u64;
    assert!(ok + failed == 1000 && failed.abs_diff(10 * absent) < 100, "{ok} {failed} {absent}");
    for told in measured.messages() {
        let node = format!("127.0.0.1:{}: no target of the Plan", nodes[2].port);
        assert_eq!(told, node);
    }
    let alone = json!({"targets": [nodes[1].target()]});
    let workload = asking(&[(json!(["SET", "{k:1}${id}", "v"]), json!({}))]);
    let measured = measure(&trial(&driver(&nodes, alone), &workload, json!({})));
    let right = if holder("k:1") == 1 { [400, 0, 0, 0] } else { [0, 400, 0, 0] };
    assert_eq!(measured.outcomes(), right);
}

#[test]
fn a_slot_that_moves_during_the_load_fails_no_operation() {
    if !has("redis-server") {
        return;
    }
    let nodes = masters();
    let (mut from, mut to) = (holder("k:7"), (holder("k:7") + 1) % 3);
    for net in providers() {
        for pipeline in [1, 4] {
            move_during_the_load(&nodes, (from, to), json!({"net": net, "pipeline": pipeline}));
            (from, to) = (to, from);
        }
    }
}

/// Runs a load by these keys while the slot of `k:7` goes from a node to another.
fn move_during_the_load(nodes: &[Node], (from, to): (usize, usize), keys: Value) {
    let mut trial = trial(&driver(nodes, json!({})), &setting_and_getting(), keys);
    trial["stop"] = json!({"duration_ns": 60 * SECOND});
    let (source, target) = (&nodes[from], &nodes[to]);
    for node in nodes {
        node.do_at_once("CONFIG RESETSTAT");
    }
    let measured = beside(&trial, || {
        let slot = slot(b"k:7");
        source.wait_for("EXISTS k:7", ":1");
        target.do_at_once(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", source.id()));
        source.do_at_once(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", target.id()));
        let port = target.known_port();
        source.do_at_once(&format!("MIGRATE 127.0.0.1 {port} k:7 0 5000"));
        target.wait_for("INFO commandstats", "cmdstat_asking:");
        source.wait_for("INFO errorstats", "errorstat_ASK:");
        target.do_at_once(&format!("CLUSTER SETSLOT {slot} NODE {}", target.id()));
        source.do_at_once(&format!("CLUSTER SETSLOT {slot} NODE {}", target.id()));
        source.wait_for("INFO errorstats", "errorstat_MOVED:");
        let before = target.figure("commandstats", "cmdstat_asking:calls=");
        target.wait_for("EXISTS k:7", ":1");
        assert!(before > 0);
    });
    let [ok, others @ ..] = measured.outcomes();
    assert!(ok > 0 && others == [0, 0, 0], "{others:?} {:?}", measured.messages());
    // Who was told once that the slot has moved does not ask in vain again.
    let moved = source.figure("errorstats", "errorstat_MOVED:count=");
    assert!((1..=8).contains(&moved), "{moved} were told");
}

#[test]
fn an_encrypted_cluster_is_asked_where_its_slots_are() {
    if !has("redis-server") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    fs::write(folder.path().join("certificate"), made.cert.pem()).unwrap();
    fs::write(folder.path().join("key"), made.signing_key.serialize_pem()).unwrap();
    let nodes = introduced((0..3).map(|_| Node::with(Some(folder.path()))).collect());
    let trusting = json!({"tls": {"ca": folder.path().join("certificate")}});
    for measured in
        measure_each(&trial(&driver(&nodes, json!({})), &setting_and_getting(), trusting.clone()))
    {
        assert_eq!(measured.outcomes(), [400, 0, 0, 0], "{:?}", measured.messages());
        assert_eq!(connected(&measured), 24);
    }
    let from = holder("k:7");
    move_during_the_load(&nodes, (from, (from + 1) % 3), trusting);
    let trusting_nobody = trial(&driver(&nodes, json!({})), &setting_and_getting(), json!({}));
    let measured = measure(&trusting_nobody);
    let told = measured.messages();
    assert!(told.iter().any(|text| text.contains("TLS: invalid peer certificate")), "{told:?}");
    assert_eq!(measured.outcomes()[0], 0, "{told:?}");
}

#[test]
fn a_replica_that_takes_over_is_found() {
    if !has("redis-server") {
        return;
    }
    let mut nodes = masters();
    let replica = Node::start();
    meet(&replica, &nodes[0]);
    replica.wait_for("CLUSTER INFO", "cluster_known_nodes:4");
    replica.do_at_once(&format!("CLUSTER REPLICATE {}", nodes[0].id()));
    replica.wait_for("INFO replication", "master_link_status:up");
    // They do not listen to a node that they have not heard of yet.
    for node in &nodes {
        node.wait_for("CLUSTER NODES", &format!("slave {}", nodes[0].id()));
    }
    nodes.push(replica);
    let keys = json!({"stop": {"duration_ns": 60 * SECOND}});
    let trial = trial(&driver(&nodes, json!({})), &setting_and_getting(), keys);
    let mut master = nodes.remove(0);
    let replica = nodes.last().unwrap();
    let measured = beside(&trial, || {
        master.wait_for("INFO commandstats", "cmdstat_set:");
        master.child.kill().unwrap();
        replica.do_at_once("CLUSTER FAILOVER TAKEOVER");
        replica.wait_for("INFO commandstats", "cmdstat_get:");
    });
    let [ok, failed, timed_out, unknown] = measured.outcomes();
    let told = measured.messages();
    assert!(ok > 0 && failed + unknown > 0, "{ok}, {failed}, {timed_out}, {unknown}: {told:?}");
    assert_eq!(timed_out, 0, "{ok}, {failed}, {unknown}: {told:?}");
}

#[test]
fn null_servers_share_the_slots() {
    let mut servers: Vec<NullServer> = (0..3).map(|_| NullServer::speaking("redis", &[])).collect();
    let targets: Vec<String> =
        servers.iter().map(|server| format!("redis://{}", server.address)).collect();
    let driver = driver(&[], json!({"targets": targets}));
    let workload = asking(&[(json!(["SET", "k:${id}", "${text}"]), json!({"reply": "OK"}))]);
    let measured = measure(&trial(&driver, &workload, json!({"pipeline": 2})));
    assert_eq!(measured.outcomes(), [400, 0, 0, 0], "{:?}", measured.messages());
    assert_eq!(connected(&measured), 12);
    // One that is gone is taken for one of the others.
    drop(servers.remove(0));
    let measured = measure(&trial(&driver, &workload, json!({})));
    assert!(measured.outcomes()[0] > 300, "{:?}", measured.outcomes());
    let sim = json!({"service": {"constant_ns": 10_000}, "latency_ns": 10_000});
    let keys = json!({
        "driver": driver, "workload": workload,
        "schedule": {"closed": {"clients": 8}}, "stop": {"transactions": 400},
    });
    assert_eq!(measure(&simulated(&sim, keys)).outcomes(), [400, 0, 0, 0]);
}

#[test]
fn what_a_cluster_is_not_asked_so_is_refused_before_anything_starts() {
    let targets = json!({"targets": ["redis://127.0.0.1:1", "redis://127.0.0.1:2"]});
    let driver = |keys: Value| {
        let mut driver = driver(&[], targets.clone());
        driver.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        driver
    };
    let get = || asking(&[(json!(["GET", "k"]), json!({}))]);
    for (driver, workload, connection, message) in [
        (driver(json!({"database": 1})), get(), "kept", "driver.database = 1: a cluster has"),
        (driver(json!({})), get(), "new", "nodes of a cluster keep"),
        (driver(json!({})), asking(&[(json!(["MULTI"]), json!({}))]), "kept", "several nodes"),
        (driver(json!({"targets": ["redis:///a/socket"]})), get(), "kept", "driver.targets[0]"),
    ] {
        let plan = trial(&driver, &workload, json!({"connection": connection}));
        let error = engine::check(&plan.to_string()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
