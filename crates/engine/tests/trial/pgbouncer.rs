//! `PostgreSQL` behind `PgBouncer`, where this machine has both: a server that is no `PostgreSQL`
//! itself, and whose connections are those of somebody else.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::laboratory::{Measured, free_port, measure};
use crate::postgresql::{Bed, asking, sql};

/// A variable that is set wherever tests run, and what it holds.
const SECRET: &str = "${env:CARGO_PKG_NAME}";
const PASSWORD: &str = env!("CARGO_PKG_NAME");

/// Where Debian has it, which is not on everybody's path.
const PROGRAM: &str = "/usr/sbin/pgbouncer";

/// A server, where this machine has a pooler for it too.
fn pooled() -> Option<Bed> {
    if !Path::new(PROGRAM).exists() {
        assert!(std::env::var_os("CI").is_none(), "PgBouncer is not installed");
        eprintln!("skipped: PgBouncer is not installed");
        return None;
    }
    Bed::start()
}

/// A pooler in a process of its own, which ends with this value.
struct Pooler {
    child: Child,
    address: String,
}

impl Pooler {
    /// One that lends so many connections to a server, for a session or for a transaction.
    fn start(bed: &Bed, mode: &str, size: u32) -> Pooler {
        let (port, folder) = (free_port(), bed.folder.path().join(mode));
        fs::create_dir(&folder).unwrap();
        let (host, server_port) = bed.address.split_once(':').unwrap();
        let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        fs::write(file("users"), format!("\"postgres\" \"{PASSWORD}\"\n")).unwrap();
        let settings = format!(
            "[databases]\n* = host={host} port={server_port}\n[pgbouncer]\nlisten_addr = {host}\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = scram-sha-256\n\
             auth_file = {}\npool_mode = {mode}\ndefault_pool_size = {size}\n",
            file("users"),
        );
        fs::write(file("settings"), settings).unwrap();
        let child = Bed::as_server(Path::new(PROGRAM))
            .arg(file("settings"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let address = format!("{host}:{port}");
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(&address).is_err() {
            assert!(Instant::now() < until, "the pooler does not come up");
            std::thread::yield_now();
        }
        Pooler { child, address }
    }

    fn ask(&self, protocol: &str, operations: &Value, clients: u32) -> Measured {
        let driver = json!({"protocol": protocol, "password": SECRET, "database": "postgres"});
        let keys = json!({"schedule": {"closed": {"clients": clients}}});
        measure(&asking(&self.address, &driver, operations, &keys))
    }

    fn succeed(&self, protocol: &str, operations: &Value, clients: u32) {
        let measured = self.ask(protocol, operations, clients);
        let [ok, others @ ..] = measured.outcomes();
        assert!(ok == 40 && others == [0; 3], "{protocol}: {:?}", measured.messages());
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// A transaction of its own making, and one that the driver makes.
fn raising() -> [Value; 2] {
    let raise = "UPDATE counted SET n = n + 1 WHERE n > -${id}::int";
    let changed = sql("raise", raise, &json!({"rows": "1"}));
    let read = sql("read", "SELECT 1 FROM counted", &json!({"rows": "1", "first": "1"}));
    let own =
        json!([sql("begin", "BEGIN", &json!({})), changed, sql("commit", "COMMIT", &json!({})),]);
    [own, json!([changed, read])]
}

#[test]
fn a_pooler_is_asked_like_the_server_behind_it() {
    let Some(bed) = pooled() else { return };
    bed.tell("CREATE TABLE counted AS SELECT 0 AS n");
    let lends_sessions = Pooler::start(&bed, "session", 2);
    let lends_transactions = Pooler::start(&bed, "transaction", 2);
    for operations in &raising() {
        // A client keeps a connection for itself, so that no more than two are served.
        lends_sessions.succeed("extended", operations, 2);
        lends_sessions.succeed("simple", operations, 2);
        lends_transactions.succeed("simple", operations, 8);
    }
    assert_eq!(bed.tell("SELECT n FROM counted"), "240", "as often as it was answered");
    let wrong = json!([sql("wrong", "SELECT 2", &json!({"first": "1"}))]);
    assert_eq!(lends_transactions.ask("simple", &wrong, 8).outcomes(), [0, 40, 0, 0]);
}

#[test]
fn what_a_pooler_has_mixed_up_is_told_and_how_to_avoid_it() {
    let Some(bed) = pooled() else { return };
    let pooler = Pooler::start(&bed, "transaction", 1);
    let echo = json!([sql("echo", "SELECT ${id}::int", &json!({"first": "${id}"}))]);
    let measured = pooler.ask("extended", &echo, 8);
    let [ok, failed, timed_out, unknown] = measured.outcomes();
    let messages = measured.messages();
    if ok == 40 {
        // Since 1.21 it keeps track of prepared statements.
        return;
    }
    assert!(failed > 0 && (timed_out, unknown) == (0, 0), "{messages:?}");
    let told = |text: &String| {
        text.contains("prepared statement \"s")
            && text.ends_with("; a pooler needs protocol=simple")
    };
    assert!(messages.iter().all(told), "{messages:?}");
    // What another Plan has prepared on a connection is never taken for one's own.
    let other = "SELECT -${negative}::int, 1";
    let other = json!([sql("other", other, &json!({"rows": "1"}))]);
    let measured = pooler.ask("extended", &other, 1);
    assert_eq!(measured.outcomes(), [40, 0, 0, 0], "{:?}", measured.messages());
    pooler.succeed("simple", &echo, 8);
}
