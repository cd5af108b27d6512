//! `PostgreSQL`: against the null server, the simulator, servers that misbehave, and a real one
//! where this machine has it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tally::{Counter, Kind};
use tempfile::TempDir;
use wire::postgresql::{Answer, Heard, Server};

use crate::laboratory::{MILLISECOND, Measured, NullServer, SECOND, free_port, measure, plan};
use crate::misdeeds::{CLOSED, OPEN, reset, server};

/// A Plan whose transaction `page` has these operations, with these keys added or replaced.
pub fn asking(address: &str, driver: &Value, operations: &Value, keys: &Value) -> Value {
    let mut plan = plan(
        "",
        json!({
            "driver": {"kind": "postgresql", "targets": [format!("postgresql://{address}")],
                "user": "postgres"},
            "schedule": CLOSED(), "stop": {"transactions": 40}, "timeout_ns": 5 * SECOND,
        }),
    );
    let transactions = json!([{"name": "page", "operations": operations}]);
    plan["workload"] = json!({"values": values(), "transactions": transactions});
    for (place, keys) in [(None, keys), (Some("driver"), driver)] {
        for (key, value) in keys.as_object().into_iter().flatten() {
            match place {
                None => plan[key] = value.clone(),
                Some(place) => plan[place][key] = value.clone(),
            }
        }
    }
    plan
}

/// Values over a thousand items.
fn values() -> Value {
    json!({
        "id": {"uniform": {"low": 1, "high": 1000}},
        "negative": {"uniform": {"low": -9, "high": -1}},
        "all": {"batch": {"start": 1, "length": 100, "last": 1000}},
        "few": {"list": {"low": 1, "high": 1000, "distinct": true,
            "length": {"low": 1, "high": 9}}},
        "text": {"text": {"length": {"low": 0, "high": 30}, "key": "id"}},
        "bytes": {"bytes": {"length": 16, "key": "id"}},
        "text of all": {"text": {"length": {"low": 0, "high": 30}, "key": "all"}},
        "bytes of all": {"bytes": {"length": 16, "key": "all"}},
        "quoted": {"constant": "it's \\ a \"test\" "},
    })
}

pub fn sql(name: &str, text: &str, expect: &Value) -> Value {
    json!({"name": name, "request": {"sql": text}, "expect": expect})
}

fn one() -> Value {
    json!([sql("one", "SELECT ${id}", &json!({"rows": "1", "first": "1"}))])
}

#[test]
fn the_null_server_is_asked_by_both_protocols() {
    let null = NullServer::speaking("postgresql", &["--column", "1", "--column", "two"]);
    for protocol in ["extended", "simple"] {
        let driver = json!({"protocol": protocol});
        let measured = measure(&asking(&null.address, &driver, &one(), &json!({})));
        assert_eq!(measured.outcomes(), [40, 0, 0, 0], "{:?}", measured.messages());
        let wrong = json!([sql("one", "SELECT ${id}", &json!({"rows": "2", "first": "2"}))]);
        let measured = measure(&asking(&null.address, &driver, &wrong, &json!({})));
        assert_eq!(measured.outcomes(), [0, 40, 0, 0]);
        assert_eq!(measured.messages(), ["the first column is not as expected".to_owned()].into());
    }
    let pipelined = json!({"schedule": {"closed": {"clients": 16}}, "pipeline": 8});
    let measured = measure(&asking(&null.address, &json!({}), &one(), &pipelined));
    assert_eq!(measured.outcomes(), [40, 0, 0, 0], "{:?}", measured.messages());
    assert_eq!(connections(&measured), 2);
}

#[test]
fn simulated_misdeeds_have_their_outcomes() {
    let sim = json!({
        "service": {"constant_ns": MILLISECOND}, "latency_ns": 100_000,
        "misdeeds": {"2": "close", "5": "cut", "8": "garbage", "11": "silence", "14": "error"},
    });
    for schedule in [CLOSED(), OPEN()] {
        let keys = json!({
            "net": "sim", "sim": sim, "schedule": schedule, "stop": {"transactions": 30},
            "timeout_ns": SECOND,
        });
        let measured = measure(&asking("sim", &json!({}), &one(), &keys));
        assert_eq!(measured.outcomes(), [25, 2, 1, 2], "{:?}", measured.messages());
    }
}

