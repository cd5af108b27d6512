//! Writes a request and reads its answer, over and over, with one protocol's codec.
//!
//! `codecs PROTOCOL COUNT`: what COUNT exchanges cost is told by whoever runs it. Absent: any
//! I/O, and checks of what was answered beyond that it was understood.

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;

use wire::{http, memcached, mysql, postgresql, redis};

const VALUE: [u8; 100] = [b'v'; 100];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [protocol, count] = arguments.as_slice() else { return usage() };
    let Ok(count) = count.parse() else { return usage() };
    let understood = match protocol.as_str() {
        "http" => http(count, &["Tue, 01 Jan 2030 00:00:00 GMT"]),
        "http-changing" => {
            http(count, &["Tue, 01 Jan 2030 00:00:00 GMT", "Tue, 01 Jan 2030 00:00:01 GMT"])
        }
        "memcached" => memcached(count),
        "mysql" => mysql(count),
        "postgresql" => postgresql(count),
        "redis" => redis(count),
        _ => return usage(),
    };
    match understood {
        Ok(understood) if understood == count => ExitCode::SUCCESS,
        Ok(understood) => fail(&format!("{understood} of {count} answers were understood")),
        Err(error) => fail(&error.to_string()),
    }
}

fn usage() -> ExitCode {
    fail("usage: codecs http|http-changing|memcached|mysql|postgresql|redis COUNT")
}

fn fail(why: &str) -> ExitCode {
    eprintln!("codecs: {why}");
    ExitCode::FAILURE
}

/// GET and a short page; the heads of the answers differ by their dates, which take turns.
fn http(count: u64, dates: &[&str]) -> Result<u64, Box<dyn Error>> {
    let answer = |date: &&str| {
        let head = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nContent-Type: text/plain\r\n";
        format!("{head}Date: {date}\r\nContent-Length: 11\r\n\r\nhello world")
    };
    let answers: Vec<String> = dates.iter().map(answer).collect();
    let (mut reader, mut heads) = (http::Responses::default(), http::Heads::new());
    let (mut out, mut understood) = (Vec::with_capacity(4096), 0);
    for answer in answers.iter().cycle().take(count as usize) {
        out.clear();
        let headers = [("Host", &b"127.0.0.1"[..])].into_iter();
        http::encode_request("GET", black_box(b"/"), headers, http::Payload::None, &mut out)?;
        black_box(&out);
        let mut input = black_box(answer.as_bytes());
        loop {
            match reader.next(http::Kind::Other, &mut heads, &mut input)? {
                http::Event::More => break,
                http::Event::End { keep } => {
                    understood += u64::from(keep);
                    break;
                }
                other => {
                    black_box(other);
                }
            }
        }
    }
    Ok(understood)
}

/// GET of a hundred bytes.
fn redis(count: u64) -> Result<u64, Box<dyn Error>> {
    let mut answer = Vec::new();
    redis::write::string(&VALUE, &mut answer);
    let (mut messages, mut out, mut understood) =
        (redis::Messages::default(), Vec::with_capacity(4096), 0);
    for _ in 0..count {
        out.clear();
        redis::write::command(black_box(&[&b"GET"[..], b"bench"]), &mut out);
        black_box(&out);
        let mut input = black_box(answer.as_slice());
        if let Some(message) = messages.next(&mut input)? {
            let reply = redis::Reply::new(message);
            understood += u64::from(reply.error().is_none() && reply.text() == VALUE);
        }
    }
    Ok(understood)
}

/// The classic get of a hundred bytes.
fn memcached(count: u64) -> Result<u64, Box<dyn Error>> {
    let mut answer = Vec::new();
    memcached::write::value(b"bench", 0, None, &VALUE, &mut answer);
    memcached::write::line(&[b"END"], &mut answer);
    let (mut answers, mut out, mut understood) =
        (memcached::Answers::default(), Vec::with_capacity(4096), 0);
    for _ in 0..count {
        out.clear();
        let key = black_box(&b"bench"[..]);
        memcached::write::check(key)?;
        memcached::write::line(&[b"get", key], &mut out);
        black_box(&out);
        let mut input = black_box(answer.as_slice());
        while let Some(line) = answers.next(&mut input)? {
            let right = line.error().is_none() && line.text() == Some(&VALUE[..]);
            understood += u64::from(right);
            if line.is_last() {
                break;
            }
        }
    }
    Ok(understood)
}

