//! A Measurement survives being cut anywhere, and being sealed.

use std::fs;
use std::path::PathBuf;

use base::{Instant, Nanos};
use serde_json::json;
use tally::{
    Counter, Field, Kind, Layout, Measurement, Options, Outcome, SharedBytes, Sink, TallyError,
    Times, seal,
};

/// A trial of one transaction of one operation: `seconds` of warm-up and load at `rate`, with
/// service times spread over a decade as a busy server's are.
fn trial(seconds: std::ops::Range<i64>, rate: i64) -> Vec<u8> {
    let mut layout = Layout::new();
    let page = layout.add(Kind::Transaction, "page");
    let get = layout.add(Kind::Operation, "get");
    let bytes = SharedBytes::default();
    let options = Options {
        layout,
        plan: json!({"version": 1, "driver": "x".repeat(1_000)}).to_string(),
        build: r#"{"version":"0.1.0","profile":"release","target":"x86_64"}"#.to_owned(),
        workers: 1,
        timeout: Nanos(5 * Nanos::SECOND.0),
        cpu_clock: None,
        progress: None,
    };
    let (sink, mut recorders) = Sink::synchronous(options, Box::new(bytes.clone())).unwrap();
    let mut recorder = recorders.remove(0);
    let start = Instant(seconds.start * 1_000_000_000);
    sink.event(start, "start", &json!({"workers": 1}));
    let step = 1_000_000_000 / rate;
    let mut spread: u64 = 1;
    for n in 0..(seconds.end - seconds.start) * rate {
        let intended = start + Nanos((n * step) as u64);
        recorder.tick(intended);
        spread = spread.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let uniform = ((spread >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        let service = Nanos(50_000 + (-uniform.ln() * 150_000.0) as u64);
        let ready = intended + Nanos(2_000 + service.0 / 100);
        let sent = ready + Nanos(500);
        let done = sent + service;
        let times = Times { intended, ready, sent, done };
        recorder.due(page, intended);
        recorder.due(get, intended);
        recorder.in_flight(sent, 1);
        recorder.ended(get, &times, Outcome::Ok, (80, 300));
        recorder.ended(page, &times, Outcome::Ok, (0, 0));
        recorder.worked(done, Nanos(3_000));
    }
    let end = Instant(seconds.end * 1_000_000_000);
    recorder.finish(end);
    let note = json!({"reason": "complete", "elapsed_ns": end.0});
    sink.close(end, &note).unwrap();
    bytes.bytes()
}

fn due(measurement: &Measurement) -> u64 {
    let all = i64::MIN..i64::MAX;
    measurement.totals(Kind::Transaction, None, all)[Counter::Due]
}

/// A folder that goes when the test is done.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tally-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn a_stream_cut_at_any_byte_reads_as_its_whole_batches() {
    let bytes = trial(0..3, 50);
    let whole = Measurement::read(&bytes).unwrap();
    assert_eq!(due(&whole), 150);
    let mut seen = Vec::new();
    for cut in 0..bytes.len() {
        match Measurement::read(&bytes[..cut]) {
            Ok(measurement) => {
                let part = &measurement.parts()[0];
                assert!(part.torn.as_ref().is_some_and(|why| why.contains("cut")));
                assert_eq!(part.plan, whole.parts()[0].plan);
                seen.push(due(&measurement));
            }
            Err(TallyError::Foreign(why)) => {
                assert!(seen.is_empty(), "unreadable once it was readable: {why}");
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(seen.is_sorted(), "more bytes never tell less");
    seen.dedup();
    assert_eq!(seen, [0, 50, 100, 150]);
}

#[test]
fn a_damaged_batch_ends_what_is_read() {
    let mut bytes = trial(0..3, 50);
    let third = bytes.len() * 3 / 4;
    bytes.truncate(third);
    bytes.resize(third + 4_096, 0);
    let measurement = Measurement::read(&bytes).unwrap();
    assert!(measurement.parts()[0].torn.is_some());
    assert!((50..150).contains(&due(&measurement)));
}

#[test]
fn sealing_keeps_everything_that_is_whole() {
    let folder = Folder::new("seal");
    let bytes = trial(-1..2, 50);
    let (stream, file) = (folder.0.join("stream"), folder.0.join("file"));
    for cut in [bytes.len(), bytes.len() - 1, bytes.len() * 2 / 3] {
        fs::write(&stream, &bytes[..cut]).unwrap();
        let sealed = seal(&stream, &file).unwrap();
        assert_eq!(sealed.torn.is_none(), cut == bytes.len());
        let (before, after) =
            (Measurement::open(&stream).unwrap(), Measurement::open(&file).unwrap());
        assert_eq!(after.parts()[0].torn, None);
        assert_eq!(after.parts()[0].plan, before.parts()[0].plan);
        assert_eq!(after.parts()[0].build, before.parts()[0].build);
        assert_eq!(after.parts()[0].events, before.parts()[0].events);
        for kind in Kind::ALL {
            assert_eq!(after.slots(kind, None), before.slots(kind, None));
        }
        let of = |m: &Measurement| m.histogram(Kind::Transaction, None, Field::Wait, -10..20);
        assert_eq!(of(&after).unwrap(), of(&before).unwrap());
    }
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 2);
}

#[test]
fn a_sealed_file_cut_at_any_byte_is_read_too_and_seals_in_place() {
    let folder = Folder::new("cut");
    let path = folder.0.join("measurement.arrow");
    fs::write(&path, trial(0..2, 50)).unwrap();
    assert_eq!(seal(&path, &path).unwrap().torn, None);
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(b"ARROW1") && bytes.ends_with(b"ARROW1"));
    let mut most = 0;
    for cut in 0..bytes.len() {
        if let Ok(measurement) = Measurement::read(&bytes[..cut]) {
            assert!(measurement.parts()[0].torn.is_some());
            most = due(&measurement);
        }
    }
    assert_eq!(most, 100);
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(seal(&path, &path).unwrap().torn.is_some());
    assert_eq!(due(&Measurement::open(&path).unwrap()), 100);
}

#[test]
fn what_is_no_measurement_is_refused_in_words() {
    let why = |bytes: &[u8]| Measurement::read(bytes).unwrap_err().to_string();
    assert_eq!(why(b""), "not a Measurement: it is cut at byte 0");
    assert_eq!(why(b"<html></html>"), "not a Measurement: no message begins at byte 0");
    let missing = Measurement::open("/nowhere/measurement.arrow".as_ref());
    let missing = missing.unwrap_err().to_string();
    assert!(missing.starts_with("cannot read /nowhere/measurement.arrow: "));
    let mut other = trial(0..1, 10);
    let at = other.windows(20).position(|w| w == b"benchlab-measurement");
    other[at.unwrap()] = b'B';
    assert!(why(&other).contains(r#"its `format` is "Benchlab-measurement""#));
}

#[test]
fn a_trial_of_five_seconds_is_small() {
    let bytes = trial(-1..5, 10_000);
    println!("5 s after 1 s of warm-up, one transaction of one operation: {} bytes", bytes.len());
    assert!(bytes.len() < 150_000, "{} bytes", bytes.len());
}