/// A server that lets clients in, prepares their statements, and answers each request as `behave`
/// does, who is given the right answer.
fn behaving(behave: fn(&mut TcpStream, &[u8])) -> String {
    server(move |mut stream| {
        let answer = Answer::new(1, &[b"1"]);
        let (mut server, mut bytes) = (Server::default(), vec![0; 4096]);
        let mut out = Vec::new();
        while let Ok(count @ 1..) = stream.read(&mut bytes) {
            let mut input = &bytes[..count];
            loop {
                match server.next(&answer, &mut input, &mut out) {
                    Ok(Heard::Part) => {}
                    Ok(Heard::Aside) if stream.write_all(&out).is_ok() => out.clear(),
                    Ok(Heard::Request) => {
                        behave(&mut stream, &out);
                        out.clear();
                    }
                    Ok(Heard::More) => break,
                    Ok(Heard::Leave | Heard::Aside) | Err(_) => return,
                }
            }
        }
    })
}

fn say(stream: &mut TcpStream, bytes: &[u8]) {
    let _client_may_be_gone = stream.write_all(bytes);
}

fn hang_up(stream: &mut TcpStream, bytes: &[u8]) {
    say(stream, bytes);
    let _already_gone = stream.shutdown(std::net::Shutdown::Both);
}

/// Six transactions against the server by each schedule: ok, failed, timed out and unknown ones,
/// and what a message says.
fn expect(name: &str, address: &str, outcomes: [u64; 4], message: &str) {
    for schedule in [CLOSED(), OPEN()] {
        let keys = json!({
            "schedule": schedule, "stop": {"transactions": 6}, "timeout_ns": 100 * MILLISECOND,
        });
        let measured = measure(&asking(address, &json!({}), &one(), &keys));
        let messages = measured.messages();
        assert_eq!(measured.outcomes(), outcomes, "{name}: {messages:?}");
        let told = messages.iter().any(|text| text.contains(message));
        assert!(told || message.is_empty(), "{name}: {messages:?}");
        assert_eq!(measured.open(), 0, "{name}");
    }
}

/// How many connections were made, before the measured part too.
fn connections(measured: &Measured) -> u64 {
    let all = i64::MIN..i64::MAX;
    measured.measurement.totals(Kind::Operation, Some("connect"), all)[Counter::Ok]
}

/// What a misbehaving server does, and what comes of it.
type Misdeed = (&'static str, fn(&mut TcpStream, &[u8]), [u64; 4], &'static str);

const MISDEEDS: &[Misdeed] = &[
    ("close before", |stream, _| hang_up(stream, b""), [0, 0, 0, 6], "closed before the answer"),
    (
        "a cut in mid-message",
        |stream, answer| hang_up(stream, &answer[..answer.len() - 8]),
        [0, 0, 0, 6],
        "closed within the answer",
    ),
    ("a reset", |stream, _| reset_now(stream), [0, 0, 0, 6], "connection reset"),
    (
        "byte by byte",
        |stream, answer| answer.iter().for_each(|byte| say(stream, &[*byte])),
        [6, 0, 0, 0],
        "",
    ),
    (
        "two answers at once",
        |stream, answer| say(stream, &[answer, answer].concat()),
        [0, 6, 0, 0],
        "nobody asked for",
    ),
    (
        "too short a length",
        |stream, _| say(stream, b"D\0\0\0\x03\0\x01"),
        [0, 6, 0, 0],
        "a length that cannot be",
    ),
    (
        "a value longer than its row",
        |stream, _| say(stream, b"D\0\0\0\x0b\0\x01\0\0\0\x021"),
        [0, 6, 0, 0],
        "malformed message `D`",
    ),
    (
        "a length beyond measure",
        |stream, _| say(stream, b"D\xff\xff\xff\xff\0\x01"),
        [0, 6, 0, 0],
        "a message of 4294967296 bytes",
    ),
    ("a huge length", |stream, _| say(stream, b"D\x0f\xff\xff\0\0\x01"), [0, 0, 6, 0], "time-out"),
    ("garbage", |stream, _| say(stream, b"\x16\x03\x01\x02"), [0, 6, 0, 0], "not PostgreSQL"),
    ("silence", |_, _| {}, [0, 0, 6, 0], "time-out"),
    (
        "half an answer",
        |stream, answer| say(stream, &answer[..answer.len() / 2]),
        [0, 0, 6, 0],
        "time-out",
    ),
    (
        "ready, but for nothing",
        |stream, _| say(stream, b"Z\0\0\0\x05I"),
        [0, 6, 0, 0],
        "out of place",
    ),
    (
        "the end of the server",
        |stream, _| hang_up(stream, b"E\0\0\0\x18VFATAL\0C57P01\0Mend\0\0"),
        [0, 6, 0, 0],
        "57P01: end",
    ),
];

