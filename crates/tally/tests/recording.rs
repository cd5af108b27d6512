//! What recorders are told is what a Measurement tells.

use std::time::{Duration, Instant as Wall};

use base::{Instant, Nanos};
use serde_json::json;
use tally::{
    Counter, Field, Kind, Layout, Measurement, Options, Outcome, Progress, Recorder, Series,
    SharedBytes, Sink, Times,
};

const MS: i64 = 1_000_000;

struct Bench {
    layout: Layout,
    page: Series,
    get: Series,
}

fn bench() -> Bench {
    let mut layout = Layout::new();
    let page = layout.add(Kind::Transaction, "page");
    let get = layout.add(Kind::Operation, "get");
    Bench { layout, page, get }
}

fn options(layout: &Layout, workers: usize, timeout: Nanos) -> Options {
    Options {
        layout: layout.clone(),
        plan: r#"{"version":1}"#.to_owned(),
        build: r#"{"profile":"test"}"#.to_owned(),
        workers,
        timeout,
        cpu_clock: None,
        progress: None,
    }
}

fn times(intended: i64, ready: i64, sent: i64, done: i64) -> Times {
    let [intended, ready, sent, done] = [intended, ready, sent, done].map(Instant);
    Times { intended, ready, sent, done }
}

/// One transaction of one operation that takes `service`, sent when it is intended.
fn transact(recorder: &mut Recorder, bench: &Bench, at: i64, service: i64) {
    let times = times(at, at, at, at + service);
    recorder.tick(times.intended);
    recorder.due(bench.page, times.intended);
    recorder.due(bench.get, times.intended);
    recorder.in_flight(times.sent, 1);
    recorder.in_flight(times.done, -1);
    recorder.ended(bench.get, &times, Outcome::Ok, (100, 1_000));
    recorder.ended(bench.page, &times, Outcome::Ok, (0, 0));
    recorder.worked(times.done, Nanos(2_000));
    recorder.tick(times.done);
}

#[test]
fn a_trial_reads_as_it_was_counted() {
    let bench = bench();
    let bytes = SharedBytes::default();
    let (sink, mut recorders) =
        Sink::synchronous(options(&bench.layout, 1, Nanos::SECOND), Box::new(bytes.clone()))
            .unwrap();
    let mut recorder = recorders.remove(0);
    sink.event(Instant(-1_000 * MS), "start", &json!({"workers": 1}));
    for at in (-1_000..2_000).step_by(10) {
        transact(&mut recorder, &bench, at * MS, 4 * MS);
    }
    recorder.error(bench.get, Outcome::Failed, "status 500");
    recorder.finish(Instant(2_000 * MS));
    sink.close(Instant(2_000 * MS), &json!({"reason": "complete"})).unwrap();

    let measurement = Measurement::read(&bytes.bytes()).unwrap();
    let part = &measurement.parts()[0];
    assert_eq!(part.plan, r#"{"version":1}"#);
    assert!(part.is_complete() && part.torn.is_none());
    let names: Vec<&str> = part.events.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["start", "error", "end"]);
    let all = measurement.totals(Kind::Transaction, None, 0..20);
    assert_eq!(all[Counter::Due], 200);
    assert_eq!(all[Counter::Completed], 200);
    assert_eq!(all[Counter::MaxResponse], 4_000_000);
    let slots = measurement.slots(Kind::Transaction, Some("page"));
    assert_eq!(slots.len(), 30);
    assert!(slots.values().all(|counters| counters[Counter::Ok] == 10));
    let work = measurement.totals(Kind::Worker, Some("0"), -10..20);
    assert_eq!(work[Counter::InFlight], 300 * 4_000_000);
    assert_eq!(work[Counter::Busy], 300 * 2_000);
    let service =
        measurement.histogram(Kind::Operation, Some("get"), Field::Service, 0..20).unwrap();
    assert_eq!(service.len(), 200);
    assert!(service.equivalent(service.value_at_quantile(0.5), 4_000_000));
}

