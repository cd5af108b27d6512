//! memcached.

use std::io::Read;
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{Protocol, simulated_misdeeds};

const ANSWER: &[u8] = b"VALUE k 0 5\r\nhello\r\nEND\r\n";
const REQUEST: &[u8] = b"get k\r\n";
const MEMCACHED: Protocol = Protocol { keys, open: |_| Some(()), request };

fn keys(address: &str) -> Value {
    json!({
        "driver": {"kind": "memcached", "targets": [format!("memcached://{address}")]},
        "workload": {"transactions": [{"name": "page", "operations": [
            {"name": "get", "request": {"command": ["get", "k"]}}]}]},
    })
}

fn request(stream: &mut TcpStream) -> Option<()> {
    let mut bytes = [0; REQUEST.len()];
    stream.read_exact(&mut bytes).ok()?;
    assert_eq!(bytes, REQUEST);
    Some(())
}

#[test]
fn a_connection_lost_after_sending_is_unknown() {
    for (name, address, message) in [
        ("close before", MEMCACHED.closing(b""), "closed before the answer"),
        ("close within a line", MEMCACHED.closing(b"VALUE k"), "closed within the answer"),
        ("close within a value", MEMCACHED.closing(&ANSWER[..15]), "closed within the answer"),
        ("close before the end", MEMCACHED.closing(&ANSWER[..20]), "closed within the answer"),
        ("too short", MEMCACHED.closing(b"VA 6\r\nhello\r\n"), "closed within the answer"),
        ("reset", MEMCACHED.resetting(), "connection reset"),
    ] {
        MEMCACHED.expect(name, &address, [0, 0, 0, 6], message);
    }
}

#[test]
fn what_is_no_right_answer_is_failed() {
    for (name, bytes, message) in [
        ("garbage", &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "begins as none does"),
        ("two answers", b"END\r\nEND\r\n", "nobody asked for"),
        ("too long", b"VALUE k 0 3\r\nabcdef\r\nEND\r\n", "without CR LF"),
        ("a length beyond measure", b"VALUE k 0 99999999999999999999\r\n", "beyond 1 GiB"),
        ("a length that is none", b"VA x\r\n", "without its length"),
        ("an error", b"SERVER_ERROR out of memory\r\n", "SERVER_ERROR out of memory"),
        ("an error behind a value", b"VA 1\r\nx\r\nERROR\r\n", "nobody asked for"),
    ] {
        MEMCACHED.expect(name, &MEMCACHED.answering(bytes), [0, 6, 0, 0], message);
    }
}

#[test]
fn what_does_not_come_in_time_is_timed_out() {
    for (name, bytes) in [
        ("silence", &b""[..]),
        ("half an answer", &ANSWER[..6]),
        ("a value without an end", b"VALUE k 0 1\r\nx\r\n"),
        ("a huge length", b"VALUE k 0 1073741824\r\nx"),
    ] {
        MEMCACHED.expect(name, &MEMCACHED.answering(bytes), [0, 0, 6, 0], "time-out");
    }
}

#[test]
fn slow_servers_are_served_all_the_same() {
    MEMCACHED.expect("byte by byte", &MEMCACHED.dripping(ANSWER), [6, 0, 0, 0], "");
}

#[test]
fn answers_without_a_question_are_noticed() {
    MEMCACHED.expect_eager(ANSWER);
}

#[test]
fn simulated_misdeeds_have_the_same_outcomes() {
    simulated_misdeeds(&keys("sim"));
}
