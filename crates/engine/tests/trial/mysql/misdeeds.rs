//! Servers that misbehave: each outcome is counted as what it was, and nothing panics or hangs.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use wire::mysql::{Served, Server, Table};

use crate::laboratory::{MILLISECOND, Measured, SECOND, measure, measure_each, plan};
use crate::misdeeds::{CLOSED, OPEN, reset, server};

/// What is done instead of answering a statement as one should; whether the connection goes on.
type Deed = fn(&mut TcpStream, &[u8]) -> bool;

/// A server that logs in and prepares as one should, and then does this.
fn doing(deed: Deed) -> String {
    server(move |mut stream| {
        stream.set_nodelay(true).unwrap();
        let table = Table::new(&["id", "name"], &[(1, "one")]);
        let (mut session, mut out, mut buffer) = (Server::default(), Vec::new(), [0; 4096]);
        session.greet(&mut out);
        loop {
            let (sent, read) = (stream.write_all(&out), stream.read(&mut buffer));
            let (Ok(()), Ok(count @ 1..)) = (sent, read) else { return };
            out.clear();
            let mut input = &buffer[..count];
            loop {
                let before = out.len();
                match session.serve(&table, &mut input, &mut out) {
                    Ok(Served::More) => break,
                    Ok(Served::Aside | Served::Secure) => {}
                    Ok(Served::Request) => {
                        let answer = out.split_off(before);
                        if !deed(&mut stream, &answer) {
                            return;
                        }
                    }
                    Ok(Served::Farewell) | Err(_) => return,
                }
            }
        }
    })
}

/// Six transactions against the server, by this schedule and each provider, each in 300 ms.
fn trial(address: &str, schedule: &Value, protocol: &str) -> Vec<Measured> {
    let keys = json!({
        "driver": {"kind": "mysql", "targets": [format!("mysql://{address}")], "user": "joe",
                   "protocol": protocol},
        "workload": {"values": {"id": {"constant": 1}}, "transactions": [
            {"name": "page", "operations": [{
                "name": "get",
                "request": {"sql": "SELECT id, name FROM t WHERE id = ${id}"},
                "expect": {"rows": "1", "first": "1"}}]}]},
        "schedule": schedule, "stop": {"transactions": 6}, "timeout_ns": 300 * MILLISECOND,
    });
    measure_each(&plan(address, keys))
}

/// The outcomes (ok, failed, timed out, unknown) and what the messages say, whichever the
/// protocol, the schedule and the provider.
fn expect(name: &str, deed: Deed, outcomes: [u64; 4], message: &str) {
    let address = doing(deed);
    for (schedule, protocol) in [(CLOSED(), "prepared"), (OPEN(), "prepared"), (CLOSED(), "text")] {
        for measured in trial(&address, &schedule, protocol) {
            let messages = measured.messages();
            assert_eq!(measured.outcomes(), outcomes, "{name}: {messages:?}");
            let told = messages.iter().any(|text| text.contains(message));
            assert!(told || message.is_empty(), "{name}: {messages:?}");
            assert_eq!(measured.open(), 0, "{name}");
        }
    }
}

fn send(stream: &mut TcpStream, bytes: &[u8]) -> bool {
    stream.write_all(bytes).is_ok()
}

/// The answer, changed.
fn changed(stream: &mut TcpStream, answer: &[u8], change: impl Fn(&mut Vec<u8>)) -> bool {
    let mut answer = answer.to_vec();
    change(&mut answer);
    send(stream, &answer)
}

#[test]
fn what_is_right_is_right_however_it_comes() {
    expect("as it should be", send, [6, 0, 0, 0], "");
    let byte_by_byte: Deed = |stream, answer| answer.iter().all(|&byte| send(stream, &[byte]));
    expect("byte by byte", byte_by_byte, [6, 0, 0, 0], "");
}

#[test]
fn a_connection_lost_after_sending_is_unknown() {
    expect("close before", |_, _| false, [0, 0, 0, 6], "connection closed");
    let cut: Deed = |stream, answer| {
        send(stream, &answer[..answer.len() / 2]);
        false
    };
    expect("close within", cut, [0, 0, 0, 6], "connection closed");
    let resetting: Deed = |stream, _| {
        reset(stream);
        false
    };
    expect("reset", resetting, [0, 0, 0, 6], "connection reset");
}

