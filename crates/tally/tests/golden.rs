//! Measurements of this version stay readable: two parts of one trial are kept as files, which the
//! workbench's tests read too.
//!
//! `BLESS=1 cargo test -p tally --test golden` writes them anew, for a new version of the format.

use std::fs;
use std::path::{Path, PathBuf};

use base::{Instant, Nanos};
use serde_json::json;
use tally::{Counter, Field, Kind, Layout, Measurement, Options, Outcome, Sink, Times, open_parts};

const MS: i64 = 1_000_000;

fn path(part: usize) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/store");
    tests.join(format!("golden-{part}.arrow"))
}

/// A second of warm-up and 1.5 s of 50 transactions a second: each takes 4 ms and is taken up 1 ms
/// late; in the measured part every tenth is a failing `order`; the answers due from 0.5 s to 0.7 s
/// come at 0.9 s. The second part's stream ends within the batch of the last half second.
fn write(part: usize) {
    let mut layout = Layout::new();
    let page = layout.add(Kind::Transaction, "page");
    let order = layout.add(Kind::Transaction, "order");
    let get = layout.add(Kind::Operation, "get");
    let options = Options {
        layout,
        plan: json!({"version": 1, "part": {"index": part, "of": 2}}).to_string(),
        build: json!({"version": "0.1.0", "profile": "test", "target": "any"}).to_string(),
        workers: 1,
        timeout: Nanos::SECOND,
        cpu_clock: None,
        progress: None,
    };
    let out = Box::new(fs::File::create(path(part)).unwrap());
    let (sink, mut recorders) = Sink::synchronous(options, out).unwrap();
    let mut recorder = recorders.remove(0);
    sink.event(Instant(-1_000 * MS), "start", &json!({"origin_monotonic_ns": 7, "workers": 1}));
    for n in -50..75 {
        let intended = Instant(n * 20 * MS);
        let ready = intended + Nanos(MS as u64);
        let done = if (25..35).contains(&n) { Instant(900 * MS) } else { ready + Nanos(4_000_000) };
        let times = Times { intended, ready, sent: ready, done };
        let fails = n >= 0 && n % 10 == 0;
        let (series, outcome) = if fails { (order, Outcome::Failed) } else { (page, Outcome::Ok) };
        recorder.tick(intended);
        if n == 0 {
            // One transaction is open from the origin until the end.
            recorder.due(page, intended);
            recorder.in_flight(intended, 1);
        }
        recorder.due(series, intended);
        recorder.due(get, intended);
        recorder.ended(get, &times, outcome, (100, 1_000));
        recorder.ended(series, &times, outcome, (0, 0));
        recorder.worked(ready, Nanos(50_000));
        if fails {
            recorder.error(get, outcome, "status 500");
        }
    }
    let end = Instant(1_500 * MS);
    recorder.finish(end);
    let note = json!({"reason": "complete", "elapsed_ns": end.0});
    sink.close(end, &note).unwrap();
    if part == 1 {
        let bytes = fs::read(path(part)).unwrap();
        fs::write(path(part), &bytes[..bytes.len() - 4_000]).unwrap();
    }
}

#[test]
fn the_kept_measurements_read_as_they_were_counted() {
    if std::env::var_os("BLESS").is_some() {
        write(0);
        write(1);
    }
    let (both, rows) = open_parts(&[path(0), path(1)]).unwrap();
    assert_eq!(rows.len(), 2);
    let [whole, torn] = both.parts() else { panic!("two parts") };
    assert!(whole.is_complete() && whole.torn.is_none());
    assert!(!torn.is_complete() && torn.torn.is_some());
    let first = Measurement::open(&path(0)).unwrap();
    let page = first.totals(Kind::Transaction, Some("page"), 0..15);
    assert_eq!(page[Counter::Due], 68);
    assert_eq!(page[Counter::Completed], 67);
    let order = first.totals(Kind::Transaction, Some("order"), 0..15);
    assert_eq!((order[Counter::Due], order[Counter::Failed]), (8, 8));
    let all = first.totals(Kind::Transaction, None, i64::MIN..i64::MAX);
    assert_eq!(all[Counter::Due], 126);
    assert_eq!(all[Counter::MaxLag], MS as u64);
    let work = first.totals(Kind::Worker, Some("0"), 0..15);
    assert_eq!(work[Counter::InFlight], 1_500 * MS as u64);
    let service = first.histogram(Kind::Operation, Some("get"), Field::Service, 0..20).unwrap();
    assert_eq!(service.len(), 67);
    assert!(service.equivalent(service.value_at_quantile(0.5), 4_000_000));
    // Sent at 0.501 s, answered at 0.9 s.
    assert!(service.equivalent(service.max(), 399_000_000));
}
