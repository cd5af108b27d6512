//! Trials against directories: the null server, one that answers in any order, and `OpenLDAP` where
//! it is installed.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tally::{Counter, Kind};
use wire::ldap::{Asked, Messages, Request, codes, say};

use crate::laboratory::{Measured, NullServer, has, measure, measure_each, plan};

/// A variable that is set wherever tests run, and what it holds.
const SECRET: &str = "${env:CARGO_PKG_NAME}";
const PASSWORD: &str = env!("CARGO_PKG_NAME");

/// `OpenLDAP`'s server in a process of its own, which ends with this value.
struct Slapd {
    child: Child,
    port: u16,
    secure_port: u16,
    folder: tempfile::TempDir,
}

impl Slapd {
    /// A directory of `dc=lab` with `ou=records` below it.
    fn start() -> Slapd {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        // Where the system keeps `slapd` to its own folders, it knows it by its path.
        std::fs::copy(program(), path.join("slapd")).unwrap();
        std::fs::create_dir(path.join("conf")).unwrap();
        std::fs::create_dir(path.join("db")).unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(path.join("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(path.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        let here = path.to_str().unwrap();
        fill(path, &["-n0"], &CONFIGURATION.replace("HERE", here).replace("SECRET", PASSWORD));
        fill(path, &["-q", "-b", "dc=lab"], CONTENT);
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [port, secure_port] = free.map(|listener| listener.local_addr().unwrap().port());
        let socket = path.join("sock").to_str().unwrap().replace('/', "%2F");
        let places =
            format!("ldap://127.0.0.1:{port}/ ldaps://127.0.0.1:{secure_port}/ ldapi://{socket}");
        let child = Command::new(path.join("slapd"))
            .args(["-d", "0", "-F"])
            .arg(path.join("conf"))
            .args(["-h", &places])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut slapd = Slapd { child, port, secure_port, folder };
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", slapd.secure_port)).is_err() {
            assert!(Instant::now() < deadline, "slapd does not listen");
            assert!(slapd.child.try_wait().unwrap().is_none(), "slapd has ended");
            thread::yield_now();
        }
        slapd
    }

    fn driver(&self, keys: Value) -> Value {
        let driver = json!({
            "kind": "ldap", "targets": [format!("ldap://127.0.0.1:{}", self.port)],
            "user": "cn=admin,dc=lab", "password": SECRET,
        });
        with(driver, keys)
    }
}

impl Drop for Slapd {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

fn program() -> &'static Path {
    let places =
        ["/usr/sbin/slapd", "/usr/lib/openldap/slapd", "/usr/libexec/slapd"].map(Path::new);
    places.into_iter().find(|place| place.is_file()).unwrap_or(places[0])
}

fn is_there() -> bool {
    program().is_file() || has("slapd")
}

/// Fills a database of the server's as its `slapadd` does.
fn fill(folder: &Path, arguments: &[&str], entries: &str) {
    let mut child = Command::new(folder.join("slapd"))
        .args(["-T", "add", "-F"])
        .arg(folder.join("conf"))
        .args(arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(entries.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "slapadd {arguments:?}");
}

const CONFIGURATION: &str = "\
dn: cn=config
objectClass: olcGlobal
cn: config
olcTLSCertificateFile: HERE/cert.pem
olcTLSCertificateKeyFile: HERE/key.pem

dn: cn=module{0},cn=config
objectClass: olcModuleList
cn: module{0}
olcModulePath: /usr/lib/ldap
olcModuleLoad: back_mdb

dn: cn=schema,cn=config
objectClass: olcSchemaConfig
cn: schema

include: file:///etc/ldap/schema/core.ldif

include: file:///etc/ldap/schema/cosine.ldif

dn: olcDatabase={1}mdb,cn=config
objectClass: olcDatabaseConfig
objectClass: olcMdbConfig
olcDatabase: {1}mdb
olcSuffix: dc=lab
olcRootDN: cn=admin,dc=lab
olcRootPW: SECRET
olcDbDirectory: HERE/db
olcDbMaxSize: 104857600
olcDbIndex: uid eq
";
const CONTENT: &str = "\
dn: dc=lab
objectClass: dcObject
objectClass: organization
dc: lab
o: lab

dn: ou=records,dc=lab
objectClass: organizationalUnit
ou: records

dn: ou=elsewhere,dc=lab
objectClass: referral
objectClass: extensibleObject
ou: elsewhere
ref: ldap://127.0.0.1:1/ou=elsewhere,dc=lab
";

/// What the keys of two objects are together.
fn with(mut keys: Value, more: Value) -> Value {
    if let (Value::Object(keys), Value::Object(more)) = (&mut keys, more) {
        keys.extend(more);
    }
    keys
}

/// An operation of this request, and what is expected of it.
fn asking(request: &Value, expect: &Value) -> Value {
    json!({"name": "ask", "request": {"ldap": request}, "expect": expect})
}

/// A transaction `page` of these operations.
fn workload(operations: &Value) -> Value {
    json!({
        "values": {
            "id": {"uniform": {"low": 1, "high": 40}},
            "ids": {"list": {"low": 1, "high": 40, "length": 5, "distinct": true}},
            "all": {"batch": {"start": 1, "length": 40, "last": 40}},
            "value": {"text": {"length": 50, "key": "id", "versioned": true}},
            "each": {"text": {"length": 50, "key": "all", "versioned": true}},
            "odd": {"constant": "a,b=\"c\"+#\\*)( d"},
            "one": {"constant": 1},
        },
        "transactions": [{"name": "page", "operations": operations}],
    })
}

fn trial(driver: &Value, operations: &Value, keys: Value) -> Value {
    let all = json!({
        "driver": driver, "workload": workload(operations),
        "schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 6},
    });
    plan("", with(all, keys))
}

fn run(driver: &Value, operations: &Value, keys: Value) -> Measured {
    measure(&trial(driver, operations, keys))
}

/// Adds the forty records.
fn load(driver: &Value) {
    let add = json!({"add": {"dn": "uid=${all},ou=records,dc=lab", "attributes": {
        "objectClass": ["account"], "uid": ["${all}"], "description": ["${each}"]}}});
    let operation = with(asking(&add, &json!({"rows": "1"})), json!({"for_each": "all"}));
    let measured = run(driver, &json!([operation]), json!({"stop": {"transactions": 1}}));
    assert_eq!(measured.outcomes(), [1, 0, 0, 0], "{:?}", measured.messages());
}

fn read() -> Value {
    let search = json!({"search": {
        "base": "uid=${id},ou=records,dc=lab", "scope": "base",
        "attributes": ["uid", "description"]}});
    asking(&search, &json!({"rows": "1", "first": "${id}", "keyed": "value"}))
}

fn read_many() -> Value {
    let search = json!({"search": {
        "base": "ou=records,dc=lab", "scope": "one", "filter": "(|(uid=${ids}))",
        "attributes": ["uid", "description"]}});
    asking(&search, &json!({"rows": "${ids}", "keyed": "value"}))
}

fn change() -> Value {
    let modify = json!({"modify": {
        "dn": "uid=${id},ou=records,dc=lab", "replace": {"description": ["${value}"]}}});
    asking(&modify, &json!({"rows": "1"}))
}

#[test]
fn the_null_server_answers_as_a_directory_would() {
    let attributes = ["--attribute", "uid: 1", "--attribute", "description:x"];
    let server = NullServer::speaking("ldap", &attributes);
    let driver = json!({
        "kind": "ldap", "targets": [format!("ldap://{}", server.address)],
        "user": "cn=admin,dc=lab", "password": SECRET,
    });
    let search = |base: &str, filter: &str| {
        let fields = json!({"base": base, "filter": filter, "attributes": ["UID"]});
        json!({ "search": fields })
    };
    let operations = json!([
        asking(&search("uid=${id}", "(objectClass=*)"), &json!({"rows": "1", "first": "1"})),
        asking(&search("dc=lab", "(|(uid=${ids}))"), &json!({"rows": "${ids}"})),
        change(),
        asking(&json!({"add": {"dn": "o=x", "attributes": {"o": ["x"]}}}), &json!({"rows": "1"})),
        asking(&json!({"delete": {"dn": "o=x"}}), &json!({"rows": "1"})),
    ]);
    for (clients, pipeline) in [(8, 1), (8, 4)] {
        let keys = json!({
            "stop": {"transactions": 500}, "schedule": {"closed": {"clients": clients}},
            "pipeline": pipeline,
        });
        for measured in measure_each(&trial(&driver, &operations, keys)) {
            assert_eq!(measured.outcomes(), [500, 0, 0, 0], "{:?}", measured.messages());
        }
    }
}

#[test]
fn records_are_written_read_and_checked() {
    if !is_there() {
        return;
    }
    let slapd = Slapd::start();
    let driver = slapd.driver(json!({}));
    load(&driver);
    let operations = json!([read(), change(), read_many()]);
    for (pipeline, connected) in [(1, 8), (4, 2)] {
        let keys = json!({
            "stop": {"transactions": 400}, "schedule": {"closed": {"clients": 8}},
            "pipeline": pipeline,
        });
        for measured in measure_each(&trial(&driver, &operations, keys)) {
            assert_eq!(measured.outcomes(), [400, 0, 0, 0], "{:?}", measured.messages());
            let all = i64::MIN..i64::MAX;
            let connects = measured.measurement.totals(Kind::Operation, Some("connect"), all);
            assert_eq!(connects[Counter::Ok], connected);
        }
    }
    // Another's text and none at all are told from what belongs to the key.
    let spoil = |id: u32, more: Value| {
        let dn = format!("uid={id},ou=records,dc=lab");
        let request = json!({"modify": with(json!({"dn": dn}), more)});
        run(&driver, &json!([asking(&request, &json!({}))]), json!({"stop": {"transactions": 1}}))
    };
    let done = [
        spoil(1, json!({"replace": {"description": ["x"]}})),
        spoil(2, json!({"delete": {"description": []}})),
        spoil(3, json!({"add": {"description": ["y"]}, "delete": {"description": []}})),
    ];
    assert!(done.iter().all(|spoilt| spoilt.outcomes() == [1, 0, 0, 0]));
    for (asked, wrong) in [
        (read(), "a row is not what its key says"),
        (read_many(), "`expect.keyed` needs two columns"),
    ] {
        let keys = json!({"stop": {"transactions": 200}});
        let measured = run(&driver, &json!([asked]), keys);
        let [ok, failed, ..] = measured.outcomes();
        assert!(ok > 0 && failed > 5 && ok + failed == 200, "{:?}", measured.outcomes());
        assert!(measured.messages().contains(wrong), "{:?}", measured.messages());
    }
}

#[test]
fn values_stay_values_in_names_and_filters() {
    if !is_there() {
        return;
    }
    let slapd = Slapd::start();
    let driver = slapd.driver(json!({}));
    let dn = "uid=${odd},ou=records,dc=lab";
    let add = json!({"add": {"dn": dn, "attributes": {
        "objectClass": ["account"], "uid": ["${odd}"], "seeAlso": ["cn=${ids}"]}}});
    let find = json!({"search": {
        "base": "ou=records,dc=lab", "filter": "(&(uid=*${odd})(!(uid=${one})))",
        "attributes": ["uid"]}});
    let operations = json!([
        asking(&add, &json!({})),
        asking(&find, &json!({"rows": "1", "first": "${odd}"})),
        asking(
            &json!({"search": {"base": dn, "scope": "base", "attributes": ["seeAlso"]}}),
            &json!({"rows": "1"})
        ),
        asking(&json!({"delete": {"dn": dn}}), &json!({"rows": "1"})),
        asking(&find, &json!({"rows": "0"})),
    ]);
    let measured = run(&driver, &operations, json!({}));
    assert_eq!(measured.outcomes(), [6, 0, 0, 0], "{:?}", measured.messages());
}

#[test]
fn encrypted_and_local_connections_are_served() {
    if !is_there() {
        return;
    }
    let slapd = Slapd::start();
    load(&slapd.driver(json!({})));
    let path = |name: &str| slapd.folder.path().join(name).display().to_string();
    let tls = json!({"tls": {"ca": path("cert.pem")}});
    for (keys, trusting) in [
        (json!({"targets": [format!("ldaps://localhost:{}", slapd.secure_port)]}), tls.clone()),
        (json!({"targets": [format!("ldap://localhost:{}", slapd.port)], "start_tls": true}), tls),
        (json!({"targets": [format!("ldap://{}", path("sock"))]}), json!({})),
    ] {
        let measured = run(&slapd.driver(keys.clone()), &json!([read()]), trusting);
        assert_eq!(measured.outcomes(), [6, 0, 0, 0], "{keys}: {:?}", measured.messages());
    }
    let untrusted = json!({"targets": [format!("ldap://localhost:{}", slapd.port)],
        "start_tls": true});
    let stop = json!({"stop": {"duration_ns": 200_000_000}});
    let measured = run(&slapd.driver(untrusted), &json!([read()]), stop);
    assert_eq!(measured.outcomes()[0], 0);
    assert!(
        measured.messages().iter().any(|told| told.contains("TLS")),
        "{:?}",
        measured.messages()
    );
}

#[test]
fn outcomes_are_told_by_their_names() {
    if !is_there() {
        return;
    }
    let slapd = Slapd::start();
    let driver = slapd.driver(json!({}));
    load(&driver);
    let search = |base: &str, more: Value| {
        let fields = with(json!({"base": base, "attributes": ["uid"]}), more);
        json!({ "search": fields })
    };
    let here = "uid=7,ou=records,dc=lab";
    let none = || search("uid=999,ou=records,dc=lab", json!({"scope": "base"}));
    let few = || search("ou=records,dc=lab", json!({"scope": "one", "size_limit": 3}));
    for (request, expect, outcomes, message) in [
        (none(), json!({}), [0, 6, 0, 0], "noSuchObject (32)"),
        (none(), json!({"rows": "1"}), [0, 6, 0, 0], "noSuchObject (32)"),
        (none(), json!({"rows": "0"}), [6, 0, 0, 0], ""),
        (search(here, json!({})), json!({"rows": "0"}), [0, 6, 0, 0], "more rows"),
        (search(here, json!({})), json!({"rows": "2"}), [0, 6, 0, 0], "fewer rows"),
        (search(here, json!({})), json!({"first": "8"}), [0, 6, 0, 0], "first column"),
        (few(), json!({"rows": "3"}), [6, 0, 0, 0], ""),
        (
            search("ou=records,dc=lab", json!({"scope": "one"})),
            json!({"rows": "40"}),
            [6, 0, 0, 0],
            "",
        ),
        (
            search("ou=elsewhere,dc=lab", json!({})),
            json!({}),
            [0, 6, 0, 0],
            "referral (10) at ldap://127.0.0.1:1/",
        ),
        (
            search("dc=lab", json!({})),
            json!({}),
            [0, 6, 0, 0],
            "a reference to ldap://127.0.0.1:1/",
        ),
        (
            json!({"add": {"dn": here, "attributes": {
            "objectClass": ["account"], "uid": ["7"]}}}),
            json!({}),
            [0, 6, 0, 0],
            "entryAlreadyExists (68)",
        ),
        (
            json!({"modify": {"dn": here, "replace": {"nothing": ["x"]}}}),
            json!({}),
            [0, 6, 0, 0],
            "undefinedAttributeType (17): nothing: attribute type undefined",
        ),
        (
            json!({"delete": {"dn": "ou=records,dc=lab"}}),
            json!({}),
            [0, 6, 0, 0],
            "notAllowedOnNonLeaf (66)",
        ),
        (json!({"delete": {"dn": "nonsense"}}), json!({}), [0, 6, 0, 0], "invalidDNSyntax (34)"),
    ] {
        let measured = run(&driver, &json!([asking(&request, &expect)]), json!({}));
        let messages = measured.messages();
        assert_eq!(measured.outcomes(), outcomes, "{request} {expect}: {messages:?}");
        assert!(messages.iter().all(|told| told.contains(message)), "{request}: {messages:?}");
    }
}

#[test]
fn a_bind_is_by_name_or_as_nobody() {
    if !is_there() {
        return;
    }
    let slapd = Slapd::start();
    load(&slapd.driver(json!({})));
    let nobody = slapd.driver(json!({"user": null, "password": null}));
    let measured = run(&nobody, &json!([read()]), json!({}));
    assert_eq!(measured.outcomes(), [6, 0, 0, 0], "{:?}", measured.messages());
    let measured = run(&nobody, &json!([change()]), json!({}));
    assert_eq!(measured.outcomes(), [0, 6, 0, 0]);
    let messages = measured.messages();
    let told = "strongerAuthRequired (8): modifications require authentication";
    assert_eq!(messages, [told.to_owned()].into());
    let wrong = slapd.driver(json!({"password": "${env:CARGO_MANIFEST_DIR}"}));
    let measured = run(&wrong, &json!([read()]), json!({"stop": {"duration_ns": 200_000_000}}));
    assert_eq!(measured.outcomes()[0], 0);
    assert_eq!(measured.messages(), ["invalidCredentials (49)".to_owned()].into());
}

/// A server that waits for as many searches as are asked at once and answers them last first, an
/// entry of each in turn, in pieces of so many bytes.
fn contrary(at_once: usize, piece: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer_contrarily(stream, at_once, piece));
        }
    });
    address
}

