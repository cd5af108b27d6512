//! memcached: every key has the same value, and every change is accepted.

use std::sync::Arc;

use wire::memcached::{Request, Requests, is_storage, write};

use super::{Answered, Refused, Service, Session};

/// A memcached whose values all have the same number of bytes.
pub struct Memcached {
    value: Arc<Vec<u8>>,
}

impl Memcached {
    /// Values of this many bytes.
    pub fn new(value_bytes: usize) -> Memcached {
        Memcached { value: Arc::new(vec![b'x'; value_bytes]) }
    }
}

impl Service for Memcached {
    fn session(&self) -> Box<dyn Session> {
        let value = Arc::clone(&self.value);
        Box::new(MemcachedSession { value, requests: Requests::default() })
    }
}

struct MemcachedSession {
    value: Arc<Vec<u8>>,
    requests: Requests,
}

impl Session for MemcachedSession {
    fn greet(&mut self, _out: &mut Vec<u8>) {}

    fn answer(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<Answered, Refused> {
        let Some(request) = self.requests.next(input).map_err(|_| Refused)? else {
            return Ok(Answered::More);
        };
        let before = out.len();
        let hits = plainly(request, &self.value, out);
        if request.is_quiet() && !hits {
            out.truncate(before);
            return Ok(Answered::Aside);
        }
        Ok(Answered::Request { keep: true })
    }

    fn deny(&mut self, out: &mut Vec<u8>) {
        write::line(&[b"SERVER_ERROR this server says no"], out);
    }
}

/// Answers a request, whether that is wanted or not; says whether a quiet one wants it, too.
fn plainly(request: Request<'_>, value: &[u8], out: &mut Vec<u8>) -> bool {
    let mut words = request.words();
    let name = words.next().unwrap_or_default();
    let said: &[u8] = match name {
        b"get" | b"gets" | b"gat" | b"gats" => {
            let version = name.ends_with(b"s").then_some(1);
            for key in words.skip(usize::from(name.starts_with(b"gat"))) {
                write::value(key, 0, version, value, out);
            }
            b"END"
        }
        b"mg" | b"ms" | b"md" | b"ma" => {
            meta(request, value, out);
            return name == b"mg";
        }
        b"me" => b"ME key",
        b"mn" => b"MN",
        b"incr" | b"decr" => b"1",
        b"delete" => b"DELETED",
        b"touch" => b"TOUCHED",
        b"flush_all" => b"OK",
        b"version" => b"VERSION 0",
        b"stats" => b"END",
        _ if is_storage(name) => b"STORED",
        _ => b"ERROR",
    };
    write::line(&[said], out);
    false
}

/// Answers a meta command with what its flags ask for.
fn meta(request: Request<'_>, value: &[u8], out: &mut Vec<u8>) {
    let key = request.words().nth(1).unwrap_or_default();
    let shown = request.flags().any(|flag| flag == b"v");
    out.extend_from_slice(if shown { b"VA" } else { b"HD" });
    if shown {
        write::number(value.len() as u64, out);
    }
    for flag in request.flags() {
        let (letter, told) = match flag {
            [b'O', opaque @ ..] => (b'O', opaque),
            [b'k'] => (b'k', key),
            [letter @ (b'c' | b'f')] => (*letter, &b"0"[..]),
            _ => continue,
        };
        out.extend_from_slice(&[b' ', letter]);
        out.extend_from_slice(told);
    }
    write::end(out);
    if shown {
        write::block(value, out);
    }
}
