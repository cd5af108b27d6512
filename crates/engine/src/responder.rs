//! The server that does nothing but answer: what the null server and the simulator speak.
//!
//! One state machine a protocol, over `wire`'s server side, so that the ruler and its simulation
//! speak the same. Absent from it: sockets, time, and what to do wrong.

pub mod file;
pub mod ldap;
pub mod memcached;
pub mod redis;
pub mod tls;

use std::sync::Arc;

use wire::http::{Invalid, RequestEvent, Requests, encode_response};
use wire::mysql;
use wire::postgresql::{self, Heard};

/// A protocol's null server, from which every connection has a session of its own.
pub trait Service: Send {
    /// A connection's session.
    fn session(&self) -> Box<dyn Session>;
}

/// The server's side of one connection.
pub trait Session: Send {
    /// Appends what the server says when a client has connected.
    fn greet(&mut self, out: &mut Vec<u8>);

    /// Takes the next whole message off the front of `input` and appends the answer to it.
    fn answer(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<Answered, Refused>;

    /// Appends this protocol's way of saying no to a request.
    fn deny(&mut self, out: &mut Vec<u8>);
}

/// What a session made of the bytes that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// All were taken, and the message is not whole yet.
    More,
    /// A message that is no request, of a log-in for instance, was answered.
    Aside,
    /// A request for encryption was answered; all that follows is encrypted.
    Secure,
    /// A request was answered.
    Request {
        /// Whether the connection is kept.
        keep: bool,
    },
}

/// What came is no request; the connection is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// HTTP: the same answer to every request.
pub struct Http(Arc<HttpAnswer>);

struct HttpAnswer {
    kept: Vec<u8>,
    closing: Vec<u8>,
    body_bytes: usize,
}

impl Http {
    /// An answer of this status, headers and body.
    pub fn new(status: u16, headers: &[(String, String)], body: &[u8]) -> Result<Http, Invalid> {
        let headers = || headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let (mut kept, mut closing) = (Vec::new(), Vec::new());
        encode_response(status, headers(), body, false, &mut kept)?;
        encode_response(status, headers(), body, true, &mut closing)?;
        let body_bytes = if kept.ends_with(b"\r\n\r\n") { 0 } else { body.len() };
        Ok(Http(Arc::new(HttpAnswer { kept, closing, body_bytes })))
    }
}

impl Service for Http {
    fn session(&self) -> Box<dyn Session> {
        Box::new(HttpSession { answer: Arc::clone(&self.0), requests: Requests::default() })
    }
}

struct HttpSession {
    answer: Arc<HttpAnswer>,
    requests: Requests,
}

impl Session for HttpSession {
    fn greet(&mut self, _out: &mut Vec<u8>) {}

    fn answer(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<Answered, Refused> {
        loop {
            match self.requests.next(input).map_err(|_| Refused)? {
                RequestEvent::More => return Ok(Answered::More),
                RequestEvent::Head(_) | RequestEvent::Body(_) => {}
                RequestEvent::End { keep, head } => {
                    let bytes = if keep { &self.answer.kept } else { &self.answer.closing };
                    let unsent = if head { self.answer.body_bytes } else { 0 };
                    out.extend_from_slice(&bytes[..bytes.len() - unsent]);
                    return Ok(Answered::Request { keep });
                }
            }
        }
    }

    fn deny(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n");
    }
}

/// `PostgreSQL`: everyone is let in, and every statement gives the same rows.
pub struct Postgresql {
    answer: Arc<postgresql::Answer>,
    encrypts: bool,
}

impl Postgresql {
    /// A server of this answer.
    pub fn new(answer: postgresql::Answer) -> Postgresql {
        Postgresql { answer: Arc::new(answer), encrypts: false }
    }

    /// The server that encrypts, as [`tls::Tls`] does, when it is asked to.
    #[must_use]
    pub fn encrypting(self) -> Postgresql {
        Postgresql { encrypts: true, ..self }
    }
}

impl Service for Postgresql {
    fn session(&self) -> Box<dyn Session> {
        let (server, said) = (postgresql::Server::default(), Vec::new());
        let (answer, encrypts) = (Arc::clone(&self.answer), self.encrypts);
        Box::new(PostgresqlSession { answer, server, said, encrypts })
    }
}

/// The message that asks for encryption: its length and its number.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

struct PostgresqlSession {
    answer: Arc<postgresql::Answer>,
    server: postgresql::Server,
    /// What is said to a request that goes on.
    said: Vec<u8>,
    /// Whether encryption is granted when it is asked for.
    encrypts: bool,
}

impl Session for PostgresqlSession {
    fn greet(&mut self, _out: &mut Vec<u8>) {}

    fn answer(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<Answered, Refused> {
        if self.encrypts
            && let Some(rest) = input.strip_prefix(&SSL_REQUEST)
        {
            self.encrypts = false;
            *input = rest;
            out.push(b'S');
            return Ok(Answered::Secure);
        }
        loop {
            let heard = self.server.next(&self.answer, input, &mut self.said);
            let answered = match heard.map_err(|_| Refused)? {
                Heard::More => return Ok(Answered::More),
                Heard::Leave => return Err(Refused),
                Heard::Request => Answered::Request { keep: true },
                Heard::Aside => Answered::Aside,
                Heard::Part => continue,
            };
            out.append(&mut self.said);
            return Ok(answered);
        }
    }

    fn deny(&mut self, out: &mut Vec<u8>) {
        postgresql::Server::refuse("XX000", "a simulated failure", out);
    }
}

/// `MySQL`: any log-in, and the same rows to every statement that asks for some.
pub struct Mysql {
    table: Arc<mysql::Table>,
    encrypts: bool,
}

impl Mysql {
    /// A server that has these rows.
    pub fn new(table: mysql::Table) -> Mysql {
        Mysql { table: Arc::new(table), encrypts: false }
    }

    /// The server that encrypts, as [`tls::Tls`] does, when it is asked to.
    #[must_use]
    pub fn encrypting(self) -> Mysql {
        Mysql { encrypts: true, ..self }
    }
}

impl Service for Mysql {
    fn session(&self) -> Box<dyn Session> {
        let server =
            if self.encrypts { mysql::Server::encrypting() } else { mysql::Server::default() };
        Box::new(MysqlSession { table: Arc::clone(&self.table), server })
    }
}

struct MysqlSession {
    table: Arc<mysql::Table>,
    server: mysql::Server,
}

impl Session for MysqlSession {
    fn greet(&mut self, out: &mut Vec<u8>) {
        self.server.greet(out);
    }

    fn answer(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<Answered, Refused> {
        Ok(match self.server.serve(&self.table, input, out).map_err(|_| Refused)? {
            mysql::Served::More => Answered::More,
            mysql::Served::Aside => Answered::Aside,
            mysql::Served::Secure => Answered::Secure,
            mysql::Served::Request => Answered::Request { keep: true },
            mysql::Served::Farewell => Answered::Request { keep: false },
        })
    }

    fn deny(&mut self, out: &mut Vec<u8>) {
        self.server.deny(out);
    }
}