fn answer_contrarily(mut stream: TcpStream, at_once: usize, piece: usize) {
    stream.set_nodelay(true).unwrap();
    let (mut messages, mut asked) = (Messages::default(), Vec::new());
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let (mut input, mut out) = (&buffer[..count], Vec::new());
        while let Some(message) = messages.next(&mut input).unwrap() {
            let Request { number, asked: what } = Request::read(message).unwrap();
            match what {
                Asked::Search { base, .. } => asked.push((number, base.to_vec())),
                other => say::outcome(other.answered_by().unwrap(), number, 0, "", &mut out),
            }
        }
        if asked.len() == at_once {
            for _ in 0..2 {
                for (number, base) in asked.iter().rev() {
                    let value: &[&[u8]] = &[base];
                    say::entry(*number, b"", [(&b"uid"[..], value)], &mut out);
                }
            }
            let search = Asked::Search { base: b"", alternatives: None, attributes: texts() };
            for (number, _) in asked.drain(..).rev() {
                let kind = search.answered_by().unwrap();
                say::outcome(kind, number, codes::SUCCESS, "", &mut out);
            }
        }
        for piece in out.chunks(piece) {
            if stream.write_all(piece).is_err() {
                return;
            }
        }
    }
}

fn texts() -> wire::ldap::Texts<'static> {
    wire::ldap::Texts::default()
}