#[test]
fn late_answers_are_kept_although_the_buffers_run_out() {
    let bench = bench();
    for threaded in [true, false] {
        let bytes = SharedBytes::default();
        let options = options(&bench.layout, 1, Nanos::SECOND);
        let out = Box::new(bytes.clone());
        let (sink, mut recorders) = if threaded {
            Sink::threaded(options, out).unwrap()
        } else {
            Sink::synchronous(options, out).unwrap()
        };
        let mut recorder = recorders.remove(0);
        // A stall of a minute: all that came due in it is answered within one second, in an order
        // that needs another buffer each time.
        let done = 60_000 * MS;
        for at in 0..6_000 {
            let at = (at * 7_919) % 6_000 * 10 * MS;
            recorder.due(bench.page, Instant(at));
            recorder.ended(bench.page, &times(at, at, at, done), Outcome::Ok, (0, 0));
        }
        recorder.finish(Instant(done));
        sink.close(Instant(done), &json!({})).unwrap();
        let measurement = Measurement::read(&bytes.bytes()).unwrap();
        for (slot, counters) in measurement.slots(Kind::Transaction, None) {
            let answered = if slot == 600 { 0 } else { 10 };
            assert_eq!(counters[Counter::Ok], answered, "in slot {slot}");
        }
        let all = measurement.totals(Kind::Transaction, None, 0..601);
        assert_eq!(all[Counter::Completed], 6_000);
        let response =
            measurement.histogram(Kind::Transaction, None, Field::Response, 0..600).unwrap();
        assert_eq!(response.len(), 6_000);
    }
}

#[test]
fn several_workers_become_one_series_and_tell_their_progress() {
    let bench = bench();
    let bytes = SharedBytes::default();
    let (told, heard) = std::sync::mpsc::channel();
    let mut options = options(&bench.layout, 3, Nanos::SECOND);
    options.progress = Some(Box::new(move |progress: Progress| {
        told.send(progress).unwrap();
    }));
    let (sink, recorders) = Sink::threaded(options, Box::new(bytes.clone())).unwrap();
    std::thread::scope(|scope| {
        for mut recorder in recorders {
            let bench = &bench;
            scope.spawn(move || {
                for at in 0..300 {
                    transact(&mut recorder, bench, at * 10 * MS, MS);
                }
                recorder.finish(Instant(3_000 * MS));
            });
        }
    });
    sink.close(Instant(3_000 * MS), &json!({})).unwrap();
    let measurement = Measurement::read(&bytes.bytes()).unwrap();
    let slots = measurement.slots(Kind::Transaction, Some("page"));
    assert_eq!(slots.len(), 30);
    assert!(slots.values().all(|counters| counters[Counter::Due] == 30));
    assert_eq!(measurement.names(Kind::Worker).count(), 3);
    let told: Vec<Progress> = heard.into_iter().collect();
    assert_eq!(told.iter().map(|progress| progress.completed).sum::<u64>(), 900);
    assert_eq!(told.iter().map(|progress| progress.second).max(), Some(2));
    assert!(told.iter().any(|progress| (999_000..1_001_000).contains(&progress.service_p99_ns)));
}

#[test]
fn error_messages_are_bounded() {
    let bench = bench();
    let bytes = SharedBytes::default();
    let (sink, mut recorders) =
        Sink::synchronous(options(&bench.layout, 1, Nanos::SECOND), Box::new(bytes.clone()))
            .unwrap();
    let mut recorder = recorders.remove(0);
    for second in 0..4 {
        recorder.tick(Instant(second * 1_000 * MS));
        for error in 0..10 {
            let message = format!("{}: {}", second * 10 + error, "é".repeat(300));
            recorder.error(bench.get, Outcome::Unknown, &message);
        }
    }
    recorder.finish(Instant(4_000 * MS));
    sink.close(Instant(4_000 * MS), &json!({})).unwrap();
    let measurement = Measurement::read(&bytes.bytes()).unwrap();
    let notes = measurement.parts()[0].events.iter();
    let notes = notes.filter(|event| event.name == "error");
    let notes: Vec<serde_json::Value> =
        notes.map(|event| serde_json::from_str(&event.note).unwrap()).collect();
    let (other, known): (Vec<_>, Vec<_>) =
        notes.iter().partition(|note| note["message"] == "other");
    assert_eq!(known.len(), 16);
    assert!(known.iter().all(|note| note["operation"] == "get"));
    let others: u64 = other.iter().map(|note| note["count"].as_u64().unwrap()).sum();
    assert_eq!(others, 24);
}

struct FullDisk {
    room: usize,
}

impl std::io::Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.room = self.room.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_stops_nobody_and_is_told() {
    let bench = bench();
    let options = options(&bench.layout, 1, Nanos::SECOND);
    let disk = Box::new(FullDisk { room: 20_000 });
    let (sink, mut recorders) = Sink::threaded(options, disk).unwrap();
    let mut recorder = recorders.remove(0);
    for at in 0..30_000 {
        transact(&mut recorder, &bench, at * MS, 1_000 * at);
    }
    recorder.finish(Instant(30_000 * MS));
    let patience = Wall::now() + Duration::from_secs(10);
    while !sink.failed() {
        assert!(Wall::now() < patience, "the full disk goes unnoticed");
        std::thread::yield_now();
    }
    let error = sink.close(Instant(30_000 * MS), &json!({})).unwrap_err();
    assert!(error.to_string().starts_with("cannot write the Measurement: "));
}
