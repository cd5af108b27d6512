//! Servers that misbehave: each outcome is counted as what it was, and nothing panics or hangs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;

use serde_json::{Value, json};
use tally::{Counter, Kind};

use crate::laboratory::{MILLISECOND, Measured, SECOND, measure, measure_each, plan, simulated};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server whose connections are each handed to `behave`; its threads end with the test's process
/// or when the client closes.
pub fn server(behave: impl Fn(TcpStream) + Send + Sync + Copy + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || behave(stream));
        }
    });
    address
}

/// Reads a request; `None` when the client has closed.
fn request(stream: &mut TcpStream) -> Option<()> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        bytes.push(byte[0]);
    }
    Some(())
}

/// Answers each request with these bytes, and leaves the connection open.
fn answering(stream: &mut TcpStream, bytes: &[u8]) {
    while request(stream).is_some() && stream.write_all(bytes).is_ok() {}
}

/// Answers the first request with these bytes and closes.
fn closing(stream: &mut TcpStream, bytes: &[u8]) {
    if request(stream).is_some() {
        let _client_may_be_gone = stream.write_all(bytes);
    }
}

pub fn reset(stream: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the descriptor is open and `linger` is a valid linger of the size given.
    let status = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    };
    assert_eq!(status, 0);
}

pub const CLOSED: fn() -> Value = || json!({"closed": {"clients": 2}});
pub const OPEN: fn() -> Value = || {
    json!({"open": {"connections": 6, "shape": [
        {"from_per_second": 1000, "to_per_second": 1000, "length_ns": SECOND}]}})
};

/// Six transactions against the server, by each schedule and provider, with a time-out of 100 ms.
fn against(address: &str) -> Vec<Measured> {
    let schedules = [CLOSED(), OPEN()];
    let trial = |schedule| {
        let keys = json!({
            "schedule": schedule, "stop": {"transactions": 6},
            "timeout_ns": 100 * MILLISECOND,
        });
        measure_each(&plan(address, keys))
    };
    schedules.into_iter().flat_map(trial).collect()
}

/// The outcomes (ok, failed, timed out, unknown) and what the first message says.
fn expect(name: &str, address: &str, outcomes: [u64; 4], message: &str) {
    for measured in against(address) {
        assert_eq!(measured.outcomes(), outcomes, "{name}: {:?}", measured.messages());
        let messages = measured.messages();
        let told = messages.iter().any(|text| text.contains(message));
        assert!(told || message.is_empty(), "{name}: {messages:?}");
        assert_eq!(measured.open(), 0, "{name}");
    }
}

#[test]
fn a_connection_lost_after_sending_is_unknown() {
    let before = server(|mut stream| closing(&mut stream, b""));
    expect("close before", &before, [0, 0, 0, 6], "closed before the answer");
    let within = server(|mut stream| closing(&mut stream, &ANSWER[..20]));
    expect("close within the head", &within, [0, 0, 0, 6], "closed within the answer");
    let short = server(|mut stream| closing(&mut stream, &ANSWER[..ANSWER.len() - 1]));
    expect("too short a body", &short, [0, 0, 0, 6], "closed within the answer");
    let resetting = server(|mut stream| {
        if request(&mut stream).is_some() {
            reset(&stream);
        }
    });
    expect("reset", &resetting, [0, 0, 0, 6], "connection reset");
}

