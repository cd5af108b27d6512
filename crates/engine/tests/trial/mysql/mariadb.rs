//! A real `MariaDB`: what is logged in with, answered, checked, refused and rolled back.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tally::{Counter, Kind};
use tempfile::TempDir;

use crate::laboratory::{MILLISECOND, Measured, free_port, has, measure, plan};

/// The password of those who have one; the agent's environment has it under this name.
const PASSWORD: &str = env!("CARGO_PKG_NAME");
const PASSWORD_FROM: &str = "${env:CARGO_PKG_NAME}";

/// A server in a folder of its own, which ends with this value.
struct MariaDb {
    child: Child,
    folder: TempDir,
    port: u16,
}

impl MariaDb {
    /// Starts one with these statements carried out; `None`, told, where there is none to start.
    fn start(statements: &str) -> Option<MariaDb> {
        if !has("mariadbd") {
            return None;
        }
        let folder = TempDir::new().unwrap();
        let data = format!("--datadir={}", folder.path().join("data").display());
        // SAFETY: it takes nothing and only tells who this process is.
        let root = unsafe { libc::geteuid() } == 0;
        // Servers that share a folder for this take each other's files away.
        let temporary = format!("--tmpdir={}", folder.path().display());
        let user = root.then_some("--user=root");
        let common = [Some("--no-defaults"), user, Some(data.as_str()), Some(temporary.as_str())];
        let common = || common.into_iter().flatten();
        let installed = Command::new("mariadb-install-db")
            .args(common())
            .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
            .output()
            .unwrap();
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let port = free_port();
        let child = Command::new("mariadbd")
            .args(common())
            .args([format!("--port={port}"), "--bind-address=127.0.0.1".into()])
            .arg(format!("--socket={}", folder.path().join("socket").display()))
            .arg(format!("--pid-file={}", folder.path().join("pid").display()))
            .args(["--plugin-load-add=auth_ed25519", "--innodb-buffer-pool-size=16M"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = MariaDb { child, folder, port };
        let until = Instant::now() + Duration::from_secs(30);
        while server.client("SELECT 1").is_none() {
            assert!(Instant::now() < until, "mariadbd does not answer");
        }
        server.client("CREATE DATABASE bench").unwrap();
        server.client(&format!("USE bench; {statements}")).unwrap();
        Some(server)
    }

    /// What another client is told; `None` when it is refused.
    fn client(&self, sql: &str) -> Option<String> {
        let done = Command::new("mariadb")
            .args(["--no-defaults", "-uroot", "--batch", "--skip-column-names"])
            .arg(format!("--socket={}", self.folder.path().join("socket").display()))
            .args(["-e", sql])
            .output()
            .unwrap();
        let told = String::from_utf8(done.stdout).unwrap();
        done.status.success().then(|| told.trim().to_owned())
    }

    fn driver(&self) -> Value {
        json!({"kind": "mysql", "targets": [format!("mysql://127.0.0.1:{}", self.port)],
               "user": "root", "database": "bench"})
    }

    /// Runs transactions of these operations, one client after the other way of asking.
    fn run(&self, values: &Value, operations: &Value, keys: &Value) -> [Measured; 2] {
        ["prepared", "text"].map(|protocol| {
            let mut driver = self.driver();
            driver["protocol"] = protocol.into();
            let mut plan = plan("", keys.clone());
            plan["driver"] = driver;
            plan["timeout_ns"] = (3000 * MILLISECOND).into();
            plan["workload"] = json!({
                "values": values,
                "transactions": [{"name": "page", "operations": operations}],
            });
            if plan["schedule"].is_null() {
                plan["schedule"] = json!({"closed": {"clients": 1}});
                plan["stop"] = json!({"transactions": 1});
            }
            measure(&plan)
        })
    }

    /// Runs one transaction either way; it must succeed.
    fn succeed(&self, values: &Value, operations: &Value) {
        for measured in self.run(values, operations, &json!({})) {
            assert_eq!(measured.outcomes(), [1, 0, 0, 0], "{:?}", measured.messages());
        }
    }

    /// A golden Plan on this server, over the first `users` users alone.
    fn golden(&self, text: &str, users: i64, keys: &[(&str, Value)]) -> Value {
        let mut plan: Value = serde_json::from_str(text).unwrap();
        plan["driver"] = self.driver();
        for (value, key) in [("id", "last"), ("user", "high"), ("buddies", "high")] {
            for law in ["batch", "zipfian", "list"] {
                let place = format!("/workload/values/{value}/{law}/{key}");
                if let Some(most) = plan.pointer_mut(&place) {
                    *most = users.into();
                }
            }
        }
        for (key, value) in keys {
            plan[*key] = value.clone();
        }
        plan
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

fn operation(name: &str, sql: &str, expect: Value) -> Value {
    let mut operation = json!({"name": name, "request": {"sql": sql}});
    if !expect.is_null() {
        operation["expect"] = expect;
    }
    operation
}

fn statements(statements: &[&str]) -> Value {
    let operations = statements.iter().map(|sql| operation(sql, sql, Value::Null));
    operations.collect()
}

#[test]
fn users_log_in_as_they_are_known() {
    let Some(server) = MariaDb::start(&format!(
        "CREATE USER native@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';
         CREATE USER edda@'127.0.0.1' IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}');
         CREATE USER nobody@'127.0.0.1';
         GRANT ALL ON bench.* TO native@'127.0.0.1', edda@'127.0.0.1', nobody@'127.0.0.1'",
    )) else {
        return;
    };
    let port = format!("mysql://127.0.0.1:{}", server.port);
    let login = |user: &str, password: Value, target: &str| {
        let mut driver = server.driver();
        driver["targets"] = json!([target]);
        (driver["user"], driver["password"]) = (user.into(), password);
        let one = statements(&["SELECT 1"]);
        let keys = json!({"schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 1}});
        let mut plan = plan("", keys);
        plan["driver"] = driver;
        plan["workload"] = json!({"transactions": [{"name": "page", "operations": one}]});
        let measured = measure(&plan);
        (measured.outcomes(), measured.messages())
    };
    for (user, password) in
        [("native", PASSWORD_FROM.into()), ("edda", PASSWORD_FROM.into()), ("nobody", Value::Null)]
    {
        let (outcomes, messages) = login(user, password, &port);
        assert_eq!(outcomes, [1, 0, 0, 0], "{user}: {messages:?}");
    }
    let socket = format!("mysql://{}", server.folder.path().join("socket").display());
    let (outcomes, messages) = login("root", Value::Null, &socket);
    assert_eq!(outcomes, [1, 0, 0, 0], "{socket}: {messages:?}");
    for (user, password) in [("native", Value::Null), ("nobody", PASSWORD_FROM.into())] {
        let (outcomes, messages) = login(user, password, &port);
        assert_eq!(outcomes, [0, 1, 0, 0], "{user}");
        let denied = messages.iter().any(|m| m.starts_with("1045 (28000): Access denied"));
        assert!(denied, "{user}: {messages:?}");
    }
}

#[test]
fn buddies_are_loaded_and_every_answer_is_right() {
    let table = "CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL)";
    let Some(server) = MariaDb::start(table) else { return };
    let golden = |text: &str, count: u64| {
        let measured =
            measure(&server.golden(text, 1500, &[("stop", json!({"transactions": count}))]));
        let name = measured.measurement.names(Kind::Transaction).next().unwrap();
        let ok = measured.count(Kind::Transaction, name, Counter::Ok);
        assert_eq!(ok, count, "{:?}", measured.messages());
    };
    golden(include_str!("../../../../../tests/plans/buddies-load.json"), 2);
    assert_eq!(server.client("SELECT COUNT(*), MAX(id) FROM bench.users").unwrap(), "1500\t1500");
    golden(include_str!("../../../../../tests/plans/buddies-each.json"), 40);
    golden(include_str!("../../../../../tests/plans/buddies-together.json"), 40);
}

#[test]
fn values_are_bound_by_kind_and_come_back() {
    let table = "CREATE TABLE t (i BIGINT, r DOUBLE, x TEXT, b VARBINARY(99), d DATETIME(3))";
    let Some(server) = MariaDb::start(table) else { return };
    let values = json!({
        "i": {"constant": -5}, "r": {"constant": 0.5}, "x": {"constant": r#"it's "a" \ ${ é"#},
        "b": {"bytes": {"length": 9}}, "d": {"constant": "2024-02-29 12:30:00.125"},
    });
    let insert = "INSERT INTO t VALUES (${i}, ${r}, ${x}, ${b}, ${d})";
    let select = |column: &str| {
        let sql = format!("SELECT {column} FROM t WHERE {column} = ${{{column}}} -- '");
        operation(column, &sql, json!({"rows": "1", "first": format!("${{{column}}}")}))
    };
    let operations = json!([
        operation("insert", insert, json!({"rows": "1"})),
        select("i"),
        select("r"),
        select("x"),
        select("b"),
        select("d"),
        operation("delete", "DELETE FROM t", json!({"rows": "1"})),
    ]);
    server.succeed(&values, &operations);
}

#[test]
fn wrong_answers_are_found_and_refusals_are_told_in_the_servers_words() {
    let table = "CREATE TABLE t (id INT PRIMARY KEY, name TEXT); INSERT INTO t VALUES (1, 'x')";
    let Some(server) = MariaDb::start(table) else { return };
    let values = json!({"id": {"constant": 1}, "w": {"text": {"length": 4, "key": "id"}}});
    for (sql, expect, why) in [
        ("SELECT name FROM t", json!({"first": "y"}), "the first column is not as expected"),
        ("SELECT id, name FROM t", json!({"keyed": "w"}), "a row is not what its key says"),
        ("SELECT id FROM t", json!({"rows": "2"}), "fewer rows than expected"),
        ("SELECT id FROM t WHERE id > ${id}", json!({"first": "1"}), "no row, so no first column"),
        ("UPDATE t SET name = 'x'", json!({"rows": "2"}), "fewer rows than expected"),
        ("SELECT NULL", json!({"first": ""}), "the first column is not as expected"),
        ("SELEC", Value::Null, "1064 (42000): You have an error in your SQL syntax"),
        ("SELECT * FROM none", Value::Null, "1146 (42S02): Table 'bench.none' doesn't exist"),
        ("INSERT INTO t VALUES (${id}, '')", Value::Null, "1062 (23000): Duplicate entry"),
    ] {
        let operations = json!([operation("o", sql, expect)]);
        for measured in server.run(&values, &operations, &json!({})) {
            assert_eq!(measured.outcomes(), [0, 1, 0, 0], "{sql}");
            let messages = measured.messages();
            assert!(messages.iter().any(|m| m.starts_with(why)), "{sql}: {messages:?}");
        }
    }
    // A row that is found counts as changed, although it stays as it is: as elsewhere.
    let update = operation("o", "UPDATE t SET name = 'x'", json!({"rows": "1"}));
    server.succeed(&values, &json!([update]));
}

#[test]
fn a_transaction_that_fails_leaves_nothing_behind_and_the_connection_goes_on() {
    let Some(server) = MariaDb::start("CREATE TABLE t (id INT PRIMARY KEY)") else { return };
    let twice = statements(&["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)"]);
    // This server ends a transaction at such a statement.
    let made = statements(&[
        "CREATE TABLE IF NOT EXISTS made (id INT)",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t VALUES (1)",
    ]);
    let own = statements(&["BEGIN", "INSERT INTO t VALUES (1)", "SELECT * FROM none", "COMMIT"]);
    let wrong = json!([
        operation("i", "INSERT INTO t VALUES (1)", Value::Null),
        operation("s", "SELECT COUNT(*) FROM t", json!({"first": "2"})),
    ]);
    let keys = json!({"schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 3}});
    for operations in [twice, made, own, wrong] {
        for measured in server.run(&json!({}), &operations, &keys) {
            assert_eq!(measured.outcomes(), [0, 3, 0, 0], "{:?}", measured.messages());
            // It was made before the first transaction came due.
            assert_eq!(measured.count(Kind::Operation, "connect", Counter::Due), 0);
            assert_eq!(server.client("SELECT COUNT(*) FROM bench.t").unwrap(), "0");
        }
    }
    let both = statements(&["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)"]);
    let [prepared, text] = server.run(&json!({}), &both, &json!({}));
    assert_eq!(prepared.outcomes(), [1, 0, 0, 0], "{:?}", prepared.messages());
    assert_eq!(text.outcomes(), [0, 1, 0, 0]);
    assert_eq!(server.client("SELECT COUNT(*) FROM bench.t").unwrap(), "2");
}

#[test]
fn a_transaction_of_its_own_making_is_left_alone() {
    let Some(server) = MariaDb::start("CREATE TABLE t (id INT PRIMARY KEY)") else { return };
    let undone = statements(&["BEGIN", "INSERT INTO t VALUES (1)", "ROLLBACK"]);
    server.succeed(&json!({}), &undone);
    assert_eq!(server.client("SELECT COUNT(*) FROM bench.t").unwrap(), "0");
    let done = statements(&["BEGIN", "REPLACE INTO t VALUES (1)", "COMMIT"]);
    server.succeed(&json!({}), &done);
    assert_eq!(server.client("SELECT COUNT(*) FROM bench.t").unwrap(), "1");
}

#[test]
fn what_is_made_by_an_earlier_statement_is_there_for_a_later_one() {
    let Some(server) = MariaDb::start("") else { return };
    let operations = statements(&[
        "CREATE TABLE t (id INT)",
        "INSERT INTO t VALUES (1), (2)",
        "SELECT id FROM t",
        "DROP TABLE t",
    ]);
    server.succeed(&json!({}), &operations);
}

#[test]
fn lists_of_any_length_are_bound() {
    let table = "CREATE TABLE t (id INT PRIMARY KEY);
                 INSERT INTO t SELECT seq FROM bench.seq_1_to_300";
    let table = table.replace("bench.", "");
    let Some(server) = MariaDb::start(&table) else { return };
    for length in [json!({"low": 0, "high": 3}), json!({"low": 0, "high": 200}), json!(5)] {
        let list = json!({"low": 1, "high": 300, "length": length, "distinct": true});
        let values = json!({"ids": {"list": list}});
        let select = "SELECT id FROM t WHERE id IN (${ids})";
        let operations = json!([operation("o", select, json!({"rows": "${ids}"}))]);
        let keys = json!({"schedule": {"closed": {"clients": 2}}, "stop": {"transactions": 60}});
        for measured in server.run(&values, &operations, &keys) {
            assert_eq!(measured.outcomes(), [60, 0, 0, 0], "{:?}", measured.messages());
        }
    }
}

#[test]
fn many_rows_are_inserted_by_one_statement() {
    let table = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL)";
    let Some(server) = MariaDb::start(table) else { return };
    let values = json!({
        "ids": {"batch": {"start": 1, "length": 1000, "last": 2500}},
        "name": {"text": {"length": 20, "key": "ids"}},
    });
    let copy = json!({"into": "t (id, name)", "row": ["${ids}", "it's ${name} \\"]});
    let operations = json!([{
        "name": "copy", "request": {"copy": copy}, "for_each": "ids", "expect": {"rows": "1000"},
    }]);
    let keys = json!({"schedule": {"closed": {"clients": 1}}, "stop": {"transactions": 2}});
    let [measured, _again] = server.run(&values, &operations, &keys);
    assert_eq!(measured.outcomes(), [2, 0, 0, 0], "{:?}", measured.messages());
    assert_eq!(server.client("SELECT COUNT(*), MAX(id) FROM bench.t").unwrap(), "2000\t2000");
    let text = server.client("SELECT COUNT(*) FROM bench.t WHERE name LIKE 'it\\'s % \\\\\\\\'");
    assert_eq!(text.unwrap(), "2000");
}
