//! Bytes that are, were or never were Measurements: the fuzz target's corpus, and each of its files
//! with every byte changed in turn.
//!
//! `BLESS=1 cargo test -p tally --test damage` writes the corpus's seeds anew.

mod eat;

use std::fs;
use std::path::{Path, PathBuf};

use base::{Instant, Nanos};
use serde_json::json;
use tally::{Kind, Layout, Options, Outcome, SharedBytes, Sink, Times, seal};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/measurements")
}

/// A stream of one transaction and one error.
fn stream() -> Vec<u8> {
    let mut layout = Layout::new();
    let page = layout.add(Kind::Transaction, "p");
    let get = layout.add(Kind::Operation, "g");
    let bytes = SharedBytes::default();
    let options = Options {
        layout,
        plan: "{}".to_owned(),
        build: "{}".to_owned(),
        workers: 1,
        timeout: Nanos::SECOND,
        cpu_clock: None,
        progress: None,
    };
    let (sink, mut recorders) = Sink::synchronous(options, Box::new(bytes.clone())).unwrap();
    let mut recorder = recorders.remove(0);
    let [intended, done] = [0, 5_000].map(Instant);
    recorder.due(page, intended);
    recorder.error(get, Outcome::Failed, "no");
    let times = Times { intended, ready: intended, sent: intended, done };
    recorder.ended(page, &times, Outcome::Ok, (0, 0));
    recorder.finish(done);
    sink.close(done, &json!({})).unwrap();
    bytes.bytes()
}

fn bless() {
    let put = |name: &str, bytes: &[u8]| fs::write(corpus().join(name), bytes).unwrap();
    fs::create_dir_all(corpus()).unwrap();
    let bytes = stream();
    put("stream", &bytes);
    put("torn", &bytes[..bytes.len() * 3 / 4]);
    put("header", &bytes[..1_500]);
    seal(&corpus().join("stream"), &corpus().join("file")).unwrap();
    let mut histogram = tally::empty();
    for length in [1, 5_000, 5_000_000, tally::GREATEST_NS] {
        histogram.record(length).unwrap();
    }
    put("histogram", &tally::encode(&histogram));
    put("nothing", b"");
}

#[test]
fn the_corpus_is_eaten_whole_and_damaged() {
    if std::env::var_os("BLESS").is_some() {
        bless();
    }
    let mut files = 0;
    for entry in fs::read_dir(corpus()).unwrap() {
        let mut bytes = fs::read(entry.unwrap().path()).unwrap();
        files += 1;
        eat::any(&bytes);
        for at in 0..bytes.len() {
            for mask in [0x01, 0x80, 0xff] {
                bytes[at] ^= mask;
                eat::any(&bytes);
                bytes[at] ^= mask;
            }
        }
    }
    assert!(files >= 6);
}
