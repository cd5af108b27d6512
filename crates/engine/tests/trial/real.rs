//! Trials over real sockets against the null server.

use serde_json::json;
use tally::{Counter, Field, Kind};

use crate::laboratory::{
    MILLISECOND, Measured, NullServer, SECOND, measure, measure_each, plan, providers,
};

#[test]
fn a_closed_load_counts_each_transaction_once() {
    let server = NullServer::start(&["--body", "hello"]);
    let keys = json!({
        "schedule": {"closed": {"clients": 4}},
        "stop": {"transactions": 1000},
        "warmup_ns": 20 * MILLISECOND,
        "workers": 2,
    });
    measure_each(&plan(&server.address, keys)).iter().for_each(check_closed);
}

fn check_closed(measured: &Measured) {
    assert_eq!(measured.outcomes(), [1000, 0, 0, 0]);
    assert_eq!(measured.open(), 0);
    assert_eq!(measured.count(Kind::Operation, "get", Counter::Ok), 1000);
    let all = measured.measurement.totals(Kind::Transaction, Some("page"), i64::MIN..i64::MAX);
    // "HTTP/1.1 200 OK", the length, the empty line and the body.
    assert_eq!(all[Counter::BytesIn], all[Counter::Completed] * 43);
    assert!(measured.messages().is_empty());
    let end = &measured.notes("end")[0];
    assert_eq!(end["reason"], "complete");
    assert!(end["elapsed_ns"].as_u64().unwrap() < 5 * SECOND);
    assert!(end["max_resident_bytes"].as_u64().unwrap() > 1_000_000);
    let warmup = measured.measurement.totals(Kind::Transaction, Some("page"), i64::MIN..0);
    assert!(warmup[Counter::Ok] > 0, "the warm-up left nothing");
    let connected = measured.measurement.totals(Kind::Operation, Some("connect"), i64::MIN..0);
    assert_eq!(connected[Counter::Ok], 4, "each client has one connection");
}

#[test]
fn ipv6_is_spoken() {
    let server = NullServer::start(&["--listen", "[::1]:0"]);
    let keys = json!({"schedule": {"closed": {"clients": 2}}, "stop": {"transactions": 20}});
    for measured in measure_each(&plan(&server.address, keys)) {
        assert_eq!(measured.outcomes(), [20, 0, 0, 0], "{:?}", measured.messages());
    }
}

#[test]
fn an_open_load_starts_what_is_due_and_no_more() {
    let server = NullServer::start(&[]);
    let rate = |rate| json!([{"from_per_second": rate, "to_per_second": rate, "length_ns": 1}]);
    let keys = json!({
        "schedule": {"open": {"connections": 8, "shape": rate(1000), "arrivals": "constant"}},
        "stop": {"duration_ns": SECOND},
    });
    for measured in measure_each(&plan(&server.address, keys)) {
        assert_eq!(measured.outcomes(), [1000, 0, 0, 0]);
        assert_eq!(measured.count(Kind::Transaction, "page", Counter::Due), 1000);
        let response = measured.quantile_ns(Field::Response, 0.5);
        let service = measured.quantile_ns(Field::Service, 0.5);
        assert!(response >= service, "response {response} is shorter than service {service} ns");
    }
}

#[test]
fn answers_are_checked() {
    let server = NullServer::start(&["--body", "hello world", "--header", "X-Kind: greeting"]);
    let check = |expect| {
        let request = json!({"http": {"method": "GET", "path": "/"}});
        let operation = json!({"name": "get", "request": request, "expect": expect});
        let keys = json!({
            "workload": {"transactions": [{"name": "page", "operations": [operation]}]},
            "schedule": {"closed": {"clients": 1}},
            "stop": {"transactions": 3},
        });
        measure(&plan(&server.address, keys)).outcomes()
    };
    for right in [
        json!({"status": [200, 204]}),
        json!({"body": "hello world"}),
        json!({"contains": "lo wo"}),
        json!({"headers": [["x-kind", "greeting"]]}),
    ] {
        assert_eq!(check(right.clone()), [3, 0, 0, 0], "{right}");
    }
    for wrong in [
        json!({"status": [201]}),
        json!({"body": "hello"}),
        json!({"body": "hello world!"}),
        json!({"contains": "bye"}),
        json!({"headers": [["x-kind", "farewell"]]}),
        json!({"headers": [["x-other", "greeting"]]}),
    ] {
        assert_eq!(check(wrong.clone()), [0, 3, 0, 0], "{wrong}");
    }
}