fn reset_now(stream: &mut TcpStream) {
    reset(stream);
    // The clone that the loop reads from shares the descriptor; shutting down wakes nobody here.
    let _already_gone = stream.shutdown(std::net::Shutdown::Read);
}

#[test]
fn a_server_that_misbehaves_is_counted_as_what_it_did() {
    for (name, behave, outcomes, message) in MISDEEDS {
        expect(name, &behaving(*behave), *outcomes, message);
    }
}

#[test]
fn answers_without_a_question_are_noticed() {
    let address = behaving(|stream, answer| {
        say(stream, answer);
        say(stream, b"2\0\0\0\x04");
    });
    let keys = json!({"stop": {"transactions": 6}, "timeout_ns": 100 * MILLISECOND});
    let measured = measure(&asking(&address, &json!({}), &one(), &keys));
    let messages = measured.messages();
    let noticed = |text: &String| text.contains("nobody asked for") || text.contains("closed");
    assert!(messages.iter().any(noticed), "{messages:?}");
}

#[test]
fn a_log_in_that_goes_wrong_is_a_connection_that_failed() {
    let refusing = server(|mut stream| hang_up(&mut stream, b"E\0\0\0\x10C28000\0Mno\0\0"));
    expect("a refusal", &refusing, [0, 6, 0, 0], "28000: no");
    let garbage = server(|mut stream| say(&mut stream, b"SSH-2.0-OpenSSH\r\n"));
    expect("garbage", &garbage, [0, 6, 0, 0], "a message of");
    let silent = server(|mut stream| while matches!(stream.read(&mut [0; 64]), Ok(1..)) {});
    expect("silence", &silent, [0, 0, 6, 0], "time-out");
}

/// A real server, which ends with this value.
pub struct Bed {
    child: Child,
    pub address: String,
    pub folder: TempDir,
}

/// Where the newest server's programs are, if there is one.
fn binaries() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
        let folders = versions.map(|version| version.unwrap().path().join("bin"));
        folders.filter(|folder| folder.join("postgres").exists()).max()
    };
    FOUND.get_or_init(find).as_deref()
}

