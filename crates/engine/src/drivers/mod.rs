//! The client sides of protocols.
//!
//! A network driver ([`Protocol`]) turns operations into bytes and bytes into verdicts, without
//! I/O. Absent from it: connections, time, and what is asked when.

pub mod http;
pub mod sqlite;

use std::fmt;

use crate::net::Fault;
use crate::workload::{Client, OperationIndex};

/// Why an operation did not end ok, without having to allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The answer's status was not an expected one.
    Status(u16),
    /// A header was not as expected.
    Header,
    /// The body was not as expected.
    Body,
    /// Bytes came that nobody had asked for.
    Surplus,
    /// What came is no answer.
    Http(wire::http::Error),
    /// The request cannot be written.
    Unsendable(wire::http::Invalid),
    /// The connection could not be made, or is no more.
    Fault(Fault),
    /// It took longer than the time-out.
    TimedOut,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Status(status) => write!(f, "status {status}"),
            Reason::Header => f.write_str("a header is not as expected"),
            Reason::Body => f.write_str("the body is not as expected"),
            Reason::Surplus => f.write_str("bytes that nobody asked for"),
            Reason::Http(error) => error.fmt(f),
            Reason::Unsendable(invalid) => invalid.fmt(f),
            Reason::Fault(fault) => fault.fmt(f),
            Reason::TimedOut => f.write_str("no answer within the time-out"),
        }
    }
}

/// What became of the bytes that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The answer is not whole yet.
    More,
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

/// The client side of a network protocol; each worker has one of its own.
pub trait Protocol {
    /// What is remembered of a connection.
    type Conn;

    /// A connection of the worker, to the target of that number.
    fn conn(&self, target: usize) -> Self::Conn;

    /// The connection was made anew.
    fn connected(&mut self, conn: &mut Self::Conn);

    /// Appends the request of an operation to `out`, and remembers what its answer must be.
    fn encode(
        &mut self,
        conn: &mut Self::Conn,
        operation: OperationIndex,
        client: &Client,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason>;

    /// Takes bytes that arrived while an answer is awaited.
    fn receive(&mut self, conn: &mut Self::Conn, bytes: &[u8]) -> Received;

    /// The connection ended while an answer was awaited: that may have made the answer whole.
    fn ended(&mut self, conn: &mut Self::Conn) -> Received;
}