#[test]
fn a_connection_for_each_transaction_is_an_operation_of_its_own() {
    let server = NullServer::start(&[]);
    for schedule in [
        json!({"closed": {"clients": 2}}),
        json!({"open": {"connections": 2, "shape": [
            {"from_per_second": 2000, "to_per_second": 2000, "length_ns": 1}]}}),
    ] {
        let keys = json!({
            "schedule": schedule, "stop": {"transactions": 500}, "connection": "new",
        });
        for measured in measure_each(&plan(&server.address, keys)) {
            assert_eq!(measured.outcomes(), [500, 0, 0, 0]);
            assert_eq!(measured.count(Kind::Operation, "connect", Counter::Ok), 500);
            // Connecting is part of the transaction, so it is in its service time.
            let connect = measured.measurement.histogram(
                Kind::Operation,
                Some("connect"),
                Field::Service,
                0..i64::MAX,
            );
            assert!(measured.mean_ns(Field::Service) > connect.unwrap().mean());
        }
    }
}

#[test]
fn each_way_of_waiting_is_named_and_does_its_work() {
    let server = NullServer::start(&[]);
    let open = json!({"open": {"connections": 2, "arrivals": "constant", "shape": [
        {"from_per_second": 2000, "to_per_second": 2000, "length_ns": SECOND}]}});
    let closed = json!({"closed": {"clients": 2}});
    for (schedule, wait, cpus, name) in [
        (&open, "auto", json!([]), "sleep"),
        (&open, "auto", json!([0]), "sleep_then_spin"),
        (&closed, "auto", json!([0]), "spin_then_sleep"),
        (&closed, "sleep", json!([0]), "sleep"),
        (&open, "spin", json!([]), "spin"),
    ] {
        let keys = json!({
            "schedule": schedule, "wait": wait, "cpus": cpus, "stop": {"transactions": 200},
        });
        for measured in measure_each(&plan(&server.address, keys)) {
            assert_eq!(measured.notes("start")[0]["wait"], name);
            assert_eq!(measured.outcomes(), [200, 0, 0, 0], "{name}");
        }
    }
}

#[test]
fn coalescing_is_named_and_does_its_work() {
    if !providers().contains(&"uring") {
        return;
    }
    let server = NullServer::start(&[]);
    let wait = json!({"coalesce": {"answers": 3, "window_ns": MILLISECOND}});
    let keys = json!({
        "schedule": {"closed": {"clients": 4}}, "wait": wait, "stop": {"transactions": 1000},
    });
    let measured = measure(&plan(&server.address, keys));
    let start = &measured.notes("start")[0];
    assert_eq!((&start["net"], &start["wait"]), (&json!("uring"), &json!("coalesce")));
    assert_eq!(measured.outcomes(), [1000, 0, 0, 0]);
}

#[test]
fn a_tick_makes_few_wakes_of_many_requests() {
    let server = NullServer::start(&[]);
    let shape = json!([{"from_per_second": 2000, "to_per_second": 2000, "length_ns": SECOND}]);
    let keys = json!({
        "schedule": {"open": {"connections": 64, "shape": shape}},
        "wait": {"tick": {"every_ns": 20 * MILLISECOND}}, "stop": {"duration_ns": SECOND},
    });
    for measured in measure_each(&plan(&server.address, keys)) {
        assert_eq!(measured.notes("start")[0]["wait"], json!("tick"));
        let [ok, others @ ..] = measured.outcomes();
        assert!(ok > 1500 && others == [0; 3], "{:?}", measured.outcomes());
        // What is due at any moment of a tick waits for its end: half of one on average.
        let lag = measured.quantile_ns(Field::Lag, 0.5);
        assert!(lag >= 4 * MILLISECOND, "{lag} ns late");
    }
}

#[test]
fn thousands_of_connections_are_served() {
    let server = NullServer::start(&["--body", "hello"]);
    // What a full accept queue drops is repeated after seconds.
    let keys = json!({
        "schedule": {"closed": {"clients": 4000}}, "stop": {"per_client": 5},
        "timeout_ns": 60 * SECOND,
    });
    for measured in measure_each(&plan(&server.address, keys)) {
        assert_eq!(measured.outcomes(), [20_000, 0, 0, 0], "{:?}", measured.messages());
        let everything = i64::MIN..i64::MAX;
        let connected = measured.measurement.totals(Kind::Operation, Some("connect"), everything);
        assert_eq!((connected[Counter::Ok], connected[Counter::Failed]), (4000, 0));
    }
}

#[test]
fn large_answers_are_counted_to_the_last_byte() {
    const BODY: u64 = 1024 * 1024;
    let server = NullServer::start(&["--body-bytes", &BODY.to_string()]);
    let keys = json!({"schedule": {"closed": {"clients": 32}}, "stop": {"transactions": 200}});
    for measured in measure_each(&plan(&server.address, keys)) {
        assert_eq!(measured.outcomes(), [200, 0, 0, 0], "{:?}", measured.messages());
        let all = measured.measurement.totals(Kind::Transaction, Some("page"), 0..i64::MAX);
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n".len() as u64;
        assert_eq!(all[Counter::BytesIn], 200 * (BODY + head));
    }
}