#[test]
fn answers_that_come_in_another_order_are_each_request_s_own() {
    let operations = json!([asking(
        &json!({"search": {"base": "${id}-${value}", "attributes": ["uid"]}}),
        &json!({"rows": "2", "first": "${id}-${value}"}),
    )]);
    for piece in [1, 13, 4096] {
        let driver = json!({"kind": "ldap", "targets": [format!("ldap://{}", contrary(4, piece))]});
        let keys = json!({
            "stop": {"transactions": 200}, "schedule": {"closed": {"clients": 4}}, "pipeline": 4,
            "timeout_ns": 2_000_000_000_u64,
        });
        for measured in measure_each(&trial(&driver, &operations, keys)) {
            assert_eq!(measured.outcomes(), [200, 0, 0, 0], "{:?}", measured.messages());
        }
    }
}

#[test]
fn what_a_directory_is_not_asked_so_is_refused_before_anything_starts() {
    let driver =
        |keys: Value| with(json!({"kind": "ldap", "targets": ["ldap://127.0.0.1:1"]}), keys);
    let ask = |request: Value, expect: Value| json!([asking(&request, &expect)]);
    let search = |more: Value| json!({"search": with(json!({"base": "dc=lab"}), more)});
    let plain = || ask(search(json!({})), json!({}));
    for (driver, operations, message) in [
        (driver(json!({"password": "plain", "user": "o=x"})), plain(), "driver.password"),
        (driver(json!({"user": "o=x"})), plain(), "driver.user = o=x: a name and a password"),
        (driver(json!({"password": SECRET})), plain(), "a name and a password"),
        (driver(json!({"targets": ["http://h"]})), plain(), "ldap://host:port"),
        (
            driver(json!({"targets": ["ldaps://h"], "start_tls": true})),
            plain(),
            "driver.targets[0] = h: `ldaps` is encrypted from the beginning",
        ),
        (
            driver(json!({})),
            ask(search(json!({"filter": "(uid=${id}"})), json!({})),
            "operations[0].request.ldap.search.filter = (uid=${id}: a filter's `(`",
        ),
        (
            driver(json!({})),
            ask(search(json!({"filter": "(uid=${ids})"})), json!({})),
            "needs `(|…)`",
        ),
        (
            driver(json!({})),
            ask(search(json!({"attributes": ["uid"]})), json!({"keyed": "value"})),
            "it is about 2 attributes, and the search names 1",
        ),
        (
            driver(json!({})),
            ask(json!({"modify": {"dn": "o=x"}}), json!({})),
            "changes at least one attribute",
        ),
        (driver(json!({})), ask(search(json!({})), json!({"reply": "x"})), "cannot check this"),
        (
            driver(json!({})),
            json!([{"name": "o", "request": {"sql": "SELECT 1"}}]),
            "the driver `ldap` speaks `ldap` requests alone",
        ),
        (driver(json!({})), ask(json!({"look": {}}), json!({})), "`look` is not known here"),
    ] {
        let plan = trial(&driver, &operations, json!({}));
        let error = engine::check(&plan.to_string()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