/// A prepared statement with one number, answered by a row of a number and a text.
fn postgresql(count: u64) -> Result<u64, Box<dyn Error>> {
    let mut answer = b"2\0\0\0\x04D\0\0\0\x74\0\x02\0\0\0\x0242\0\0\0\x64".to_vec();
    answer.extend_from_slice(&VALUE);
    answer.extend_from_slice(b"C\0\0\0\rSELECT 1\0Z\0\0\0\x05I");
    let (mut messages, mut out, mut understood) =
        (postgresql::Messages::default(), Vec::with_capacity(4096), 0);
    for n in 0..count {
        out.clear();
        let formats = std::iter::once(postgresql::Format::Binary);
        let mut bind = postgresql::ask::Bind::new("s0", formats, &mut out)?;
        bind.parameter(|out| out.extend_from_slice(&black_box(n as i32).to_be_bytes()));
        bind.finish(&[]);
        postgresql::ask::execute(&mut out);
        postgresql::ask::sync(&mut out);
        black_box(&out);
        let mut input = black_box(answer.as_slice());
        let mut right = false;
        while let Some(message) = messages.next(&mut input)? {
            match message {
                postgresql::Message::Row(row) => {
                    right = row.values().flatten().map(<[u8]>::len).sum::<usize>() == 102;
                }
                postgresql::Message::Ready(postgresql::Status::Idle) => {
                    understood += u64::from(right);
                }
                other => {
                    black_box(other);
                }
            }
        }
    }
    Ok(understood)
}

/// A prepared statement with one number, answered by a row of a number and a text.
fn mysql(count: u64) -> Result<u64, Box<dyn Error>> {
    let mut row = vec![0, 0, 42, 0, 0, 0, 0, 0, 0, 0, VALUE.len() as u8];
    row.extend_from_slice(&VALUE);
    let mut answer = Vec::new();
    let payloads: [&[u8]; 3] = [&[2, 0], &row, b"\xfe\0\0\x02\0\0\0"];
    for (number, payload) in (1..).zip(payloads) {
        mysql::packet(number, &mut answer, |out| out.extend_from_slice(payload));
    }
    let capabilities = mysql::capability::PROTOCOL_41
        | mysql::capability::DEPRECATE_EOF
        | mysql::capability::CACHE_COLUMNS;
    let (mut packets, mut answers) = (mysql::Packets::default(), mysql::Answers::default());
    let mut columns: mysql::Columns = vec![mysql::Column::INTEGER, mysql::Column::TEXT];
    answers.restart(mysql::Session { capabilities, ..mysql::Session::default() });
    let (mut out, mut understood) = (Vec::with_capacity(4096), 0);
    for n in 0..count {
        out.clear();
        let values = std::iter::once(mysql::Parameter::Integer(black_box(n as i64)));
        mysql::execute(1, 1, values, &mut out);
        black_box(&out);
        answers.begin(mysql::Kind::Execute, &mut packets);
        let mut input = black_box(answer.as_slice());
        let mut right = false;
        loop {
            match answers.next(&mut columns, &mut packets, &mut input)? {
                mysql::Event::Onward => {}
                mysql::Event::Row(row) => {
                    let mut values = row.fields(&columns);
                    let number = values.next() == Some(Ok(mysql::Field::Integer(42)));
                    right = number && values.next() == Some(Ok(mysql::Field::Text(&VALUE)));
                }
                mysql::Event::Done(_) => {
                    understood += u64::from(right);
                    break;
                }
                mysql::Event::More | mysql::Event::Refused(_) | mysql::Event::Prepared(_) => break,
            }
        }
    }
    Ok(understood)
}
