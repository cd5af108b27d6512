//! Trials of files: real ones in the temporary folder, devices that always refuse, and simulated
//! ones.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::error::EngineError;
use engine::net::waiting::Waiting;
use engine::{Control, check, run};
use serde_json::{Value, json};
use tally::{Counter, Field, Kind};
use tempfile::TempDir;

use crate::laboratory::{MILLISECOND, Measured, SECOND, broken_off, measure};

const KIB: u64 = 1024;

/// A Plan of these operations on this file.
fn plan(path: &str, operations: &Value, keys: &Value) -> Value {
    let mut plan = json!({
        "version": 1,
        "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
        "driver": {"kind": "file", "path": path},
        "workload": {
            "values": {"any": {"uniform": {"low": 0, "high": 1_000_000}}},
            "transactions": [{"name": "page", "operations": operations}],
        },
        "schedule": {"closed": {"clients": 4}},
        "stop": {"transactions": 64},
    });
    for (path, value) in keys.as_object().unwrap() {
        let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
        let parent = if parent.is_empty() { &mut plan } else { &mut plan[parent] };
        parent[key] = value.clone();
    }
    plan
}

/// A block of this number, or the next of all.
fn block(at: &str, bytes: u32) -> Value {
    if at == "next" { json!({"bytes": bytes}) } else { json!({"at": at, "bytes": bytes}) }
}

fn read(at: &str, bytes: u32) -> Value {
    let request = json!({"file": {"read": block(at, bytes)}});
    json!({"name": "read", "request": request, "expect": {"intact": true}})
}

fn write(at: &str, bytes: u32) -> Value {
    json!({"name": "write", "request": {"file": {"write": block(at, bytes)}}})
}

fn sync(what: &str) -> Value {
    json!({"name": "sync", "request": {"file": {"sync": what}}})
}

/// A file that goes away with this value.
struct Place {
    _folder: TempDir,
    path: PathBuf,
}

impl Place {
    fn new() -> Place {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("file");
        Place { _folder: folder, path }
    }

    /// One of 256 KiB, laid out by a Plan.
    fn laid_out() -> Place {
        let place = Place::new();
        let keys = json!({
            "driver.size_bytes": 256 * KIB, "stop": {"transactions": 16},
        });
        let plan = plan(place.text(), &json!([write("next", 16 * 1024)]), &keys);
        assert_eq!(measure(&plan).outcomes(), [16, 0, 0, 0]);
        assert_eq!(fs::metadata(&place.path).unwrap().len(), 256 * KIB);
        place
    }

    fn text(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

/// The ways in which this machine can carry out orders.
fn ways() -> &'static [&'static str] {
    match engine::net::file::probe(Waiting::Sleep) {
        Ok(()) => &["uring", "threads"],
        Err(why) => {
            eprintln!("without io_uring: {why}");
            &["threads"]
        }
    }
}

/// Runs the Plan in each way.
fn measure_each(plan: &Value) -> Vec<Measured> {
    let by = |net: &&str| {
        let mut plan = plan.clone();
        plan["net"] = json!(net);
        let measured = measure(&plan);
        assert_eq!(measured.notes("start")[0]["net"], *net);
        measured
    };
    ways().iter().map(by).collect()
}

/// Why the Plan gives no Measurement.
fn refusal(plan: &Value) -> EngineError {
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: None, allow_debug: true };
    run(&plan.to_string(), Box::new(std::io::sink()), control).unwrap_err()
}

#[test]
fn what_was_written_is_read_intact_whatever_the_size_of_a_block() {
    let place = Place::laid_out();
    for direct in [false, true] {
        for bytes in [512, 4096, 65536] {
            // No client writes what another reads at the time, of which it may see the half.
            let operations = json!([write("next", bytes), read("next", bytes), sync("data")]);
            for measured in
                measure_each(&plan(place.text(), &operations, &json!({"driver.direct": direct})))
            {
                assert_eq!(measured.outcomes(), [64, 0, 0, 0], "{:?}", measured.messages());
                for name in ["read", "write", "sync"] {
                    assert_eq!(measured.count(Kind::Operation, name, Counter::Ok), 64);
                }
                // No byte that is counted is the driver's own.
                let moved = u64::from(bytes) * 64;
                let page = |counter| measured.count(Kind::Transaction, "page", counter);
                assert_eq!(page(Counter::BytesOut), moved);
                assert_eq!(page(Counter::BytesIn), moved);
                assert_eq!(measured.count(Kind::Operation, "sync", Counter::BytesOut), 0);
            }
        }
    }
    // All that was written in the meantime is where it belongs.
    let all = plan(place.text(), &json!([read("${any}", 4096), sync("all")]), &json!({}));
    assert!(measure_each(&all).iter().all(|measured| measured.outcomes() == [64, 0, 0, 0]));
}