impl Bed {
    /// `None` where the machine has no such server.
    pub fn start() -> Option<Bed> {
        if binaries().is_none() {
            assert!(std::env::var_os("CI").is_none(), "PostgreSQL is not installed");
            eprintln!("skipped: PostgreSQL is not installed");
            return None;
        }
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let data = folder.path().join("data").to_str().unwrap().to_owned();
        let made = Bed::command("initdb")
            .args(["-D", &data, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8"])
            .arg("--locale=C")
            .stdout(Stdio::null())
            .status();
        assert!(made.unwrap().success());
        let rules = ["scram scram-sha-256", "digest md5", "plain password", "all trust"];
        let rules = rules.map(|rule| {
            let (user, method) = rule.split_once(' ').unwrap();
            format!("host all {user} 127.0.0.1/32 {method}\n")
        });
        fs::write(format!("{data}/pg_hba.conf"), rules.concat()).unwrap();
        let port = free_port();
        let child = Bed::command("postgres")
            .args(["-D", &data, "-c", &format!("port={port}"), "-c", "fsync=off"])
            .args(["-c", "listen_addresses=127.0.0.1", "-c"])
            .arg(format!("unix_socket_directories={data}"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let bed = Bed { child, address: format!("127.0.0.1:{port}"), folder };
        let until = Instant::now() + Duration::from_secs(30);
        while !bed.psql("SELECT 1").status().unwrap().success() {
            assert!(Instant::now() < until, "the server does not come up");
        }
        Some(bed)
    }

    fn command(name: &str) -> Command {
        Bed::as_server(&binaries().unwrap().join(name))
    }

    /// A program, run as the user that the server runs as, who cannot be root.
    pub fn as_server(program: &Path) -> Command {
        // SAFETY: it only tells who runs this.
        if unsafe { libc::geteuid() } != 0 {
            return Command::new(program);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]).arg(program);
        command
    }

    fn psql(&self, text: &str) -> Command {
        let (host, port) = self.address.split_once(':').unwrap();
        let mut command = Command::new(binaries().unwrap().join("psql"));
        command.args(["-qAt", "-h", host, "-p", port, "-U", "postgres", "-c", text]);
        command.stderr(Stdio::null());
        command
    }

    /// What a statement gives, by another client.
    pub fn tell(&self, text: &str) -> String {
        let output = self.psql(text).output().unwrap();
        assert!(output.status.success(), "{text}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Runs operations by both protocols.
    fn ask(&self, operations: &Value, keys: &Value) -> Vec<Measured> {
        let run = |protocol: &str| {
            measure(&asking(&self.address, &json!({"protocol": protocol}), operations, keys))
        };
        ["extended", "simple"].map(run).into()
    }

    /// The same, of which all must be right.
    fn succeed(&self, name: &str, operations: &Value, keys: &Value) {
        for measured in self.ask(operations, keys) {
            let [ok, others @ ..] = measured.outcomes();
            assert!(ok > 0 && others == [0; 3], "{name}: {:?}", measured.messages());
        }
    }

    /// The same, of which all must fail with these words.
    fn fail(&self, name: &str, operations: &Value, words: &str) {
        for measured in self.ask(operations, &json!({})) {
            let messages = measured.messages();
            assert_eq!(measured.outcomes(), [0, 40, 0, 0], "{name}: {messages:?}");
            assert!(messages.iter().all(|text| text.contains(words)), "{name}: {messages:?}");
            // What failed was rolled back on the connection, which went on.
            assert_eq!(connections(&measured), 2, "{name}");
        }
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let quick = libc::SIGINT;
        // SAFETY: it signals a child that has not been waited for.
        unsafe { libc::kill(self.child.id() as libc::pid_t, quick) };
        let _status = self.child.wait();
        let _gone = fs::remove_dir_all(self.folder.path());
    }
}

#[test]
fn a_real_server_is_asked_rightly() {
    let Some(bed) = Bed::start() else { return };
    logs_in(&bed);
    loads(&bed);
    answers(&bed);
    transacts(&bed);
}

fn logs_in(bed: &Bed) {
    let password = env!("CARGO_PKG_NAME");
    bed.tell(&format!("CREATE USER scram PASSWORD '{password}'"));
    bed.tell(&format!("CREATE USER plain PASSWORD '{password}'"));
    let digest = "SET password_encryption = md5; CREATE USER digest PASSWORD";
    bed.tell(&format!("{digest} '{password}'"));
    let given = "${env:CARGO_PKG_NAME}";
    let trial = |user: &str, password: &str| {
        let driver = json!({"user": user, "password": password, "database": "postgres"});
        let keys = json!({"stop": {"transactions": 4}});
        let right = json!([sql("one", "SELECT 1", &json!({"first": "1"}))]);
        measure(&asking(&bed.address, &driver, &right, &keys))
    };
    for user in ["scram", "digest", "plain", "postgres"] {
        let measured = trial(user, given);
        assert_eq!(measured.outcomes(), [4, 0, 0, 0], "{user}: {:?}", measured.messages());
    }
    for user in ["scram", "digest", "plain"] {
        let measured = trial(user, "${env:CARGO_PKG_VERSION}");
        let refused = format!("28P01: password authentication failed for user \"{user}\"");
        assert_eq!(measured.outcomes(), [0, 4, 0, 0]);
        assert_eq!(measured.messages(), [refused].into());
    }
}

fn loads(bed: &Bed) {
    let make = "CREATE TABLE IF NOT EXISTS item (id int PRIMARY KEY, t text, b bytea, r float8)";
    let row = json!(["${all}", "${text of all}", "${bytes of all}", "0.5"]);
    let copy = json!({"copy": {"into": "item (id, t, b, r)", "row": row}});
    let operations = json!([
        sql("make", make, &json!({})),
        sql("clear", "DELETE FROM item WHERE id IN (${all})", &json!({})),
        {"name": "copy", "request": copy, "for_each": "all", "expect": {"rows": "${all}"}},
    ]);
    let keys = json!({"schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 10}});
    bed.succeed("load", &operations, &keys);
    assert_eq!(bed.tell("SELECT count(*), sum(id), min(length(b)) FROM item"), "1000|500500|16");
    for measured in bed.ask(&json!([operations[2].clone()]), &keys) {
        assert_eq!(measured.outcomes(), [0, 10, 0, 0]);
        assert!(measured.messages().iter().all(|text| text.starts_with("23505: duplicate key")));
    }
}

fn answers(bed: &Bed) {
    let listed = "SELECT id, t FROM item WHERE id IN (${few})";
    let written = "SELECT ${negative}::int - ${negative}::int, ${quoted}::text";
    let all = json!([
        sql("text", "SELECT id, t FROM item WHERE id = ${id}", &json!({"keyed": "text"})),
        sql("bytes", "SELECT id, b FROM item WHERE id = ${id}", &json!({"keyed": "bytes"})),
        sql("list", listed, &json!({"rows": "${few}", "keyed": "text"})),
        sql("real", "SELECT r FROM item WHERE id = ${id}", &json!({"first": "0.5"})),
        sql("number", "SELECT count(*) FROM item", &json!({"rows": "1", "first": "1000"})),
        sql(
            "bound",
            "SELECT 1 FROM item WHERE id = ${id} AND t = ${text} AND b = ${bytes}",
            &json!({"rows": "1"})
        ),
        sql("written", written, &json!({"first": "0"})),
        sql("quoted", "SELECT ${quoted}::text", &json!({"first": "${quoted}"})),
        sql("none", "SELECT id FROM item WHERE id = -${id}::int", &json!({"rows": "0"})),
    ]);
    bed.succeed("answers", &all, &json!({}));
    let each = json!([{"name": "each", "for_each": "all", "expect": {"rows": "1"},
        "request": {"sql": "SELECT t FROM item WHERE id = ${all} AND t = ${text of all}"}}]);
    let keys = json!({"stop": {"transactions": 4}});
    bed.succeed("each", &each, &keys);
    for (name, text, expect, words) in [
        ("too few", "SELECT 1 WHERE false", json!({"rows": "1"}), "fewer rows"),
        ("too many", "SELECT 1 FROM item LIMIT 2", json!({"rows": "1"}), "more rows"),
        ("another", "SELECT 2", json!({"first": "1"}), "first column"),
        ("nothing", "SELECT NULL", json!({"first": ""}), "first column"),
        ("no row", "SELECT 1 WHERE false", json!({"first": "1"}), "no row"),
        ("another's", "SELECT id, 'x' FROM item LIMIT 1", json!({"keyed": "text"}), "its key"),
        ("changed", "UPDATE item SET r = r WHERE id = 1", json!({"rows": "2"}), "fewer rows"),
        ("no table", "SELECT * FROM nowhere", json!({}), "42P01: relation"),
        ("a slip", "SELEC 1", json!({}), "42601: syntax error"),
    ] {
        bed.fail(name, &json!([sql(name, text, &expect)]), words);
    }
}

fn transacts(bed: &Bed) {
    let raise = |id: &str| format!("UPDATE item SET r = r + 1 WHERE id = {id}");
    let total = || bed.tell("SELECT sum(r) FROM item");
    let one = json!({"schedule": {"closed": {"clients": 1}}});
    let before = total();
    let broken = json!([
        sql("raise", &raise("${id}"), &json!({"rows": "1"})),
        sql("break", "SELECT 1 / (id - id) FROM item WHERE id = ${id}", &json!({})),
    ]);
    bed.fail("a broken transaction", &broken, "22012: division by zero");
    let wrong = json!([
        sql("raise", &raise("${id}"), &json!({"rows": "1"})),
        sql("read", "SELECT 1", &json!({"first": "2"})),
    ]);
    bed.fail("a transaction with a wrong answer", &wrong, "first column");
    let open = json!([
        sql("begin", "BEGIN", &json!({})),
        sql("raise", &raise("${id}"), &json!({"rows": "1"})),
    ]);
    bed.fail("a transaction left open", &open, "COMMIT is missing");
    assert_eq!(total(), before, "what failed has left something behind");
    let added = json!([
        sql("raise", &raise("1"), &json!({"rows": "1"})),
        sql("raise more", &raise("2"), &json!({"rows": "1"})),
    ]);
    bed.succeed("a transaction", &added, &one);
    assert_eq!(bed.tell("SELECT r FROM item WHERE id = 2"), "80.5");
    let own = json!([
        sql("begin", "BEGIN", &json!({})),
        sql("raise", &raise("1"), &json!({"rows": "1"})),
        sql("commit", "COMMIT", &json!({})),
    ]);
    bed.succeed("a transaction of its own making", &own, &one);
    assert_eq!(bed.tell("SELECT r FROM item WHERE id = 1"), "160.5");
}
