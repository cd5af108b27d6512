//! Wrong Plans, one field at a time: what is said, and where.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::super::*;

fn sound() -> Json {
    json!({
        "version": 1,
        "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
        "driver": {"kind": "http", "targets": ["http://127.0.0.1:80"]},
        "workload": {
            "values": {"id": {"uniform": {"low": 1, "high": 9}}},
            "transactions": [{"name": "get", "operations": [
                {"name": "get", "request": {"http": {"method": "GET", "path": "/${id}"}}},
            ]}],
        },
        "schedule": {"closed": {"clients": 4}},
        "stop": {"duration_ns": 1_000_000},
    })
}

/// The complaint about a sound Plan in which the value at `pointer` is replaced (or removed).
fn complaint(pointer: &str, value: Option<Json>) -> String {
    let mut plan = sound();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = plan.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Json::Object(map), Some(value)) => drop(map.insert(key.to_owned(), value)),
        (Json::Object(map), None) => drop(map.remove(key)),
        (Json::Array(array), Some(value)) => array[key.parse::<usize>().unwrap()] = value,
        _ => panic!("{pointer} cannot be replaced"),
    }
    Plan::read(&plan.to_string()).unwrap_err().to_string()
}

#[test]
fn a_sound_plan_is_read() {
    let plan = Plan::read(&sound().to_string()).unwrap();
    assert_eq!(plan.timeout_ns, 5_000_000_000);
    assert_eq!(plan.workers, 1);
    let again = serde_json::to_string(&plan).unwrap();
    assert_eq!(Plan::read(&again).unwrap(), plan);
}

/// Each line of complaint must begin with the field and say the text.
fn assert_told(cases: Vec<(&str, Option<Json>, &str, &str)>) {
    for (pointer, value, field, text) in cases {
        let shown = format!("{pointer} := {value:?}");
        let pointer = pointer.replace('@', "/workload/transactions/0/operations/0");
        let line = complaint(&pointer, value);
        let field = field.replace('@', "workload.transactions[0].operations[0]");
        assert!(line.starts_with(&field) && line.contains(text), "{shown} said: {line}");
        assert!(!line.contains('\n'), "{line}");
    }
}

#[test]
fn mistakes_about_the_load_are_told() {
    let open = |shape: Json| Some(json!({"open": {"connections": 1, "shape": shape}}));
    let rates = |from: f64| json!([{"from_per_second": from, "to_per_second": 1, "length_ns": 1}]);
    assert_told(vec![
        ("/version", None, "version: missing", ""),
        ("/version", Some(json!(9)), "version = 9: ", "reads version 1"),
        ("/sedes", Some(json!(1)), "sedes: `sedes` is not known here", "did you mean `seeds`?"),
        ("/seeds/key", Some(json!(1)), "seeds.key: ", "did you mean `keys`?"),
        ("/seeds/keys", Some(json!(-1)), "seeds.keys = -1: ", "expected u64"),
        ("/seeds/keys", None, "seeds = {", "missing field `keys`"),
        ("/stop", Some(json!({"transaction": 3})), "stop.", "did you mean `transactions`?"),
        ("/stop", Some(json!({"transactions": 0})), "stop.transactions = 0: ", "empty"),
        ("/schedule/closed/clients", Some(json!(0)), "schedule.closed.clients = 0: ", "one client"),
        ("/schedule", open(json!([])), "schedule.open.shape = []: ", "one segment"),
        (
            "/schedule",
            open(rates(-1.0)),
            "schedule.open.shape[0].from_per_second = -1.0: ",
            "a rate is a number from 0",
        ),
        ("/part", Some(json!({"index": 2, "of": 2})), "part.index = 2: ", "the last is 1"),
        ("/timeout_ns", Some(json!(0)), "timeout_ns = 0: ", "some time"),
        ("/net", Some(json!("sim")), "sim = null: ", "`net: sim` needs it"),
        ("/net", Some(json!("urin")), "net = \"urin\": ", "did you mean `uring`?"),
    ]);
}

#[test]
fn mistakes_about_waiting_are_told() {
    let wait = |answers: u32, window_ns: u64| {
        Some(json!({"coalesce": {"answers": answers, "window_ns": window_ns}}))
    };
    assert_told(vec![
        ("/wait", wait(0, 1000), "wait.coalesce.answers = 0: ", "at least one answer"),
        ("/wait", wait(8, 999), "wait.coalesce.window_ns = 999: ", "1000 ns to 1 s"),
        ("/wait", Some(json!({"coalesce": {"answer": 8}})), "wait.", "did you mean `answers`?"),
        ("/wait", Some(json!({"tick": {"every_ns": 1}})), "wait.tick.every_ns = 1: ", "10000 ns"),
    ]);
    let mut plan = sound();
    plan["net"] = json!("epoll");
    plan["wait"] = wait(8, 1000).unwrap();
    let error = Plan::read(&plan.to_string()).unwrap_err();
    assert_eq!((&*error.field, &*error.why), ("wait", "`coalesce` needs `net: uring`"));
}