#[test]
fn a_sequence_reads_each_block_once_and_then_begins_again() {
    let place = Place::laid_out();
    let file = File::options().write(true).open(&place.path).unwrap();
    file.write_all_at(b"x", 5 * 4096 + 700).unwrap();
    let keys = json!({"stop": {"transactions": 128}});
    for measured in measure_each(&plan(place.text(), &json!([read("next", 4096)]), &keys)) {
        assert_eq!(measured.outcomes(), [126, 2, 0, 0]);
        let told = "a sector was altered, or written with other seeds";
        assert_eq!(measured.messages().into_iter().collect::<Vec<_>>(), [told]);
    }
}

#[test]
fn content_that_is_not_the_trials_own_is_not_intact() {
    let place = Place::laid_out();
    let file = File::options().write(true).open(&place.path).unwrap();
    file.set_len(0).unwrap();
    file.set_len(256 * KIB).unwrap();
    let told = |path: &str, keys: &Value, text: &str| {
        for measured in measure_each(&plan(path, &json!([read("next", 4096)]), keys)) {
            assert_eq!(measured.outcomes(), [0, 64, 0, 0]);
            assert_eq!(measured.messages().into_iter().collect::<Vec<_>>(), [text]);
        }
    };
    told(place.text(), &json!({}), "nothing was ever written there");
    told("/dev/zero", &json!({"driver.size_bytes": 256 * KIB}), "nothing was ever written there");
    fs::write(&place.path, vec![b'x'; 256 * 1024]).unwrap();
    told(place.text(), &json!({}), "what is there was written by no trial");
}

#[test]
fn a_file_that_grows_shorter_gives_short_reads() {
    for net in ways() {
        let place = Place::laid_out();
        let keys = json!({
            "net": net, "schedule": {"closed": {"clients": 1}}, "stop": {"duration_ns": SECOND / 2},
        });
        // What the first transaction wrote shows that it has read, too.
        let operations = json!([read("63", 4096), write("0", 4096)]);
        let plan = plan(place.text(), &operations, &keys);
        let file = File::options().read(true).write(true).open(&place.path).unwrap();
        let beginning = || {
            let mut bytes = [0; 512];
            file.read_exact_at(&mut bytes, 0).unwrap();
            bytes
        };
        let before = beginning();
        let measured = std::thread::scope(|scope| {
            scope.spawn(|| {
                let last = Instant::now() + Duration::from_secs(10);
                while beginning() == before && Instant::now() < last {}
                file.set_len(63 * 4096 + 1000).unwrap();
            });
            measure(&plan)
        });
        let [ok, failed, ..] = measured.outcomes();
        assert!(ok > 0 && failed > 0, "{ok} and {failed}");
        assert_eq!(measured.messages().into_iter().collect::<Vec<_>>(), ["1000 of 4096 bytes"]);
    }
}

#[test]
fn a_full_disk_is_a_failed_write_with_its_reason() {
    let keys = json!({"driver.size_bytes": 256 * KIB});
    for measured in measure_each(&plan("/dev/full", &json!([write("next", 4096)]), &keys)) {
        assert_eq!(measured.outcomes(), [0, 64, 0, 0]);
        let messages = measured.messages();
        assert!(messages.iter().all(|message| message.contains("No space left")), "{messages:?}");
        assert_eq!(measured.count(Kind::Transaction, "page", Counter::BytesIn), 0);
    }
}

/// A file system of 64 KiB in memory, where this user may mount one.
struct Small(TempDir);

