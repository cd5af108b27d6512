//! Queueing theory as the judge of schedule, worker and simulator together.
//!
//! With Poisson arrivals, one server and as many connections as ever wait, the simulated server is
//! an M/M/1 or M/D/1 queue, whose response times are known exactly (L. Kleinrock, "Queueing
//! Systems", volume 1, 1975, sections 3.2 and 5.7).

use base::random::Key;
use serde_json::json;
use tally::{Counter, Field, Kind};

use crate::laboratory::{FAULTS_SEED, Measured, SECOND, measure, simulated};

/// The service time asked for, in nanoseconds.
const SERVICE_NS: f64 = 1e6;

/// A trial in which the server is busy for this share of the time, with about so many arrivals.
fn queue(law: &str, utilisation: f64, arrivals: f64) -> Measured {
    let rate = utilisation / SERVICE_NS * 1e9;
    let sim = json!({"service": {law: SERVICE_NS as u64}});
    let measured = measure(&simulated(
        &sim,
        json!({
            "schedule": {"open": {"connections": 1000, "shape": [
                {"from_per_second": rate, "to_per_second": rate, "length_ns": SECOND}]}},
            "stop": {"duration_ns": (arrivals / rate * 1e9) as u64},
            "warmup_ns": 10 * SECOND,
            "timeout_ns": 60 * SECOND,
        }),
    ));
    assert_eq!(measured.open(), 0, "the tail was not waited for");
    measured
}

/// The rate of arrivals as it came out, in 1/ns: the schedule is random, so it is not exactly what
/// was asked for.
fn rate(measured: &Measured, asked: f64, arrivals: f64) -> f64 {
    let count = measured.count(Kind::Transaction, "page", Counter::Due) as f64;
    asked / SERVICE_NS * count / arrivals
}

/// The mean service time as the simulated server drew it.
fn service(measured: &Measured) -> f64 {
    let all = measured.measurement.totals(Kind::Transaction, Some("page"), i64::MIN..i64::MAX);
    let mut draws = Key::new(FAULTS_SEED, "service").draws(0, 0);
    let sum: f64 = (0..all[Counter::Due]).map(|_| draws.exponential()).sum();
    SERVICE_NS * sum / all[Counter::Due] as f64
}

#[test]
fn exponential_service_gives_the_distribution_of_mm1() {
    for (utilisation, arrivals, tolerance) in
        [(0.5, 200_000.0, 0.02), (0.7, 400_000.0, 0.02), (0.9, 2_000_000.0, 0.03)]
    {
        let measured = queue("exponential_ns", utilisation, arrivals);
        // The response is exponential with mean 1/(μ − λ).
        let mean = 1.0 / (1.0 / service(&measured) - rate(&measured, utilisation, arrivals));
        let compare = |what: String, figure: f64, expected: f64, tolerance: f64| {
            let off = figure / expected - 1.0;
            assert!(off.abs() <= tolerance, "{what} at {utilisation}: {figure} for {expected} ns");
        };
        compare("mean".to_owned(), measured.mean_ns(Field::Response), mean, tolerance);
        for quantile in [0.5_f64, 0.9, 0.99] {
            let expected = -(1.0 - quantile).ln() * mean;
            let figure = measured.quantile_ns(Field::Response, quantile) as f64;
            // Few arrivals decide the last hundredth, and those come in bursts.
            let tolerance = if quantile > 0.9 { 2.0 * tolerance } else { tolerance };
            compare(format!("p{}", quantile * 100.0), figure, expected, tolerance);
        }
    }
}

#[test]
fn constant_service_gives_the_mean_of_md1() {
    for (utilisation, arrivals) in [(0.5, 100_000.0), (0.8, 500_000.0)] {
        let measured = queue("constant_ns", utilisation, arrivals);
        let rho = rate(&measured, utilisation, arrivals) * SERVICE_NS;
        // Pollaczek and Khinchine: service plus ρ·service/(2(1 − ρ)).
        let expected = SERVICE_NS * (1.0 + rho / (2.0 * (1.0 - rho)));
        let off = measured.mean_ns(Field::Response) / expected - 1.0;
        assert!(off.abs() <= 0.02, "mean at {utilisation} is off by {off}");
    }
}