#[test]
fn what_is_no_right_answer_is_failed() {
    let garbage = server(|mut stream| answering(&mut stream, b"\x16\x03\x01\x02\r\n\r\n"));
    expect("garbage", &garbage, [0, 6, 0, 0], "not an HTTP head");
    let twice = server(|mut stream| answering(&mut stream, &[ANSWER, ANSWER].concat()));
    expect("two answers", &twice, [0, 6, 0, 0], "nobody asked for");
    let long = server(|mut stream| answering(&mut stream, &[ANSWER, b"!"].concat()));
    expect("too long a body", &long, [0, 6, 0, 0], "nobody asked for");
    let beyond = server(|mut stream| {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n";
        answering(&mut stream, head);
    });
    expect("a length beyond measure", &beyond, [0, 6, 0, 0], "Content-Length");
    let error = server(|mut stream| {
        answering(&mut stream, b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
    });
    expect("an error", &error, [0, 6, 0, 0], "status 503");
}

#[test]
fn what_does_not_come_in_time_is_timed_out() {
    let silent = server(|mut stream| answering(&mut stream, b""));
    expect("silence", &silent, [0, 0, 6, 0], "time-out");
    let half = server(|mut stream| answering(&mut stream, &ANSWER[..30]));
    expect("half an answer", &half, [0, 0, 6, 0], "time-out");
    let huge = server(|mut stream| {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx";
        answering(&mut stream, head);
    });
    expect("a huge length", &huge, [0, 0, 6, 0], "time-out");
}

#[test]
fn slow_and_forgetful_servers_are_served_all_the_same() {
    let dripping = server(|mut stream| {
        stream.set_nodelay(true).unwrap();
        while request(&mut stream).is_some() {
            for byte in ANSWER {
                if stream.write_all(&[*byte]).is_err() {
                    return;
                }
            }
        }
    });
    expect("byte by byte", &dripping, [6, 0, 0, 0], "");
    let closing_after = server(|mut stream| closing(&mut stream, ANSWER));
    for measured in against(&closing_after) {
        // A close that has not been noticed yet when the next request is sent makes that unknown.
        let [ok, failed, timed_out, unknown] = measured.outcomes();
        assert_eq!((ok + unknown, failed, timed_out), (6, 0, 0), "{:?}", measured.messages());
        assert!(ok >= 2);
    }
    let announced = server(|mut stream| {
        let head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
        closing(&mut stream, head);
    });
    expect("an announced close", &announced, [6, 0, 0, 0], "");
    let until_close =
        server(|mut stream| closing(&mut stream, b"HTTP/1.1 200 OK\r\n\r\nall there is"));
    expect("a body until the close", &until_close, [6, 0, 0, 0], "");
}

#[test]
fn answers_without_a_question_are_noticed() {
    let eager = server(|mut stream| {
        let _client_may_be_gone = stream.write_all(ANSWER);
        answering(&mut stream, b"");
    });
    for measured in against(&eager) {
        let messages = measured.messages();
        assert!(messages.iter().any(|m| m.contains("nobody asked for")), "{messages:?}");
        assert_eq!(measured.outcomes().iter().sum::<u64>() + measured.open(), 6);
    }
}

#[test]
fn refused_connections_fail_and_do_not_keep_the_worker_busy() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for schedule in [CLOSED(), OPEN()] {
        for connection in ["kept", "new"] {
            let keys = json!({
                "schedule": schedule, "stop": {"duration_ns": SECOND / 2},
                "timeout_ns": 100 * MILLISECOND, "connection": connection,
            });
            for measured in measure_each(&plan(&gone, keys)) {
                let [ok, failed, timed_out, unknown] = measured.outcomes();
                assert_eq!((ok, timed_out, unknown), (0, 0, 0));
                // Connections that back off to a tenth of a second try about a dozen times each.
                assert!((4..120).contains(&failed), "{failed} failed");
                let tried = measured.count(Kind::Operation, "connect", Counter::Failed);
                assert!((4..120).contains(&tried), "{tried} attempts");
                assert_eq!(measured.messages(), ["connection refused".to_owned()].into());
            }
        }
    }
}

#[test]
fn a_full_accept_queue_is_timed_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // SAFETY: the descriptor is a listening socket; listening again shrinks its queue.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    let address = listener.local_addr().unwrap().to_string();
    // Whoever waits in the queue fills it.
    let _waiting = TcpStream::connect(&address).unwrap();
    expect("a full accept queue", &address, [0, 0, 6, 0], "time-out");
}

#[test]
fn simulated_misdeeds_have_the_same_outcomes() {
    let sim = json!({
        "service": {"constant_ns": MILLISECOND}, "latency_ns": 100_000,
        "misdeeds": {"2": "close", "5": "cut", "8": "garbage", "11": "silence", "14": "error"},
    });
    for schedule in [CLOSED(), OPEN()] {
        let keys = json!({
            "schedule": schedule, "stop": {"transactions": 30}, "timeout_ns": SECOND,
        });
        let measured = measure(&simulated(&sim, keys));
        assert_eq!(measured.outcomes(), [25, 2, 1, 2], "{:?}", measured.messages());
        assert_eq!(measured.messages().len(), 5);
        let longest = measured.count(Kind::Transaction, "page", Counter::MaxService);
        assert!(longest < SECOND, "what timed out is among the successes");
    }
}