impl Small {
    fn new() -> Option<Small> {
        let folder = TempDir::new().unwrap();
        let path = std::ffi::CString::new(folder.path().to_str().unwrap()).unwrap();
        // SAFETY: all texts end with a zero and live until the call is over.
        let status = unsafe {
            libc::mount(
                c"none".as_ptr(),
                path.as_ptr(),
                c"tmpfs".as_ptr(),
                0,
                c"size=64k".as_ptr().cast(),
            )
        };
        if status != 0 {
            eprintln!("skipped: mount: {}", std::io::Error::last_os_error());
        }
        (status == 0).then_some(Small(folder))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let path = std::ffi::CString::new(self.0.path().to_str().unwrap()).unwrap();
        // SAFETY: the text ends with a zero and lives until the call is over.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    }
}

#[test]
fn a_disk_that_runs_full_refuses_from_then_on_and_memory_is_no_disk() {
    let Some(small) = Small::new() else { return };
    for net in ways() {
        let path = small.0.path().join("file");
        let keys = json!({
            "driver.size_bytes": 256 * KIB, "net": net, "schedule": {"closed": {"clients": 1}},
        });
        let full = plan(path.to_str().unwrap(), &json!([write("next", 4096)]), &keys);
        let measured = measure(&full);
        assert_eq!(measured.outcomes(), [16, 48, 0, 0]);
        assert!(measured.messages().iter().all(|message| message.contains("No space left")));
        let mut direct = full;
        direct["driver"]["direct"] = json!(true);
        assert!(refusal(&direct).to_string().contains("lies in memory (tmpfs)"));
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn what_cannot_be_had_is_told_before_anything_runs() {
    let place = Place::laid_out();
    let of = |path: &str, operation: Value, keys: Value| plan(path, &json!([operation]), &keys);
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let big = json!({"driver.size_bytes": 512 * KIB});
    let large = json!({"driver.size_bytes": 1 << 20});
    let other = place.path.with_extension("txt");
    fs::write(&other, "a text that is somebody's").unwrap();
    for (plan, text) in [
        (
            of("/nowhere/at/all", read("0", 4096), json!({})),
            "cannot be opened for reading: No such",
        ),
        (of(own, write("0", 4096), json!({})), "cannot be opened for reading and writing: Text"),
        (of(other.to_str().unwrap(), write("0", 512), large), "holds something that is not"),
        (of("/tmp", read("0", 4096), json!({})), "`/tmp` is a folder"),
        (of(place.text(), read("${any}", 4096), big), "has 262144 of the 524288 bytes"),
        (of(place.text(), read("0", 1 << 20), json!({})), "blocks of 1048576 are asked for"),
        (
            of("/dev/zero", read("0", 4096), json!({"driver.direct": true})),
            "cannot be read and written directly",
        ),
    ] {
        let error = refusal(&plan);
        assert!(matches!(error, EngineError::Host(_)), "{error}");
        assert!(error.to_string().contains(text), "{error}");
        // What only the world can tell is no fault of the Plan's.
        check(&plan.to_string()).unwrap();
    }
    assert_eq!(fs::read_to_string(other).unwrap(), "a text that is somebody's");
}

#[test]
fn a_plan_that_no_file_can_serve_is_refused() {
    let sql = json!({"name": "ask", "request": {"sql": "SELECT 1"}});
    let write_intact = json!({
        "name": "write", "request": {"file": {"write": {"at": "0", "bytes": 512}}},
        "expect": {"intact": true},
    });
    let first = "workload.transactions[0].operations[0]";
    let sim = json!({"net": "sim", "sim": {"service": {"constant_ns": 1000}}});
    for (operation, keys, field, text) in [
        (read("0", 100), json!({}), "request.file.read.bytes", "a multiple of that"),
        (read("0", 0), json!({}), "request.file.read.bytes", "a multiple of that"),
        (write("${x}", 512), json!({}), "request.file.write.at", "no value called `x`"),
        (read("a", 512), json!({}), "request.file.read.at", "a block has a number"),
        (write_intact, json!({}), "expect.intact", "only what is read"),
        (sql, json!({}), "request", "the driver `file` speaks `file` requests alone"),
        (sync("data"), json!({"connection": "new"}), "connection", "stays open"),
        (sync("data"), json!({"pipeline": 2}), "pipeline", "one order under way"),
        (sync("data"), json!({"net": "epoll"}), "net", "`threads`"),
        (sync("data"), json!({"driver.path": ""}), "driver.path", "is needed"),
        (read("0", 512), sim, "driver.size_bytes", "a simulated file has the size"),
    ] {
        let error = check(&plan("f", &json!([operation]), &keys).to_string()).unwrap_err();
        assert!(matches!(error, EngineError::Plan(_)), "{error}");
        let line = error.to_string();
        let told = line.starts_with(field) || line.starts_with(&format!("{first}.{field}"));
        assert!(told && line.contains(text), "{line}");
    }
}

#[test]
fn an_open_load_on_a_file_is_punctual() {
    let place = Place::laid_out();
    let shape = json!([{"from_per_second": 2000, "to_per_second": 2000, "length_ns": SECOND}]);
    let keys = json!({
        "schedule": {"open": {"connections": 8, "shape": shape}}, "stop": {"duration_ns": SECOND},
    });
    for measured in measure_each(&plan(place.text(), &json!([read("${any}", 4096)]), &keys)) {
        let [ok, failed, timed_out, unknown] = measured.outcomes();
        assert!(ok > 1500, "{ok}");
        assert_eq!([failed, timed_out, unknown, measured.open()], [0; 4]);
    }
}

#[test]
fn a_trial_of_a_file_is_broken_off() {
    let place = Place::laid_out();
    for net in ways() {
        let keys = json!({"stop": {"duration_ns": 3600 * SECOND}, "net": net});
        let plan = plan(place.text(), &json!([read("${any}", 4096)]), &keys);
        let began = Instant::now();
        let (finished, measured) = broken_off(&plan, Duration::from_millis(300));
        assert_eq!(finished, engine::Finished::Interrupted);
        assert!(began.elapsed().as_secs() < 3);
        assert!(measured.outcomes()[0] > 0);
    }
}

/// A file whose every order takes a millisecond, four at a time.
fn simulated(operations: &Value, keys: &Value, misdeeds: &Value) -> Measured {
    let mut plan = plan("simulated", operations, keys);
    plan["driver"]["size_bytes"] = json!(256 * KIB);
    plan["net"] = json!("sim");
    plan["sim"] =
        json!({"service": {"constant_ns": MILLISECOND}, "servers": 4, "misdeeds": misdeeds});
    measure(&plan)
}

#[test]
fn a_simulated_disk_is_exact() {
    let measured = simulated(&json!([read("${any}", 4096)]), &json!({}), &json!({}));
    assert_eq!(measured.outcomes(), [64, 0, 0, 0]);
    assert_eq!(measured.notes("end")[0]["elapsed_ns"], 16 * MILLISECOND);
    let within = |nanos: u64| (nanos as f64 / MILLISECOND as f64 - 1.0).abs() < 0.001;
    assert!(within(measured.quantile_ns(Field::Service, 1.0)));
    // Eight clients of a disk that does four things at once wait as long as they are served.
    let keys = json!({"schedule": {"closed": {"clients": 8}}});
    let measured = simulated(&json!([write("next", 4096)]), &keys, &json!({}));
    assert_eq!(measured.notes("end")[0]["elapsed_ns"], 16 * MILLISECOND);
}

#[test]
fn what_a_disk_does_wrong_is_counted_as_what_it_was() {
    let misdeeds =
        json!({"2": "close", "9": "cut", "16": "garbage", "23": "silence", "30": "error"});
    let keys = json!({"timeout_ns": SECOND});
    for operation in [read("${any}", 4096), write("${any}", 4096)] {
        let measured = simulated(&json!([operation]), &keys, &misdeeds);
        assert_eq!(measured.outcomes(), [59, 2, 1, 2], "{:?}", measured.messages());
        let messages: Vec<String> = measured.messages().into_iter().collect();
        for text in [
            "an answer that does not fit the order",
            "connection closed before the answer",
            "connection closed within the answer",
            "Input/output error (os error 5)",
            "no answer within the time-out",
        ] {
            assert!(messages.iter().any(|message| message == text), "{messages:?}");
        }
    }
}
