//! Intended times against the laws they promise, and shares against the whole.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn open(arrivals: &str, connections: u32, shape: &serde_json::Value) -> Plan {
    let plan = json!({
        "version": 1,
        "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
        "driver": {"kind": "http", "targets": ["http://127.0.0.1:1"]},
        "workload": {"transactions": [{"name": "get", "operations": []}]},
        "schedule": {"open": {"arrivals": arrivals, "connections": connections, "shape": shape}},
        "stop": {"duration_ns": 10_000_000_000_u64},
    });
    serde_json::from_value(plan).unwrap()
}

fn hold(rate: f64) -> serde_json::Value {
    json!([{"from_per_second": rate, "to_per_second": rate, "length_ns": 0}])
}

fn ramp(from: f64, to: f64, seconds: u64) -> serde_json::Value {
    json!([{"from_per_second": from, "to_per_second": to, "length_ns": seconds * 1_000_000_000}])
}

/// Every worker's times of every part, together and in order.
fn union(plan: &Plan, parts: u32, workers: u32) -> Vec<Instant> {
    let mut times = Vec::new();
    for index in 0..parts {
        let plan = Plan { part: Part { index, of: parts }, ..plan.clone() };
        for worker in 0..workers {
            times.extend(OpenSchedule::new(&plan, worker, workers).into_iter().flatten());
        }
    }
    times.sort_unstable();
    times
}

/// Kolmogorov's statistic of gaps against the exponential law of mean one.
fn kolmogorov(mut gaps: Vec<f64>) -> f64 {
    gaps.sort_by(f64::total_cmp);
    let count = gaps.len() as f64;
    let distance = gaps.iter().enumerate().map(|(i, gap)| {
        let law = 1.0 - (-gap).exp();
        (law - i as f64 / count).abs().max((law - (i + 1) as f64 / count).abs())
    });
    distance.fold(0.0, f64::max) * count.sqrt()
}

