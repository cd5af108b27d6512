//! HTTP/1.1.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use serde_json::json;
use tally::{Counter, Kind};

use super::{CLOSED, OPEN, Protocol, simulated_misdeeds};
use crate::laboratory::{MILLISECOND, SECOND, measure_each, plan};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const HTTP: Protocol = Protocol { keys: |_| json!({}), open: |_| Some(()), request };

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

#[test]
fn a_connection_lost_after_sending_is_unknown() {
    for (name, address, message) in [
        ("close before", HTTP.closing(b""), "closed before the answer"),
        ("close within the head", HTTP.closing(&ANSWER[..20]), "closed within the answer"),
        ("too short", HTTP.closing(&ANSWER[..ANSWER.len() - 1]), "closed within the answer"),
        ("reset", HTTP.resetting(), "connection reset"),
    ] {
        HTTP.expect(name, &address, [0, 0, 0, 6], message);
    }
}

#[test]
fn what_is_no_right_answer_is_failed() {
    for (name, bytes, message) in [
        ("garbage", &b"\x16\x03\x01\x02\r\n\r\n"[..], "not an HTTP head"),
        (
            "two answers",
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n\
              HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "nobody asked for",
        ),
        ("too long", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", "nobody asked for"),
        (
            "a length beyond measure",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "Content-Length",
        ),
        ("an error", b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", "status 503"),
    ] {
        HTTP.expect(name, &HTTP.answering(bytes), [0, 6, 0, 0], message);
    }
}

#[test]
fn what_does_not_come_in_time_is_timed_out() {
    for (name, bytes) in [
        ("silence", &b""[..]),
        ("half an answer", &ANSWER[..30]),
        ("a huge length", b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx"),
    ] {
        HTTP.expect(name, &HTTP.answering(bytes), [0, 0, 6, 0], "time-out");
    }
}

#[test]
fn slow_and_forgetful_servers_are_served_all_the_same() {
    HTTP.expect("byte by byte", &HTTP.dripping(ANSWER), [6, 0, 0, 0], "");
    for measured in HTTP.against(&HTTP.closing(ANSWER)) {
        // A close that has not been noticed yet when the next request is sent makes that unknown.
        let [ok, failed, timed_out, unknown] = measured.outcomes();
        assert_eq!((ok + unknown, failed, timed_out), (6, 0, 0), "{:?}", measured.messages());
        assert!(ok >= 2);
    }
    let announced = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    HTTP.expect("an announced close", &HTTP.closing(announced), [6, 0, 0, 0], "");
    let until_close = HTTP.closing(b"HTTP/1.1 200 OK\r\n\r\nall there is");
    HTTP.expect("a body until the close", &until_close, [6, 0, 0, 0], "");
}

#[test]
fn answers_without_a_question_are_noticed() {
    HTTP.expect_eager(ANSWER);
}

#[test]
fn refused_connections_fail_and_do_not_keep_the_worker_busy() {
    // A client's own port is taken, so that nobody else comes to listen on it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let gone = client.local_addr().unwrap().to_string();
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
    HTTP.expect("a full accept queue", &address, [0, 0, 6, 0], "time-out");
}

#[test]
fn simulated_misdeeds_have_the_same_outcomes() {
    simulated_misdeeds(&json!({}));
}