#[test]
fn mistakes_about_transactions_are_told() {
    let transaction = "/workload/transactions/0";
    assert_told(vec![
        ("/workload/transactions", Some(json!([])), "workload.transactions = []: ", "one"),
        (
            &format!("{transaction}/operations"),
            Some(json!([])),
            "workload.transactions[0].operations = []: ",
            "at least one operation",
        ),
        (
            &format!("{transaction}/weight"),
            Some(json!(0)),
            "workload.transactions[0].weight = 0.0: ",
            "above 0",
        ),
        (
            &format!("{transaction}/weight"),
            Some(json!(-1)),
            "workload.transactions[0].weight = -1.0: ",
            "from 0",
        ),
        (
            "@/request/http/path",
            Some(json!("/${it}")),
            "@.request.http.path = /${it}: there is no value called `it`",
            "did you mean `id`?",
        ),
        ("@/for_each", Some(json!("id")), "@.for_each = id: ", "`id` is not a list"),
    ]);
}

#[test]
fn what_the_driver_cannot_do_is_told() {
    let sqlite = json!({"kind": "sqlite", "path": "x"});
    let nowhere = json!({"kind": "http", "targets": []});
    let unknown = json!({"kind": "htp", "targets": []});
    assert_told(vec![
        ("@/expect", Some(json!({"rows": "1"})), "@.expect.rows = \"1\": ", "cannot check this"),
        ("@/request", Some(json!({"sql": "x"})), "@.request = {", "`http` speaks `http` requests"),
        ("/driver", Some(sqlite), "@.request = {", "`sqlite` speaks `sql` requests"),
        ("/driver", Some(nowhere), "driver.targets = []: ", "at least one target"),
        ("/driver", Some(unknown), "driver.kind = \"htp\": ", "did you mean `http`?"),
    ]);
}

#[test]
fn mistakes_about_values_are_told() {
    let id = "/workload/values/id";
    let field = "workload.values.id";
    let list = json!({"list": {"low": 1, "high": 3, "length": 4, "distinct": true}});
    let flat = json!({"exponential": {"low": 1, "high": 3, "share": 0.5}});
    let keyed = json!({"text": {"length": 3, "key": "di"}});
    let endless = json!({"text": {"length": 4_000_000_000_u32}});
    let many = json!({"batch": {"start": 1, "length": 2_000_000, "last": 9}});
    assert_told(vec![
        (
            id,
            Some(json!({"uniform": {"low": 3, "high": 1}})),
            &format!("{field}.uniform.high = 1: "),
            "`low` is 3",
        ),
        (id, Some(list), &format!("{field}.list.length = 4: "), "fewer distinct elements"),
        (id, Some(endless), &format!("{field}: up to 4000000000 characters"), "at most"),
        (id, Some(many), &format!("{field}.batch.length = 2000000: "), "at most 1000000"),
        (id, Some(flat), &format!("{field}.exponential.share = 0.5: "), "within < share"),
        (
            id,
            Some(json!({"text": {"length": "x"}})),
            &format!("{field}.text.length = \"x\": "),
            "a length is a whole number or",
        ),
        (
            id,
            Some(json!({"zipfain": {"low": 1, "high": 3}})),
            &format!("{field}.zipfain: "),
            "did you mean `zipfian`?",
        ),
        (id, Some(json!({"template": "<${id}>"})), &format!("{field}: "), "in a circle"),
        ("/workload/values/key", Some(keyed), "workload.values.key", "did you mean `id`?"),
    ]);
}

#[test]
fn what_is_not_json_is_told_with_its_line() {
    let error = Plan::read("{\"version\": 1,\n oops}").unwrap_err().to_string();
    assert!(error.contains("not JSON") && error.contains("line 2 column 2"), "{error}");
}

proptest! {
    #[test]
    fn reading_never_panics(text in ".{0,80}", cut in 0usize..600) {
        let _refused = Plan::read(&text);
        let whole = sound().to_string();
        prop_assert!(Plan::read(&whole[..cut.min(whole.len() - 1)]).is_err());
    }
}
