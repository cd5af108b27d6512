//! Redis: every key has the same value, and every change is accepted.

use std::sync::Arc;

use wire::redis::{Command, Commands, write};

use super::{Answered, Refused, Service, Session};

/// A Redis whose values all have the same number of bytes.
pub struct Redis {
    /// A value as it is sent.
    value: Arc<Vec<u8>>,
}

impl Redis {
    /// Values of this many bytes.
    pub fn new(value_bytes: usize) -> Redis {
        let mut value = Vec::new();
        write::string(&vec![b'x'; value_bytes], &mut value);
        Redis { value: Arc::new(value) }
    }
}

impl Service for Redis {
    fn session(&self) -> Box<dyn Session> {
        Box::new(RedisSession {
            value: Arc::clone(&self.value),
            commands: Commands::default(),
            gathered: None,
        })
    }
}

struct RedisSession {
    value: Arc<Vec<u8>>,
    commands: Commands,
    /// How many commands have come since `MULTI`.
    gathered: Option<usize>,
}

impl Session for RedisSession {
    fn greet(&mut self, _out: &mut Vec<u8>) {}

    fn answer(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<Answered, Refused> {
        let RedisSession { value, commands, gathered } = self;
        let Some(command) = commands.next(input).map_err(|_| Refused)? else {
            return Ok(Answered::More);
        };
        let name = command.name();
        if name.is_empty() {
            // Redis passes over an empty line or array, too.
            return Ok(Answered::Aside);
        }
        let is = |names: &[&str]| names.iter().any(|n| name.eq_ignore_ascii_case(n.as_bytes()));
        if is(&["GET"]) && gathered.is_none() {
            out.extend_from_slice(value);
            return Ok(Answered::Request { keep: true });
        }
        match gathered {
            Some(count) if is(&["EXEC"]) => {
                write::array(*count, out);
                for _ in 0..*count {
                    write::status("OK", out);
                }
                *gathered = None;
            }
            Some(_) if is(&["DISCARD"]) => {
                *gathered = None;
                write::status("OK", out);
            }
            Some(count) => {
                *count += 1;
                write::status("QUEUED", out);
            }
            None if is(&["MULTI"]) => {
                *gathered = Some(0);
                write::status("OK", out);
            }
            None => plainly(command, value, out),
        }
        let opens = is(&["HELLO", "AUTH", "SELECT", "SCRIPT", "CLUSTER"]);
        Ok(if opens { Answered::Aside } else { Answered::Request { keep: true } })
    }

    fn deny(&mut self, out: &mut Vec<u8>) {
        write::error("ERR this server says no", out);
    }
}

/// Answers a command that stands by itself.
fn plainly(command: Command<'_>, value: &[u8], out: &mut Vec<u8>) {
    let name = command.name();
    let is = |names: &[&str]| names.iter().any(|n| name.eq_ignore_ascii_case(n.as_bytes()));
    let given = command.arguments().count() - 1;
    let values = |count: usize, out: &mut Vec<u8>| {
        write::array(count, out);
        for _ in 0..count {
            out.extend_from_slice(value);
        }
    };
    if is(&["GETEX", "GETDEL", "GETSET", "HGET", "LPOP", "RPOP", "LINDEX", "EVAL", "EVALSHA"]) {
        out.extend_from_slice(value);
    } else if is(&["MGET"]) {
        values(given, out);
    } else if is(&["HMGET"]) {
        values(given.saturating_sub(1), out);
    } else if is(&["HGETALL", "LRANGE", "SMEMBERS", "ZRANGE"]) {
        values(2, out);
    } else if is(&["PING"]) {
        write::status("PONG", out);
    } else if is(&["SCRIPT"]) {
        write::string(&[b'0'; 40], out);
    } else if is(&["CLUSTER"]) {
        // It knows of no others: each of its like may be taken for the holder of any slot.
        write::array(0, out);
    } else if is(&["HELLO"]) {
        hello(command, out);
    } else if is(&[
        "INCR", "INCRBY", "DECR", "DECRBY", "DEL", "UNLINK", "EXISTS", "EXPIRE", "HSET", "SADD",
        "ZADD", "LPUSH", "RPUSH", "STRLEN", "APPEND", "SETNX", "PUBLISH",
    ]) {
        write::integer(1, out);
    } else {
        write::status("OK", out);
    }
}

fn hello(command: Command<'_>, out: &mut Vec<u8>) {
    let of_three = command.arguments().nth(1) == Some(b"3");
    if of_three {
        write::map(2, out);
    } else {
        write::array(4, out);
    }
    write::string(b"server", out);
    write::string(b"redis", out);
    write::string(b"proto", out);
    write::integer(if of_three { 3 } else { 2 }, out);
}