#[test]
fn what_is_no_right_answer_is_failed() {
    let twice: Deed = |stream, answer| send(stream, &[answer, answer].concat());
    expect("two answers at once", twice, [0, 6, 0, 0], "nobody asked for");
    let garbage: Deed = |stream, _| send(stream, b"\x05\0\0\x01\x16\x03\x01\x02\x03");
    expect("garbage", garbage, [0, 6, 0, 0], "not a MySQL answer");
    let html: Deed = |stream, _| {
        send(
            stream,
            b"<\0\0<html>it is not here, nor anywhere at all, \
        whoever may be asking for it",
        )
    };
    expect("another protocol", html, [0, 6, 0, 0], "packet 60 where 1 should be");
    let number: Deed = |stream, answer| changed(stream, answer, |answer| answer[3] = 7);
    expect("a wrong number", number, [0, 6, 0, 0], "packet 7 where 1 should be");
    let short: Deed = |stream, answer| changed(stream, answer, |answer| answer[0] -= 1);
    expect("too short a length", short, [0, 6, 0, 0], "");
    let refusal: Deed = |stream, _| send(stream, b"\x0b\0\0\x01\xff\x51\x04#HY000No");
    expect("a refusal", refusal, [0, 6, 0, 0], "1105 (HY000): No");
    let nothing: Deed = |stream, _| send(stream, b"\x07\0\0\x01\0\0\0\x02\0\0\0");
    expect("done, without a row", nothing, [0, 6, 0, 0], "no row");
    let file: Deed = |stream, _| send(stream, b"\x0c\0\0\x01\xfb/etc/passwd");
    expect("a wish for a file", file, [0, 6, 0, 0], "asks for a local file");
}

#[test]
fn what_does_not_come_in_time_is_timed_out() {
    expect("silence", |_, _| true, [0, 0, 6, 0], "time-out");
    let half: Deed = |stream, answer| send(stream, &answer[..answer.len() - 3]);
    expect("half an answer", half, [0, 0, 6, 0], "time-out");
    let huge: Deed = |stream, _| send(stream, b"\xff\xff\xff\x01\x02");
    expect("a huge length", huge, [0, 0, 6, 0], "time-out");
    let endless: Deed =
        |stream, answer| changed(stream, answer, |answer| answer.truncate(answer.len() - 11));
    expect("rows without an end", endless, [0, 0, 6, 0], "time-out");
}

#[test]
fn answers_without_a_question_are_noticed() {
    let eager = server(|mut stream| {
        let mut session = Server::default();
        let mut out = Vec::new();
        session.greet(&mut out);
        // The log-in's OK, and what answers a statement that nobody has sent.
        out.extend_from_slice(b"\x07\0\0\x02\0\0\0\x02\0\0\0\x07\0\0\x01\0\0\0\x02\0\0\0");
        let _client_may_be_gone = stream.write_all(&out);
        let _until_the_client_goes = stream.read_to_end(&mut Vec::new());
    });
    for protocol in ["prepared", "text"] {
        for measured in trial(&eager, &CLOSED(), protocol) {
            assert_eq!(measured.outcomes(), [0, 6, 0, 0], "{:?}", measured.messages());
        }
    }
}

#[test]
fn an_opening_that_goes_wrong_is_what_its_transactions_come_to() {
    for (name, greeting, outcomes, message) in [
        ("silence", &b""[..], [0, 0, 6, 0], "time-out"),
        ("a huge length", b"\xff\xff\xff\0\x0a", [0, 0, 6, 0], "time-out"),
        ("another protocol", b"HTTP/1.1 400 Bad Request\r\n\r\n", [0, 0, 6, 0], "time-out"),
        ("another version", b"\x02\0\0\0\x09\0", [0, 6, 0, 0], "protocol version 9"),
        ("too many", b"\x0b\0\0\0\xff\x10\x04Too many", [0, 6, 0, 0], "1040 (HY000): Too many"),
        ("cut", b"\x04\0\0\0\x0a5\0\x01", [0, 6, 0, 0], "a packet ends too early"),
    ] {
        let greeting: &'static [u8] = greeting;
        let address = server(move |mut stream| {
            if stream.write_all(greeting).is_ok() {
                let _until_the_client_goes = stream.read_to_end(&mut Vec::new());
            }
        });
        for measured in trial(&address, &CLOSED(), "prepared") {
            let messages = measured.messages();
            assert_eq!(measured.outcomes(), outcomes, "{name}: {messages:?}");
            assert!(messages.iter().any(|text| text.contains(message)), "{name}: {messages:?}");
        }
    }
}

#[test]
fn simulated_misdeeds_have_the_same_outcomes() {
    let sim = json!({
        "service": {"constant_ns": MILLISECOND}, "latency_ns": 100_000,
        "misdeeds": {"2": "close", "5": "cut", "8": "garbage", "11": "silence", "14": "error"},
    });
    let keys = json!({
        "driver": {"kind": "mysql", "targets": ["mysql://sim"], "user": "joe"},
        "workload": {"transactions": [{"name": "page", "operations": [
            {"name": "get", "request": {"sql": "SELECT id, name FROM t"},
             "expect": {"rows": "1", "first": "1"}}]}]},
        "net": "sim", "sim": sim,
        "schedule": CLOSED(), "stop": {"transactions": 30}, "timeout_ns": SECOND,
    });
    let measured = measure(&plan("sim", keys));
    // This garbage announces a packet longer than it is, so that it is waited for.
    assert_eq!(measured.outcomes(), [25, 1, 2, 2], "{:?}", measured.messages());
}
