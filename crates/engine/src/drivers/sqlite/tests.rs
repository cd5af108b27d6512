//! Real databases in folders of their own: what is answered, checked, refused and rolled back.

use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value as Json, json};
use tally::Layout;
use tempfile::TempDir;

use super::*;
use crate::workload::Step;

const LOAD: &str = include_str!("../../../../../tests/plans/buddies-load.json");
const EACH: &str = include_str!("../../../../../tests/plans/buddies-each.json");
const TOGETHER: &str = include_str!("../../../../../tests/plans/buddies-together.json");

/// A database of its own, with a table.
struct Bed {
    folder: TempDir,
}

impl Bed {
    fn new(schema: &str) -> Bed {
        let bed = Bed { folder: TempDir::new().unwrap() };
        bed.open().execute_batch(schema).unwrap();
        bed
    }

    fn path(&self) -> String {
        self.folder.path().join("bed.sqlite").to_str().unwrap().to_owned()
    }

    fn open(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn count(&self, sql: &str) -> i64 {
        self.open().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// A golden Plan on this database, over the first `users` users alone.
    fn golden(&self, text: &str, users: i64) -> Plan {
        let mut json: Json = serde_json::from_str(text).unwrap();
        json["driver"]["path"] = self.path().into();
        for (value, key) in [("id", "last"), ("user", "high"), ("buddies", "high")] {
            for law in ["batch", "zipfian", "list"] {
                let place = format!("/workload/values/{value}/{law}/{key}");
                if let Some(most) = json.pointer_mut(&place) {
                    *most = users.into();
                }
            }
        }
        Plan::read(&json.to_string()).unwrap()
    }

    /// A Plan of one transaction with these operations.
    fn plan(&self, values: &Json, operations: &Json) -> Plan {
        let json = json!({
            "version": 1,
            "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
            "driver": {"kind": "sqlite", "path": self.path()},
            "workload": {
                "values": values,
                "transactions": [{"name": "t", "operations": operations}],
            },
            "schedule": {"closed": {"clients": 1}},
            "stop": {"transactions": 1},
            "timeout_ns": 20_000_000,
        });
        Plan::read(&json.to_string()).unwrap()
    }
}

/// Runs transactions `ns` of client 0 of 1: how each ended, how many operations it sent, and why.
fn run(plan: &Plan, ns: std::ops::Range<u64>) -> Vec<(Outcome, u32, String)> {
    let program = Program::compile(&plan.workload, &plan.seeds, &mut Layout::new()).unwrap();
    let driver = Sqlite::compile(plan, &program).unwrap();
    let link = driver.connect().unwrap();
    let mut session = driver.session(&link);
    let mut client = program.client(0, 1);
    ns.map(|n| {
        program.begin(&mut client, n);
        let (mut reply, mut sent, mut why) = (None, 0, String::new());
        loop {
            match program.step(&mut client, reply) {
                Step::Send(operation) => {
                    let answer = session.answer(operation, &program, &client);
                    (reply, sent) = (Some(answer.outcome), sent + 1);
                    answer.why.clone_into(&mut why);
                }
                Step::End(outcome) => return (outcome, sent, why),
                Step::Wait(_) => panic!("a mix does not wait"),
            }
        }
    })
    .collect()
}

fn one(plan: &Plan) -> (Outcome, u32, String) {
    run(plan, 0..1).remove(0)
}

fn ok(sent: u32) -> (Outcome, u32, String) {
    (Outcome::Ok, sent, String::new())
}

const USERS: &str = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL)";

#[test]
fn buddies_are_loaded_and_every_answer_is_right() {
    let bed = Bed::new(USERS);
    let loaded = run(&bed.golden(LOAD, 1500), 0..2);
    assert_eq!(loaded, [ok(1000), ok(500)]);
    assert_eq!(bed.count("SELECT count(*) FROM users"), 1500);
    assert_eq!(bed.count("SELECT max(id) FROM users"), 1500);
    let each = run(&bed.golden(EACH, 1500), 0..50);
    assert!(
        each.iter()
            .all(|(outcome, sent, _)| { *outcome == Outcome::Ok && (11..=101).contains(sent) })
    );
    let mean = each.iter().map(|(_, sent, _)| f64::from(sent - 1)).sum::<f64>() / 50.0;
    assert!((mean - 55.0).abs() < 15.0, "{mean} buddies");
    assert_eq!(run(&bed.golden(TOGETHER, 1500), 0..50), vec![ok(2); 50]);
}

#[test]
fn wrong_answers_are_found_in_both_ways_of_asking() {
    let bed = Bed::new(USERS);
    run(&bed.golden(LOAD, 100), 0..1);
    bed.open().execute("UPDATE users SET name = name || '!'", []).unwrap();
    let right = bed.golden(EACH, 100);
    assert_eq!(one(&right).2, "the first column is not as expected");
    // With the user right, the buddies are reached.
    let mut together = bed.golden(TOGETHER, 100);
    together.workload.transactions[0].operations.remove(0);
    let (outcome, _, why) = one(&together);
    assert_eq!((outcome, why.as_str()), (Outcome::Failed, "a row is not what its key says"));
    bed.open().execute("DELETE FROM users WHERE id > 5", []).unwrap();
    together.workload.transactions[0].operations[0].expect.keyed = None;
    assert_eq!(one(&together).2, "fewer rows than expected");
}

#[test]
fn values_are_bound_by_kind_and_come_back() {
    let bed = Bed::new("CREATE TABLE t (i INTEGER, r REAL, x TEXT, b BLOB)");
    let values = json!({
        "i": {"constant": -5}, "r": {"constant": 0.5}, "x": {"constant": "it's ${"},
        "b": {"bytes": {"length": 9}},
    });
    let insert = "INSERT INTO t VALUES (${i}, ${r}, ${x}, ${b})";
    let select = |column: &str| {
        json!({"name": column, "request": {"sql": format!("SELECT {column} FROM t -- '")},
               "expect": {"rows": "1", "first": format!("${{{column}}}")}})
    };
    let operations = json!([
        {"name": "insert", "request": {"sql": insert}, "expect": {"rows": "1"}},
        select("i"), select("r"), select("x"), select("b"),
    ]);
    assert_eq!(one(&bed.plan(&values, &operations)), ok(5));
    let kinds = "SELECT typeof(i) || typeof(r) || typeof(x) || typeof(b) || length(b) FROM t";
    let kinds: String = bed.open().query_row(kinds, [], |row| row.get(0)).unwrap();
    assert_eq!(kinds, "integerrealtextblob9");
}

#[test]
fn a_transaction_that_fails_leaves_nothing_behind() {
    let bed = Bed::new("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    let operation = |sql: &str| json!({"name": "o", "request": {"sql": sql}});
    let insert = operation("INSERT INTO t VALUES (1)");
    let twice = bed.plan(&json!({}), &json!([insert, insert]));
    let (outcome, sent, why) = one(&twice);
    assert_eq!((outcome, sent), (Outcome::Failed, 2));
    assert!(why.contains("UNIQUE constraint failed"), "{why}");
    assert_eq!(bed.count("SELECT count(*) FROM t"), 0);
    // One statement commits by itself, and the connection is of use after a failure.
    let once = bed.plan(&json!({}), &json!([insert]));
    let ends: Vec<Outcome> = run(&once, 0..2).into_iter().map(|(end, _, _)| end).collect();
    assert_eq!(ends, [Outcome::Ok, Outcome::Failed]);
    assert_eq!(bed.count("SELECT count(*) FROM t"), 1);
}

#[test]
fn a_transaction_of_its_own_making_is_left_alone() {
    let bed = Bed::new("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    let statements = ["BEGIN", "INSERT INTO t VALUES (1)", "ROLLBACK"];
    let operations = statements.map(|sql| json!({"name": sql, "request": {"sql": sql}}));
    assert_eq!(one(&bed.plan(&json!({}), &json!(operations))), ok(3));
    assert_eq!(bed.count("SELECT count(*) FROM t"), 0);
}

#[test]
fn a_table_may_be_made_and_filled_in_one_plan() {
    let bed = Bed::new("");
    let statements = ["CREATE TABLE t (id)", "INSERT INTO t VALUES (1), (2)"];
    let operations = statements.map(|sql| json!({"name": sql, "request": {"sql": sql}}));
    assert_eq!(one(&bed.plan(&json!({}), &json!(operations))), ok(2));
    assert_eq!(bed.count("SELECT count(*) FROM t"), 2);
}

#[test]
fn a_lock_that_is_not_given_up_times_out() {
    let bed = Bed::new("CREATE TABLE t (id)");
    let other = bed.open();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let insert = json!({"name": "o", "request": {"sql": "INSERT INTO t VALUES (1)"}});
    let (outcome, _, why) = one(&bed.plan(&json!({}), &json!([insert])));
    assert_eq!((outcome, why.as_str()), (Outcome::TimedOut, "database is locked"));
    let (outcome, sent, _) = one(&bed.plan(&json!({}), &json!([insert, insert])));
    assert_eq!((outcome, sent), (Outcome::TimedOut, 1));
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(one(&bed.plan(&json!({}), &json!([insert, insert]))), ok(2));
}

#[test]
fn a_statement_without_end_is_interrupted_at_the_time_out() {
    let bed = Bed::new("");
    let sql = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) \
               SELECT count(*) FROM n";
    let operations = json!([{"name": "o", "request": {"sql": sql}}]);
    let ends = run(&bed.plan(&json!({}), &operations), 0..2);
    assert!(
        ends.iter().all(|end| *end == (Outcome::TimedOut, 1, "interrupted".into())),
        "{ends:?}"
    );
}

#[test]
fn what_sqlite_cannot_do_is_a_plan_error() {
    let bed = Bed::new("");
    let values = json!({
        "id": {"constant": 1},
        "ids": {"list": {"low": 1, "high": 9, "length": 40_000}},
    });
    for (sql, expected) in [
        ("SELECT '${id}'", "within quotes"),
        ("SELECT [${id}]", "within quotes"),
        ("SELECT 1 /* ${id} */", "in a comment"),
        ("SELECT 1 -- ${id}", "in a comment"),
        ("SELECT ?", "not as `?`"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("SELECT 1 WHERE 1 IN (${ids})", "at most 32766"),
        ("SELEC 1", "syntax error"),
        ("SELECT (1", "incomplete input"),
        (" -- nothing", "no statement"),
    ] {
        let operations = json!([{"name": "o", "request": {"sql": sql}}]);
        let plan = bed.plan(&values, &operations);
        let program = Program::compile(&plan.workload, &plan.seeds, &mut Layout::new()).unwrap();
        let error = Sqlite::compile(&plan, &program).unwrap_err().to_string();
        let field = "workload.transactions[0].operations[0].request.sql";
        assert!(error.starts_with(field) && error.contains(expected), "{sql}: {error}");
    }
    for sql in ["SELECT 'a''b?;', \"x;\" ; -- end?", "SELECT 1 /* ' */ ;;", "select ${id}"] {
        let plan = bed.plan(&values, &json!([{"name": "o", "request": {"sql": sql}}]));
        let program = Program::compile(&plan.workload, &plan.seeds, &mut Layout::new()).unwrap();
        assert!(Sqlite::compile(&plan, &program).is_ok(), "{sql}");
    }
}

fn with_pragma(bed: &Bed, name: &str, value: &str) -> Result<(), EngineError> {
    let mut plan = bed.plan(&json!({}), &json!([{"name": "o", "request": {"sql": "SELECT 1"}}]));
    let pragmas = BTreeMap::from([(name.to_owned(), value.to_owned())]);
    plan.driver = Driver::Sqlite { path: bed.path(), pragmas };
    let program = Program::compile(&plan.workload, &plan.seeds, &mut Layout::new())?;
    let link = Sqlite::compile(&plan, &program)?.connect()?;
    let kept: String = link
        .connection
        .query_row(&format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}"), [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, value);
    Ok(())
}

#[test]
fn pragmas_are_set_and_a_slip_is_told() {
    let bed = Bed::new("");
    with_pragma(&bed, "journal_mode", "wal").unwrap();
    with_pragma(&bed, "synchronous", "1").unwrap();
    with_pragma(&bed, "cache_size", "-20000").unwrap();
    let error = with_pragma(&bed, "journal_mod", "wal").unwrap_err().to_string();
    assert!(error.ends_with("did you mean `journal_mode`?"), "{error}");
    let error = with_pragma(&bed, "journal_mode", "memry").unwrap_err();
    assert_eq!(error.exit_code(), 4);
    assert!(error.to_string().contains("keeps the journal mode `wal`"), "{error}");
}

#[test]
fn a_file_that_cannot_be_opened_is_the_hosts_fault() {
    let bed = Bed::new("");
    let mut plan = bed.plan(&json!({}), &json!([{"name": "o", "request": {"sql": "SELECT 1"}}]));
    let path = Path::new(&bed.path()).join("none/x.sqlite").to_str().unwrap().to_owned();
    plan.driver = Driver::Sqlite { path: path.clone(), pragmas: BTreeMap::new() };
    let program = Program::compile(&plan.workload, &plan.seeds, &mut Layout::new()).unwrap();
    let error = Sqlite::compile(&plan, &program).unwrap().connect().err().unwrap().to_string();
    assert!(error.contains(&path) && error.contains("name a file"), "{error}");
}
