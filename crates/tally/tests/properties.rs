//! Laws: what is told of random trials equals what a naive count of them gives.

use std::collections::BTreeMap;

use base::{Instant, Nanos};
use proptest::prelude::*;
use serde_json::json;
use tally::{
    Counter, Counters, Field, Kind, Layout, Measurement, Options, Outcome, SLOT_NS, Series,
    SharedBytes, Sink, Times,
};

const SECOND_NS: i64 = 1_000_000_000;

/// A transaction as it is drawn.
#[derive(Clone, Debug)]
struct Drawn {
    series: u16,
    worker: usize,
    times: Times,
    outcome: Outcome,
    ended: bool,
}

/// Instants of a few seconds, many of them at the edges of slots and seconds.
fn instant() -> impl Strategy<Value = i64> {
    let edge = (-15_i64..40, -1_i64..2).prop_map(|(slot, off)| slot * SLOT_NS + off);
    prop_oneof![-1_500_000_000_i64..4_000_000_000, edge]
}

/// Lengths from nothing to a stall of several seconds.
fn length() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), 1_i64..2_000_000, 1_i64..9_000_000_000, Just(SLOT_NS)]
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let outcome = prop_oneof![
        4 => Just(Outcome::Ok),
        1 => Just(Outcome::Failed),
        1 => Just(Outcome::TimedOut),
        1 => Just(Outcome::Unknown),
    ];
    let lengths = (length(), length(), length());
    let ended = prop::bool::weighted(0.9);
    (0_u16..3, 0_usize..3, instant(), lengths, outcome, ended).prop_map(
        |(series, worker, intended, (lag, wait, service), outcome, ended)| Drawn {
            series,
            worker,
            times: Times {
                intended: Instant(intended),
                ready: Instant(intended + lag),
                sent: Instant(intended + lag + wait),
                done: Instant(intended + lag + wait + service),
            },
            outcome,
            ended,
        },
    )
}

/// So many transactions, or up to three times as many where each came with others quite like it.
fn several(count: usize) -> impl Strategy<Value = Vec<Drawn>> {
    let alike = (drawn(), 1_usize..4).prop_map(|(drawn, count)| vec![drawn; count]);
    prop::collection::vec(alike, 0..count).prop_map(|groups| groups.concat())
}

fn layout() -> Layout {
    let mut layout = Layout::new();
    layout.add(Kind::Transaction, "page");
    layout.add(Kind::Operation, "page");
    layout.add(Kind::Transaction, "order");
    layout
}

fn options(layout: Layout) -> Options {
    Options {
        layout,
        plan: "{}".to_owned(),
        build: "{}".to_owned(),
        workers: 3,
        timeout: Nanos::SECOND,
        cpu_clock: None,
        progress: None,
    }
}

/// Tells recorders of everything in the order of its end, and reads what they wrote.
fn told(drawn: &[Drawn], threaded: bool) -> Vec<u8> {
    let bytes = SharedBytes::default();
    let options = options(layout());
    let out = Box::new(bytes.clone());
    let (sink, mut recorders) = if threaded {
        Sink::threaded(options, out).unwrap()
    } else {
        Sink::synchronous(options, out).unwrap()
    };
    let mut ordered = drawn.to_vec();
    ordered.sort_by_key(|drawn| drawn.times.done);
    for drawn in &ordered {
        let (times, series) = (&drawn.times, Series(drawn.series));
        let recorder = &mut recorders[drawn.worker];
        recorder.due(series, times.intended);
        if drawn.ended {
            recorder.ended(series, times, drawn.outcome, (3, 7));
        }
        recorder.tick(times.done);
    }
    let end = ordered.last().map_or(Instant(0), |drawn| drawn.times.done);
    for recorder in recorders {
        recorder.finish(end);
    }
    sink.close(end, &json!({"reason": "complete"})).unwrap();
    bytes.bytes()
}

/// Counters of a series by slot, counted naively.
fn naive(drawn: &[Drawn], series: u16) -> BTreeMap<i64, Counters> {
    let whole = series != 1;
    let mut slots: BTreeMap<i64, Counters> = BTreeMap::new();
    let mut add = |at: Instant, counter, figure| {
        let slot = at.0.div_euclid(SLOT_NS);
        slots.entry(slot).or_default().raise(counter, figure);
    };
    let mine = || drawn.iter().filter(|drawn| drawn.series == series);
    for drawn in mine() {
        add(drawn.times.intended, Counter::Due, 1);
    }
    for Drawn { times: t, outcome, .. } in mine().filter(|drawn| drawn.ended) {
        let counter = match outcome {
            Outcome::Ok => Counter::Ok,
            Outcome::Failed => Counter::Failed,
            Outcome::TimedOut => Counter::TimedOut,
            Outcome::Unknown => Counter::Unknown,
        };
        add(t.intended, counter, 1);
        if whole {
            add(t.intended, Counter::MaxLag, (t.ready.0 - t.intended.0) as u64);
        }
        if *outcome == Outcome::Ok {
            let service = (t.done.0 - t.sent.0) as u64;
            let response = (t.done.0 - t.intended.0) as u64;
            let response = if whole { response } else { service };
            add(t.intended, Counter::MaxService, service);
            add(t.intended, Counter::MaxResponse, response);
            add(t.done, Counter::Completed, 1);
        }
        add(t.done, Counter::BytesOut, 3);
        add(t.done, Counter::BytesIn, 7);
    }
    slots
}

