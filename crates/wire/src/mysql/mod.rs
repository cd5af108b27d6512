//! The protocol of `MySQL`, `MariaDB` and those that speak it too (Sphinx, Galera, proxies).
//!
//! The client's side: [`Login`] opens a connection, [`query`], [`prepare`] and [`execute`] write
//! commands, [`Answers`] reads what comes back. The server's side: [`Server`] greets, takes any
//! log-in and answers as it is told. Payloads are borrowed from the input wherever they lie there
//! whole. Absent: compression, `LOAD DATA LOCAL`, cursors, several statements in one command, and
//! keys exchanged by RSA: a password that the server wants whole is sent over TLS or a Unix socket
//! alone.

mod answers;
mod bytes;
mod commands;
mod fields;
mod greeting;
mod login;
mod packets;
mod scramble;
mod server;

use std::fmt;

pub use answers::{Answers, Done, Event, Kind, Prepared, Refusal};
pub use commands::{Parameter, execute, literal, prepare, query, quit};
pub use fields::{Column, Columns, Field, Fields, Row, Temporal};
pub use greeting::{Greeting, Reply};
pub use login::{Account, Login, Progress, Session};
pub use packets::{MOST_PAYLOAD_BYTES, Packets, packet};
pub use scramble::Plugin;
pub use server::{Question, Served, Server, Table, Voice};

/// What a side can do, as bits of the greeting and its answer; those above 32 are `MariaDB`'s.
pub mod capability {
    /// The server is not a `MariaDB` of the newer kind; the bit is `LONG_PASSWORD` of old.
    pub const MYSQL: u64 = 1;
    /// An update counts the rows it found, not only those it changed.
    pub const FOUND_ROWS: u64 = 1 << 1;
    /// Longer flags of columns.
    pub const LONG_FLAG: u64 = 1 << 2;
    /// A database is named at log-in.
    pub const WITH_DATABASE: u64 = 1 << 3;
    /// The protocol of 4.1, the one spoken here.
    pub const PROTOCOL_41: u64 = 1 << 9;
    /// TLS.
    pub const TLS: u64 = 1 << 11;
    /// The status says whether a transaction is open.
    pub const TRANSACTIONS: u64 = 1 << 13;
    /// Passwords as of 4.1.
    pub const SECURE: u64 = 1 << 15;
    /// A text command may have several answers.
    pub const MULTI_RESULTS: u64 = 1 << 17;
    /// A prepared statement may have several answers.
    pub const PS_MULTI_RESULTS: u64 = 1 << 18;
    /// Ways to authenticate are named.
    pub const PLUGINS: u64 = 1 << 19;
    /// Rows end with an OK, and nothing stands between columns and rows.
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    /// Columns of a prepared statement are sent again only when they changed.
    pub const CACHE_COLUMNS: u64 = 1 << 36;
}

/// The server's state, as bits of an answer's status.
pub mod status {
    /// A transaction is open.
    pub const IN_TRANSACTION: u16 = 1;
    /// Statements commit by themselves.
    pub const AUTOCOMMIT: u16 = 1 << 1;
    /// Another answer to the same command follows.
    pub const MORE_RESULTS: u16 = 1 << 3;
    /// A backslash in a quoted text is a backslash.
    pub const NO_BACKSLASH: u16 = 1 << 9;
}

/// Why bytes are not the other side's word, or cannot be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A packet is not what this place needs.
    Malformed(&'static str),
    /// A packet's number is not the next one.
    Sequence {
        /// The number it should have had.
        expected: u8,
        /// The one it had.
        found: u8,
    },
    /// A payload is longer than [`MOST_PAYLOAD_BYTES`].
    TooLong,
    /// The server speaks a version of the protocol that nobody here knows.
    Version(u8),
    /// The server has no TLS.
    NoTls,
    /// The server wants the password as it is, over a connection that others may read.
    NotPrivate,
    /// The server wants a way to authenticate that is not known here.
    UnknownPlugin,
    /// The server asks for a file of the client's.
    LocalFile,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Malformed(what) => return write!(f, "not a MySQL answer: {what}"),
            Error::Sequence { expected, found } => {
                return write!(f, "packet {found} where {expected} should be");
            }
            Error::TooLong => "a payload is longer than is read here",
            Error::Version(version) => return write!(f, "MySQL protocol version {version}"),
            Error::NoTls => "the server has no TLS",
            Error::NotPrivate => {
                "the server wants the password in full, sent over TLS or a socket file alone"
            }
            Error::UnknownPlugin => "the server wants a way to authenticate that is not known here",
            Error::LocalFile => "the server asks for a local file",
        })
    }
}

impl std::error::Error for Error {}
