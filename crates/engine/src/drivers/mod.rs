//! The client sides of protocols.
//!
//! A network driver ([`Protocol`]) turns operations into bytes and bytes into verdicts, without
//! I/O. Absent from it: connections, time, and what is asked when.

pub mod command;
pub mod file;
pub mod http;
pub mod ldap;
pub mod memcached;
pub mod mysql;
pub mod postgresql;
pub mod redis;
pub mod secret;
pub mod sql;
pub mod sqlite;
pub mod target;

use std::fmt;

use tally::Outcome;

use crate::file::Flaw;
use crate::net::Fault;
use crate::responder::Service;
use crate::workload::{Client, OperationIndex, Program};
use target::Target;

/// Why an operation did not end ok, without having to allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The answer's status was not an expected one.
    Status(u16),
    /// A header was not as expected.
    Header,
    /// The body was not as expected.
    Body,
    /// The body had this many bytes, which are too many or too few.
    Size(u64),
    /// A redirect was not followed.
    Redirect(wire::http::Astray),
    /// Bytes came that nobody had asked for.
    Surplus,
    /// What came is no answer.
    Http(wire::http::Error),
    /// What came is no message of LDAP's, or none that was asked for.
    Ldap(wire::ldap::Error),
    /// What came is no answer, or none that can be dealt with.
    MySql(wire::mysql::Error),
    /// What came is no answer, or none that can be dealt with.
    Postgresql(wire::postgresql::Error),
    /// The transaction ended and left the server's open.
    LeftOpen,
    /// The rows are not as expected.
    Rows(sql::Wrong),
    /// What came is no answer of memcached, or what was to be asked is no request.
    Memcached(wire::memcached::Error),
    /// What came is no reply of Redis.
    Redis(wire::redis::Error),
    /// The connection ended before the answer had begun.
    Unanswered,
    /// The connection ended within the answer.
    CutShort,
    /// The request cannot be written.
    Unsendable(wire::http::Invalid),
    /// The connection could not be made, or is no more.
    Fault(Fault),
    /// It took longer than the time-out.
    TimedOut,
    /// An earlier answer on the connection was the last of it.
    Behind,
    /// The server's own words.
    Server(Told),
    /// It says to ask a server that the Plan does not have.
    NoTarget(Told),
    /// The connection could not be secured.
    Tls(Told),
    /// An order to a file was not carried out as it should be.
    File(Flaw),
}

/// What a server said, as far as it fits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Told {
    length: u8,
    bytes: [u8; Told::MAX_BYTES],
}

impl Told {
    /// Longer texts are cut.
    const MAX_BYTES: usize = 94;

    /// The beginning of a text; what is not UTF-8 is left out.
    pub fn new(text: &[u8]) -> Told {
        let mut told = Told { length: 0, bytes: [0; Told::MAX_BYTES] };
        for chunk in text.utf8_chunks() {
            for character in chunk.valid().chars().filter(|c| !c.is_control()) {
                let from = usize::from(told.length);
                let Some(room) = told.bytes.get_mut(from..from + character.len_utf8()) else {
                    return told;
                };
                character.encode_utf8(room);
                told.length += character.len_utf8() as u8;
            }
        }
        told
    }

    /// The text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Status(status) => write!(f, "status {status}"),
            Reason::Header => f.write_str("a header is not as expected"),
            Reason::Body => f.write_str("the body is not as expected"),
            Reason::Size(bytes) => write!(f, "the body has {bytes} bytes"),
            Reason::Redirect(astray) => astray.fmt(f),
            Reason::Surplus => f.write_str("bytes that nobody asked for"),
            Reason::Http(error) => error.fmt(f),
            Reason::Ldap(error) => error.fmt(f),
            Reason::MySql(error) => error.fmt(f),
            Reason::Postgresql(error) => error.fmt(f),
            Reason::LeftOpen => f.write_str("the transaction was left open: COMMIT is missing"),
            Reason::Rows(wrong) => wrong.fmt(f),
            Reason::Memcached(error) => error.fmt(f),
            Reason::Redis(error) => error.fmt(f),
            Reason::Unanswered => f.write_str("connection closed before the answer"),
            Reason::CutShort => f.write_str("connection closed within the answer"),
            Reason::Unsendable(invalid) => invalid.fmt(f),
            Reason::Fault(fault) => fault.fmt(f),
            Reason::TimedOut => f.write_str("no answer within the time-out"),
            Reason::Behind => f.write_str("the connection ended by an earlier answer on it"),
            Reason::Server(told) => f.write_str(told.text()),
            Reason::NoTarget(told) => write!(f, "{}: no target of the Plan", told.text()),
            Reason::Tls(told) => write!(f, "TLS: {}", told.text()),
            Reason::File(flaw) => flaw.fmt(f),
        }
    }
}

