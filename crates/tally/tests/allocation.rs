//! A recorder does not allocate once the trial runs, not even when it hands over.

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant as Wall};

use base::{Instant, Nanos};
use serde_json::json;
use tally::{Kind, Layout, Options, Outcome, SharedBytes, Sink, Times};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as above.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, memory: Memory) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn counting_and_handing_over_allocate_nothing() {
    let mut layout = Layout::new();
    let page = layout.add(Kind::Transaction, "page");
    let get = layout.add(Kind::Operation, "get");
    let written = Arc::new(AtomicI64::new(-1));
    let told = written.clone();
    let options = Options {
        layout,
        plan: "{}".to_owned(),
        build: "{}".to_owned(),
        workers: 1,
        timeout: Nanos::SECOND,
        cpu_clock: Some(|| Nanos(1)),
        progress: Some(Box::new(move |progress| told.store(progress.second, Ordering::Relaxed))),
    };
    let (sink, mut recorders) = Sink::threaded(options, Box::new(SharedBytes::default())).unwrap();
    let mut recorder = recorders.remove(0);
    let before = ALLOCATIONS.get();
    for n in -1_000..20_000_i64 {
        let [intended, done] = [n, n + 1_500].map(|ms| Instant(ms * 1_000_000));
        let times = Times { intended, ready: intended, sent: intended, done };
        recorder.due(page, intended);
        recorder.in_flight(done, if n % 2 == 0 { 1 } else { -1 });
        recorder.ended(get, &times, Outcome::Ok, (1, 1));
        recorder.ended(page, &times, Outcome::Ok, (0, 0));
        recorder.worked(done, Nanos(1));
        if n % 100 == 0 {
            recorder.error(get, Outcome::Failed, "status 500");
        }
        recorder.tick(done);
        // The writer keeps pace, as it does with real seconds.
        let patience = Wall::now() + Duration::from_secs(10);
        while written.load(Ordering::Relaxed) < done.0.div_euclid(1_000_000_000) - 1 {
            assert!(Wall::now() < patience, "what was done until {done:?} is not written");
            std::thread::yield_now();
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    recorder.finish(Instant(30_000_000_000));
    sink.close(Instant(30_000_000_000), &json!({})).unwrap();
}
