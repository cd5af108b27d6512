//! LDAP.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{Protocol, simulated_misdeeds};

/// To the second request of a connection, the first being its bind.
const ANSWER: &[u8] = b"\x30\x0c\x02\x01\x02\x65\x07\x0a\x01\x00\x04\x00\x04\x00";
const BIND: &[u8] = b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00";
const BOUND: &[u8] = b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00";
/// A search of the whole of nothing for `c=*`.
const REQUEST_BYTES: usize = 29;

const LDAP: Protocol = Protocol { keys, open, request };
/// With a connection each, every request is the second on its own.
const ONCE: Protocol = Protocol { keys: once, open, request };

fn keys(address: &str) -> Value {
    json!({
        "driver": {"kind": "ldap", "targets": [format!("ldap://{address}")]},
        "workload": {"transactions": [{"name": "page", "operations": [
            {"name": "get", "request": {"ldap": {"search": {"base": "", "filter": "(c=*)"}}}}]}]},
    })
}

fn once(address: &str) -> Value {
    let mut keys = keys(address);
    keys["connection"] = json!("new");
    keys
}

fn open(stream: &mut TcpStream) -> Option<()> {
    let mut bytes = [0; BIND.len()];
    stream.read_exact(&mut bytes).ok()?;
    assert_eq!(bytes, BIND);
    stream.write_all(BOUND).ok()
}

fn request(stream: &mut TcpStream) -> Option<()> {
    let mut bytes = [0; REQUEST_BYTES];
    stream.read_exact(&mut bytes).ok()?;
    assert_eq!(bytes[1] as usize + 2, REQUEST_BYTES);
    Some(())
}

#[test]
fn a_connection_lost_after_sending_is_unknown() {
    for (name, address, message) in [
        ("close before", LDAP.closing(b""), "closed before the answer"),
        ("close within the length", LDAP.closing(b"\x30"), "closed within the answer"),
        ("too short", LDAP.closing(&ANSWER[..ANSWER.len() - 1]), "closed within the answer"),
        (
            "close between entries",
            LDAP.closing(b"\x30\x0a\x02\x01\x02\x64\x05\x04\x01x\x30\x00"),
            "closed before the answer",
        ),
        ("reset", LDAP.resetting(), "connection reset"),
    ] {
        LDAP.expect(name, &address, [0, 0, 0, 6], message);
    }
}

#[test]
fn what_is_no_right_answer_is_failed() {
    for (name, bytes, message) in [
        ("garbage", &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "no LDAP message begins with `H`"),
        (
            "two answers",
            b"\x30\x0c\x02\x01\x02\x65\x07\x0a\x01\x00\x04\x00\x04\x00\
              \x30\x0c\x02\x01\x02\x65\x07\x0a\x01\x00\x04\x00\x04\x00",
            "nobody asked for",
        ),
        (
            "another's number",
            b"\x30\x0c\x02\x01\x09\x65\x07\x0a\x01\x00\x04\x00\x04\x00",
            "number 9, under which nothing was asked",
        ),
        (
            "another kind of answer",
            b"\x30\x0c\x02\x01\x02\x67\x07\x0a\x01\x00\x04\x00\x04\x00",
            "another kind of request",
        ),
        (
            "an element longer than its message",
            b"\x30\x0c\x02\x01\x02\x65\x09\x0a\x01\x00\x04\x00\x04\x00",
            "a malformed LDAP message",
        ),
        ("a length beyond measure", b"\x30\x88\xff\xff\xff\xff\xff\xff\xff\xff", "bytes"),
        ("a length without end", b"\x30\x80", "a length that no LDAP message has"),
        (
            "a notice of disconnection",
            b"\x30\x2a\x02\x01\x00\x78\x25\x0a\x01\x34\x04\x00\x04\x06bye me\
              \x8a\x161.3.6.1.4.1.1466.20036",
            "unavailable (52): bye me",
        ),
    ] {
        LDAP.expect(name, &LDAP.answering(bytes), [0, 6, 0, 0], message);
    }
    let busy = b"\x30\x11\x02\x01\x02\x65\x0c\x0a\x01\x33\x04\x00\x04\x05later";
    ONCE.expect("an error", &ONCE.answering(busy), [0, 6, 0, 0], "busy (51): later");
    let referred =
        b"\x30\x16\x02\x01\x02\x65\x11\x0a\x01\x0a\x04\x00\x04\x00\xa3\x08\x04\x06ldap:/";
    ONCE.expect("a referral", &ONCE.answering(referred), [0, 6, 0, 0], "referral (10) at ldap:/");
}

#[test]
fn what_does_not_come_in_time_is_timed_out() {
    for (name, bytes) in [
        ("silence", &b""[..]),
        ("half an answer", &ANSWER[..7]),
        ("a huge length", b"\x30\x84\x03\xff\xff\xf0\x02"),
        ("entries without end", b"\x30\x0a\x02\x01\x02\x64\x05\x04\x01x\x30\x00"),
        ("what answers nothing", b"\x30\x0d\x02\x01\x00\x78\x08\x0a\x01\x00\x04\x01.\x04\x00"),
    ] {
        LDAP.expect(name, &LDAP.answering(bytes), [0, 0, 6, 0], "time-out");
    }
}

#[test]
fn slow_servers_are_served_all_the_same() {
    ONCE.expect("byte by byte", &ONCE.dripping(ANSWER), [6, 0, 0, 0], "");
}

#[test]
fn answers_without_a_question_are_noticed() {
    LDAP.expect_eager(ANSWER);
}

#[test]
fn simulated_misdeeds_have_the_same_outcomes() {
    simulated_misdeeds(&keys("sim"));
}
