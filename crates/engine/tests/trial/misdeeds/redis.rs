//! Redis.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use wire::redis::{Commands, write};

use super::{Protocol, server, simulated_misdeeds};

const ANSWER: &[u8] = b"$5\r\nhello\r\n";
const REQUEST: &[u8] = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
const REDIS: Protocol = Protocol { keys, open: |_| Some(()), request };

fn keys(address: &str) -> Value {
    json!({
        "driver": {"kind": "redis", "targets": [format!("redis://{address}")]},
        "workload": {"transactions": [{"name": "page", "operations": [
            {"name": "get", "request": {"command": ["GET", "k"]}}]}]},
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
        ("close before", REDIS.closing(b""), "closed before the answer"),
        ("close within the length", REDIS.closing(b"$1"), "closed within the answer"),
        ("too short", REDIS.closing(b"$6\r\nhello\r\n"), "closed within the answer"),
        ("reset", REDIS.resetting(), "connection reset"),
    ] {
        REDIS.expect(name, &address, [0, 0, 0, 6], message);
    }
}

#[test]
fn what_is_no_right_answer_is_failed() {
    for (name, bytes, message) in [
        ("garbage", &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "no Redis reply begins with `H`"),
        ("two answers", b"$1\r\na\r\n$1\r\nb\r\n", "nobody asked for"),
        ("too long", b"$3\r\nabcdef\r\n", "without CR LF"),
        ("a length beyond measure", b"$99999999999999999999\r\n", "longer than 512 MiB"),
        ("a number that is none", b"$x\r\n", "a number in a Redis reply is none"),
        ("an error", b"-LOADING Redis is loading\r\n", "LOADING Redis is loading"),
        ("an error among others", b"*2\r\n+OK\r\n-WRONGTYPE no\r\n", "WRONGTYPE no"),
    ] {
        REDIS.expect(name, &REDIS.answering(bytes), [0, 6, 0, 0], message);
    }
}

#[test]
fn what_does_not_come_in_time_is_timed_out() {
    for (name, bytes) in [
        ("silence", &b""[..]),
        ("half an answer", &ANSWER[..6]),
        ("a huge length", b"$536870912\r\nx"),
        ("a huge array", b"*536870912\r\n$1\r\nx\r\n"),
        ("messages that answer nothing", b">2\r\n+invalidate\r\n_\r\n"),
    ] {
        REDIS.expect(name, &REDIS.answering(bytes), [0, 0, 6, 0], "time-out");
    }
}

#[test]
fn slow_and_talkative_servers_are_served_all_the_same() {
    REDIS.expect("byte by byte", &REDIS.dripping(ANSWER), [6, 0, 0, 0], "");
    let pushing = b">1\r\n+news\r\n|1\r\n+a\r\n+b\r\n$1\r\nx\r\n";
    REDIS.expect("pushes and attributes", &REDIS.answering(pushing), [6, 0, 0, 0], "");
}

#[test]
fn answers_without_a_question_are_noticed() {
    REDIS.expect_eager(ANSWER);
}

const CLUSTER: Protocol = Protocol { keys: keys_of_a_cluster, open: |_| Some(()), request };

fn keys_of_a_cluster(address: &str) -> Value {
    let mut keys = keys(address);
    keys["driver"]["cluster"] = true.into();
    keys
}

/// A node that gives one answer about its slots, another to `ASKING`, and a third to the rest;
/// `PORT` in it stands for its own.
fn node(slots: &'static [u8], asking: &'static [u8], error: &'static str) -> String {
    server(move |mut stream| {
        let port = stream.local_addr().unwrap().port().to_string();
        let mut answer = Vec::new();
        write::error(&error.replace("PORT", &port), &mut answer);
        let (mut commands, mut bytes, mut out) = (Commands::default(), [0; 4096], Vec::new());
        while let Ok(count @ 1..) = stream.read(&mut bytes) {
            let mut input = &bytes[..count];
            while let Some(command) = commands.next(&mut input).unwrap() {
                out.extend_from_slice(match command.name() {
                    b"CLUSTER" => slots,
                    b"ASKING" => asking,
                    _ => &answer,
                });
            }
            let _client_may_be_gone = stream.write_all(&out);
            out.clear();
        }
    })
}

#[test]
fn nodes_that_send_everybody_elsewhere_are_not_asked_forever() {
    for (name, slots, asking, error, message) in [
        ("in a circle", "*0\r\n", "+OK\r\n", "MOVED 1 :PORT", "MOVED 1 :"),
        ("once, in a circle", "*0\r\n", "+OK\r\n", "ASK 1 127.0.0.1:PORT", "ASK 1 127.0.0.1:"),
        ("asking refused", "*0\r\n", "-ERR no\r\n", "ASK 1 :PORT", "ASK 1 :"),
        ("to nobody", "*0\r\n", "", "MOVED 1 127.0.0.9:1", "127.0.0.9:1: no target of the Plan"),
        ("to no place", "*0\r\n", "", "MOVED 1 there", "MOVED 1 there"),
        ("to no slot", "*0\r\n", "", "MOVED 99999 :PORT", "MOVED 99999 :"),
        ("slots that are none", "*1\r\n*1\r\n:70000\r\n", "", "ERR no", "ERR no"),
        ("no cluster", "-ERR cluster support disabled\r\n", "", "", "cluster support disabled"),
    ] {
        let address = node(slots.as_bytes(), asking.as_bytes(), error);
        CLUSTER.expect(name, &address, [0, 6, 0, 0], message);
    }
}

#[test]
fn simulated_misdeeds_have_the_same_outcomes() {
    simulated_misdeeds(&keys("sim"));
}