fn gaps(masses: &[f64]) -> Vec<f64> {
    masses.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn constant_arrivals_are_evenly_spaced_from_the_origin_and_through_the_warmup() {
    let plan = Plan { warmup_ns: 2_500_000_000, ..open("constant", 4, &hold(2.0)) };
    let times: Vec<i64> = OpenSchedule::new(&plan, 0, 1).unwrap().map(|at| at.0).collect();
    let expected: Vec<i64> = (-5..20).map(|k| k * 500_000_000).collect();
    assert_eq!(times, expected);
}

#[test]
fn constant_arrivals_on_a_ramp_come_when_the_integrated_rate_reaches_them() {
    // From 0 to 10/s over 10 s the integral is t²/2, so the k-th comes at √(2k); then 10/s holds.
    let mut plan = open("constant", 1, &ramp(0.0, 10.0, 10));
    plan.stop = Stop::DurationNs(12_000_000_000);
    let times: Vec<i64> = OpenSchedule::new(&plan, 0, 1).unwrap().map(|at| at.0).collect();
    assert_eq!(times.len(), 70);
    for (k, &at) in times.iter().enumerate() {
        let k = k as f64;
        let expected = if k < 50.0 { (2.0 * k).sqrt() } else { 10.0 + (k - 50.0) / 10.0 };
        assert!((at as f64 - expected * 1e9).abs() < 10.0, "{k}: {at}");
    }
}

#[test]
fn a_step_changes_the_spacing_at_its_edge() {
    let shape = json!([
        {"from_per_second": 1.0, "to_per_second": 1.0, "length_ns": 2_000_000_000_u64},
        {"from_per_second": 0.0, "to_per_second": 0.0, "length_ns": 1_000_000_000_u64},
        {"from_per_second": 4.0, "to_per_second": 4.0, "length_ns": 1_000_000_000_u64},
        {"from_per_second": 0.0, "to_per_second": 0.0, "length_ns": 1_000_000_000_u64},
    ]);
    let schedule = OpenSchedule::new(&open("constant", 1, &shape), 0, 1).unwrap();
    let times: Vec<i64> = schedule.map(|at| at.0 / 1_000_000).collect();
    assert_eq!(times, [0, 1000, 3000, 3250, 3500, 3750]);
}

#[test]
fn poisson_arrivals_have_exponential_gaps() {
    let times = union(&open("poisson", 8, &hold(2000.0)), 1, 1);
    let masses: Vec<f64> = times.iter().map(|at| at.0 as f64 * 2000.0 / 1e9).collect();
    assert!((times.len() as f64 - 20_000.0).abs() < 4.0 * 20_000f64.sqrt());
    assert!(kolmogorov(gaps(&masses)) < 1.95);
}

#[test]
fn poisson_arrivals_on_a_ramp_are_exponential_in_the_integrated_rate() {
    let times = union(&open("poisson", 1, &ramp(100.0, 3900.0, 10)), 1, 1);
    let mass = |at: &Instant| {
        let t = at.0 as f64 / 1e9;
        100.0 * t + 190.0 * t * t
    };
    let masses: Vec<f64> = times.iter().map(mass).collect();
    assert!((times.len() as f64 - 20_000.0).abs() < 4.0 * 20_000f64.sqrt());
    assert!(kolmogorov(gaps(&masses)) < 1.95);
    // The gaps in time are far from exponential, so that the test above has power.
    let plain: Vec<f64> = times.iter().map(|at| at.0 as f64 * 2000.0 / 1e9).collect();
    assert!(kolmogorov(gaps(&plain)) > 5.0);
}

#[test]
fn shares_of_poisson_arrivals_are_together_the_whole_process() {
    let plan = Plan { warmup_ns: 1_000_000_000, ..open("poisson", 7, &hold(2000.0)) };
    let times = union(&plan, 3, 2);
    assert!((times.len() as f64 - 22_000.0).abs() < 4.0 * 22_000f64.sqrt());
    let masses: Vec<f64> = times.iter().map(|at| at.0 as f64 * 2000.0 / 1e9).collect();
    assert!(kolmogorov(gaps(&masses)) < 1.95);
    assert!(times[0] < Instant(-900_000_000) && times[0] >= Instant(-1_000_000_000));
}

#[test]
fn a_worker_without_connections_has_no_schedule() {
    let plan = open("poisson", 1, &hold(10.0));
    assert!(OpenSchedule::new(&plan, 0, 2).is_some());
    assert!(OpenSchedule::new(&plan, 1, 2).is_none());
}

#[test]
fn a_clone_is_a_second_cursor() {
    let mut ahead = OpenSchedule::new(&open("poisson", 2, &hold(100.0)), 1, 2).unwrap();
    let mut behind = ahead.clone();
    let passed: Vec<Instant> = ahead.by_ref().take(50).collect();
    assert_eq!(behind.clone().take(50).collect::<Vec<_>>(), passed);
    assert_eq!(behind.nth(50), ahead.peek());
}

#[test]
fn exponential_think_times_have_their_mean_and_law() {
    let mut plan = open("poisson", 1, &hold(1.0));
    let closed = json!({"closed": {"clients": 1, "think": {"exponential_ns": 1_000_000}}});
    plan.schedule = serde_json::from_value(closed).unwrap();
    let think = Think::new(&plan);
    let lengths = (0..20_000).map(|n| think.sample(3, n).0 as f64 / 1e6).collect();
    assert!(kolmogorov(lengths) < 1.95);
    assert_eq!(think.sample(3, 17), Think::new(&plan).sample(3, 17));
}

#[test]
fn a_quota_by_count_leaves_the_warmup_alone() {
    let quota = Quota::new(Stop::PerClient(2), 0, 4);
    assert!(quota.allows(2, Instant(-1)));
    assert!(quota.allows(1, Instant(0)));
    assert!(!quota.allows(2, Instant(0)));
    let until = Quota::new(Stop::DurationNs(5), 0, 4);
    assert!(until.allows(u64::MAX, Instant(4)) && !until.allows(0, Instant(5)));
}

proptest! {
    #[test]
    fn shares_partition_the_clients(total in 0u32..200, parts in 1u32..5, workers in 1u32..5) {
        let mut seen = vec![0; total as usize];
        for index in 0..parts {
            for worker in 0..workers {
                let share = Share::new(total, Part { index, of: parts }, worker, workers);
                prop_assert_eq!(share.clients().count(), share.len() as usize);
                share.clients().for_each(|client| seen[client as usize] += 1);
            }
        }
        prop_assert!(seen.iter().all(|&times| times == 1));
    }

    #[test]
    fn quotas_add_up(total in 0u64..1_000_000, clients in 1u32..300) {
        let stop = Stop::Transactions(total);
        let quotas = (0..clients).map(|client| Quota::new(stop, client, clients));
        let counts: Vec<u64> = quotas
            .map(|quota| match quota { Quota::Count(count) => count, Quota::Until(_) => 0 })
            .collect();
        prop_assert_eq!(counts.iter().sum::<u64>(), total);
        prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
    }

    #[test]
    fn shares_of_constant_arrivals_are_together_the_whole(
        connections in 1u32..9,
        parts in 1u32..4,
        workers in 1u32..4,
        warmup_ms in 0u64..3000,
        from in 0.0f64..20.0,
        to in 0.0f64..20.0,
        count in proptest::option::of(0u64..200),
    ) {
        let mut plan = open("constant", connections, &ramp(from, to, 5));
        plan.warmup_ns = warmup_ms * 1_000_000;
        if let Some(count) = count {
            prop_assume!(to > 0.1);
            plan.stop = Stop::Transactions(count);
        }
        let whole = union(&plan, 1, 1);
        prop_assert_eq!(&union(&plan, parts, workers), &whole);
        if let Some(count) = count {
            let measured = whole.iter().filter(|&&at| at >= Instant(0)).count();
            prop_assert_eq!(measured as u64, count);
        }
    }

    #[test]
    fn poisson_times_are_in_order_within_the_trial_and_counted(
        rates in proptest::collection::vec((0.0f64..500.0, 0.0f64..500.0, 0u64..3000), 1..5),
        warmup_ms in 0u64..2000,
        count in proptest::option::of(0u64..300),
    ) {
        let segments: Vec<_> = rates
            .iter()
            .map(|(from, to, ms)| json!({
                "from_per_second": from, "to_per_second": to, "length_ns": ms * 1_000_000,
            }))
            .collect();
        let mut plan = open("poisson", 3, &segments.into());
        plan.warmup_ns = warmup_ms * 1_000_000;
        if let Some(count) = count {
            prop_assume!(rates.last().unwrap().1 > 0.1);
            plan.stop = Stop::Transactions(count);
        }
        let mut measured = 0;
        for worker in 0..2 {
            let times: Vec<Instant> = OpenSchedule::new(&plan, worker, 2).unwrap().collect();
            prop_assert!(times.is_sorted());
            prop_assert!(times.iter().all(|at| at.0 >= -(plan.warmup_ns as i64)));
            measured += times.iter().filter(|&&at| at >= Instant(0)).count();
            if count.is_none() {
                prop_assert!(times.iter().all(|at| at.0 < 10_000_000_000));
            }
        }
        if let Some(count) = count {
            prop_assert_eq!(measured as u64, count);
        }
    }
}