/// What became of the bytes that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The answer is not whole yet.
    More,
    /// So far, so good; what [`Protocol::further`] appends is to be said before the answer is
    /// whole.
    Further,
    /// What comes next answers another operation: that which was asked so many after the oldest
    /// whose answer is awaited. Nothing of it was taken that is not kept.
    Of(usize),
    /// This connection's share of the answer is whole; those of others are to come.
    Part,
    /// The answer is whole: another target, that of this number, is to be asked the same.
    Elsewhere(usize),
    /// The answer is whole.
    Reply {
        /// Whether it was right.
        verdict: Result<(), Reason>,
        /// Whether the connection may be used again.
        keep: bool,
    },
    /// This is no answer; the connection is of no use.
    Broken(Reason),
}

/// How the opening of a connection stands: the log-in, the preparing of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// More must arrive.
    More,
    /// The connection is to be encrypted from here on.
    Secure,
    /// Operations may be asked.
    Ready,
}

/// The client side of a network protocol; each worker has a clone of its own.
pub trait Protocol: Clone + Send + Sync {
    /// What is remembered of a connection.
    type Conn;

    /// What is remembered of an operation whose answer is still to come. A connection may have
    /// several; their answers come in the order of asking, unless [`Received::Of`] says otherwise.
    type Asked;

    /// How many bytes of each request and of each answer are the driver's own and reach nobody,
    /// where there is no network to move them.
    const FRAMING: (u64, u64) = (0, 0);

    /// Where it connects to.
    fn targets(&self) -> &[Target];

    /// The server that the simulator puts in the targets' place.
    fn simulated(&self) -> Box<dyn Service>;

    /// How many connections serve a client: one, to any target, or one to each target.
    fn spread(&self) -> u32 {
        1
    }

    /// The targets that an operation goes to, as bits by their numbers, where a client has a
    /// connection to each. Notes in `asked` what of it goes where; it is encoded once for each, and
    /// what cannot be encoded is told at the first.
    fn places(
        &mut self,
        asked: &mut Self::Asked,
        operation: OperationIndex,
        client: &Client,
    ) -> u64 {
        let (_, _, _) = (asked, operation, client);
        1
    }

    /// No connection to this target could be made.
    fn unreachable(&mut self, target: usize) {
        let _ = target;
    }

    /// A connection of the worker, to the target of that number.
    fn conn(&self, target: usize) -> Self::Conn;

    /// Room for what is remembered of an operation.
    fn asked(&self) -> Self::Asked;

    /// The connection was made anew: appends to `out` what the client says first.
    fn open(&mut self, conn: &mut Self::Conn, out: &mut Vec<u8>) -> Result<Opening, Reason>;

    /// The connection is encrypted now: goes on as [`Protocol::open`] does.
    fn secured(&mut self, conn: &mut Self::Conn, out: &mut Vec<u8>) -> Result<Opening, Reason> {
        let (_, _) = (conn, out);
        Ok(Opening::Ready)
    }

    /// Takes bytes that arrive before the connection is open, and appends what is to be said.
    fn opening(
        &mut self,
        conn: &mut Self::Conn,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Opening, Reason> {
        let (_, _, _) = (conn, input, out);
        Err(Reason::Surplus)
    }

    /// Appends the request of an operation to `out`, and remembers what its answer must be.
    fn encode(
        &mut self,
        conn: &mut Self::Conn,
        asked: &mut Self::Asked,
        operation: OperationIndex,
        client: &Client,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason>;

    /// Takes bytes off the front of `input` while this operation's answer is the next to come, and
    /// leaves what lies behind it; all is taken where the answer is not whole yet.
    fn receive(
        &mut self,
        conn: &mut Self::Conn,
        asked: &mut Self::Asked,
        input: &mut &[u8],
    ) -> Received;

    /// Appends what the operation asks beyond its request, after [`Received::Further`]: a
    /// transaction's end, which depends on what was answered before.
    fn further(&mut self, conn: &mut Self::Conn, asked: &mut Self::Asked, out: &mut Vec<u8>) {
        let (_, _, _) = (conn, asked, out);
    }

    /// The connection ended while this answer was awaited: that may have made it whole.
    fn ended(&mut self, conn: &mut Self::Conn, asked: &mut Self::Asked) -> Received;
}

/// How an operation within the agent's process ended, and why where it is not ok.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// How it ended.
    pub outcome: Outcome,
    /// The system's message, or what is wrong with the answer; empty when ok.
    pub why: &'a str,
    /// Bytes that went to the system and came from it, where that is known.
    pub moved: (u64, u64),
}

/// One client's use of a system within the agent's process, whose calls block.
pub trait InProcess {
    /// Asks the operation that `client` has come to, and waits for the answer.
    fn answer(
        &mut self,
        operation: OperationIndex,
        program: &Program,
        client: &Client,
    ) -> Answer<'_>;
}
