//! Trials in the simulator, where every figure is known beforehand.

use serde_json::{Value, json};
use tally::{Counter, Field, Kind};

use crate::laboratory::{MILLISECOND, SECOND, measure, simulated};

/// What a histogram makes of zero.
const LEAST_NS: u64 = 1;

fn open(per_second: f64, connections: u32) -> Value {
    json!({"open": {"connections": connections, "shape": [
        {"from_per_second": per_second, "to_per_second": per_second, "length_ns": SECOND}]}})
}

fn near(figure: f64, expected: f64, tolerance: f64) -> bool {
    (figure / expected - 1.0).abs() <= tolerance
}

#[test]
fn a_closed_load_follows_the_interactive_response_time_law() {
    let sim = json!({"service": {"constant_ns": MILLISECOND}, "servers": 8, "latency_ns": 500_000});
    let measured = measure(&simulated(
        &sim,
        json!({
            "schedule": {"closed": {"clients": 4, "think": {"constant_ns": 2 * MILLISECOND}}},
            "stop": {"duration_ns": SECOND},
            "warmup_ns": 100 * MILLISECOND,
        }),
    ));
    // Two milliseconds of service and network and two of thinking: 250 a second for each client.
    assert_eq!(measured.outcomes(), [1000, 0, 0, 0]);
    assert!(near(measured.mean_ns(Field::Service), 2e6, 0.001));
    assert!(measured.quantile_ns(Field::Lag, 1.0) <= LEAST_NS);
    let in_flight = measured.measurement.totals(Kind::Worker, None, 0..10)[Counter::InFlight];
    assert!(near(in_flight as f64, 2e9, 0.001), "in flight for {in_flight} ns");
}

#[test]
fn a_simulated_trial_is_the_same_each_time() {
    let sim = json!({"service": {"exponential_ns": MILLISECOND}, "servers": 2});
    let keys = json!({"schedule": open(1500.0, 16), "stop": {"duration_ns": SECOND}});
    let plan = simulated(&sim, keys);
    assert_eq!(measure(&plan).bytes, measure(&plan).bytes);
}

#[test]
fn a_stall_shows_in_the_response_and_not_in_the_service_time() {
    let sim = json!({
        "service": {"constant_ns": 100_000}, "servers": 32,
        "freezes": [{"at_ns": 5 * SECOND, "for_ns": SECOND / 2}],
    });
    let keys = json!({"schedule": open(5000.0, 32), "stop": {"duration_ns": 10 * SECOND}});
    let measured = measure(&simulated(&sim, keys));
    // One in twenty arrives while the server stands still and waits for half a second less what has
    // passed of it: one in a hundred waits for more than 0.4 s.
    let response_s = measured.quantile_ns(Field::Response, 0.99) as f64 / 1e9;
    let service_s = measured.quantile_ns(Field::Service, 0.99) as f64 / 1e9;
    assert!((0.37..0.43).contains(&response_s), "p99 of the response is {response_s} s");
    assert!(service_s < 0.001, "p99 of the service is {service_s} s");
    let lag = measured.quantile_ns(Field::Lag, 1.0);
    assert!(lag <= LEAST_NS, "the system's stall was counted as a lag of {lag} ns");
    assert!(measured.quantile_ns(Field::Wait, 0.99) as f64 / 1e9 > 0.37);
}

#[test]
fn a_pipeline_asks_without_waiting_for_the_answers_before() {
    // One connection, one server, a network that takes a hundred times as long as the work.
    let sim = json!({"service": {"constant_ns": 10_000}, "latency_ns": MILLISECOND / 2});
    let rate = |clients: u32, pipeline: u32| {
        let measured = measure(&simulated(
            &sim,
            json!({
                "schedule": {"closed": {"clients": clients}}, "pipeline": pipeline,
                "stop": {"duration_ns": SECOND},
            }),
        ));
        assert_eq!(measured.count(Kind::Operation, "connect", Counter::Due), 0);
        let [ok, failed, timed_out, unknown] = measured.outcomes();
        assert_eq!((failed, timed_out, unknown), (0, 0, 0), "{:?}", measured.messages());
        ok as f64
    };
    assert!(near(rate(16, 16) / rate(1, 1), 16.0, 0.15), "{} {}", rate(16, 16), rate(1, 1));
}

#[test]
fn what_a_broken_pipeline_still_owed_is_unknown() {
    let sim = json!({
        "service": {"constant_ns": 100_000}, "latency_ns": MILLISECOND,
        "misdeeds": {"5": "close", "40": "garbage", "80": "silence"},
    });
    let measured = measure(&simulated(
        &sim,
        json!({
            "schedule": {"closed": {"clients": 8}}, "pipeline": 8,
            "stop": {"transactions": 200}, "timeout_ns": SECOND,
        }),
    ));
    let [ok, failed, timed_out, unknown] = measured.outcomes();
    assert_eq!(ok + failed + timed_out + unknown, 200);
    assert_eq!((failed, timed_out), (1, 1), "{:?}", measured.messages());
    // All eight of the closed connection, and the seven behind each of the two others.
    assert_eq!(unknown, 8 + 7 + 7, "{:?}", measured.messages());
}

#[test]
fn an_open_pipeline_needs_fewer_connections() {
    let sim =
        json!({"service": {"constant_ns": 1000}, "servers": 64, "latency_ns": 5 * MILLISECOND});
    let waited = |pipeline: u32| {
        let keys = json!({
            "schedule": open(1000.0, 2), "pipeline": pipeline, "stop": {"duration_ns": SECOND},
        });
        measure(&simulated(&sim, keys)).quantile_ns(Field::Response, 0.5)
    };
    assert!(waited(16) < 11 * MILLISECOND, "{}", waited(16));
    assert!(waited(1) > 100 * MILLISECOND, "two connections cannot carry it: {}", waited(1));
}