/// Lengths of one second of a series as a histogram holds them, in order.
fn lengths(drawn: &[Drawn], series: u16, second: i64, field: Field) -> Vec<u64> {
    let mut lengths: Vec<u64> = drawn
        .iter()
        .filter(|d| d.series == series && d.ended)
        .filter(|d| d.times.intended.0.div_euclid(SECOND_NS) == second)
        .filter(|d| field == Field::Lag || d.outcome == Outcome::Ok)
        .map(|d| {
            let t = &d.times;
            let length = match field {
                Field::Response => t.done.0 - t.intended.0,
                Field::Service => t.done.0 - t.sent.0,
                Field::Wait => t.sent.0 - t.ready.0,
                Field::Lag => t.ready.0 - t.intended.0,
            };
            (length as u64).max(1)
        })
        .collect();
    lengths.sort_unstable();
    lengths
}

/// Everything a Measurement tells of its figures, in a form that can be compared.
fn everything(measurement: &Measurement) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for kind in Kind::ALL {
        for name in measurement.names(kind) {
            let key = format!("{kind:?} {name}");
            let slots = measurement.slots(kind, Some(name));
            for field in Field::ALL {
                let all = i64::MIN..i64::MAX;
                let histogram = measurement.histogram(kind, Some(name), field, all).unwrap();
                let recorded: Vec<(u64, u64)> = histogram
                    .iter_recorded()
                    .map(|v| (v.value_iterated_to(), v.count_at_value()))
                    .collect();
                found.insert(format!("{key} {field:?}"), format!("{recorded:?}"));
            }
            found.insert(key, format!("{slots:?}"));
        }
    }
    found.insert("parts".to_owned(), format!("{:?}", measurement.parts()));
    found
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn counters_and_histograms_equal_a_naive_count(
        drawn in several(120),
        threaded: bool,
    ) {
        let measurement = Measurement::read(&told(&drawn, threaded)).unwrap();
        let [transaction, operation] = [Kind::Transaction, Kind::Operation];
        let all = [(0, transaction, "page"), (1, operation, "page"), (2, transaction, "order")];
        for (series, kind, name) in all {
            let slots = measurement.slots(kind, Some(name));
            let expected = naive(&drawn, series);
            for slot in slots.keys().chain(expected.keys()) {
                let mine = slots.get(slot).copied().unwrap_or_default();
                let theirs = expected.get(slot).copied().unwrap_or_default();
                prop_assert_eq!(mine, theirs, "slot {} of {}", slot, name);
            }
            for second in -3..14 {
                for field in Field::ALL {
                    let range = second * 10..second * 10 + 10;
                    let histogram = measurement.histogram(kind, Some(name), field, range).unwrap();
                    if kind == Kind::Operation && field != Field::Service {
                        prop_assert!(histogram.is_empty());
                        continue;
                    }
                    let expected = lengths(&drawn, series, second, field);
                    prop_assert_eq!(histogram.len(), expected.len() as u64);
                    let mut at = 0;
                    for value in histogram.iter_recorded() {
                        for _ in 0..value.count_at_value() {
                            let held = value.value_iterated_to();
                            prop_assert!(histogram.equivalent(held, expected[at]));
                            at += 1;
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn in_flight_equals_the_sum_of_the_flights(
        flights in prop::collection::vec((instant(), length()), 1..40),
    ) {
        let bytes = SharedBytes::default();
        let (sink, mut recorders) =
            Sink::synchronous(options(layout()), Box::new(bytes.clone())).unwrap();
        let mut recorder = recorders.remove(1);
        let mut changes: Vec<(i64, i32)> = Vec::new();
        for (start, length) in &flights {
            changes.extend([(*start, 1), (start + length, -1)]);
        }
        changes.sort_by_key(|&(at, change)| (at, -change));
        for (at, change) in changes {
            recorder.in_flight(Instant(at), change);
            recorder.tick(Instant(at));
        }
        recorder.finish(Instant(20 * SECOND_NS));
        for (worker, other) in recorders.into_iter().enumerate() {
            other.finish(Instant(worker as i64));
        }
        sink.close(Instant(0), &json!({})).unwrap();
        let measurement = Measurement::read(&bytes.bytes()).unwrap();
        for slot in -20..200 {
            let (from, to) = (slot * SLOT_NS, (slot + 1) * SLOT_NS);
            let overlap = |(start, length): &(i64, i64)| {
                ((start + length).min(to) - (*start).max(from)).max(0) as u64
            };
            let expected: u64 = flights.iter().map(overlap).sum();
            let told = measurement.totals(Kind::Worker, Some("1"), slot..slot + 1);
            prop_assert_eq!(told[Counter::InFlight], expected, "slot {}", slot);
        }
    }

    #[test]
    fn merging_is_associative_and_commutative(
        parts in prop::array::uniform3(several(40)),
    ) {
        let read = |drawn: &Vec<Drawn>| Measurement::read(&told(drawn, false)).unwrap();
        let [a, b, c] = [read(&parts[0]), read(&parts[1]), read(&parts[2])];
        let left = a.clone().merge(b.clone()).merge(c.clone());
        let right = a.clone().merge(b.clone().merge(c.clone()));
        let turned = c.merge(a).merge(b);
        prop_assert_eq!(everything(&left), everything(&right));
        prop_assert_eq!(everything(&left), everything(&turned));
        let drawn = parts.concat();
        let due = drawn.iter().filter(|d| d.series == 0).count() as u64;
        let total = left.totals(Kind::Transaction, Some("page"), i64::MIN..i64::MAX);
        prop_assert_eq!(total[Counter::Due], due);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Measurement::read(&bytes).is_err());
        prop_assert!(tally::decode(&bytes).is_err());
    }
}
