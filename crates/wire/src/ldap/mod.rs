//! LDAP version 3: RFC 4511's messages, RFC 4515's filters, and the values that RFC 4514's names
//! take.
//!
//! A [`Form`] is a request with places for values, made once and written often; [`Messages`] cuts
//! what arrives into whole messages and [`Message`] tells what one of a server's says. [`Request`]
//! is the server's side of that, and [`say`] writes what a server says. Absent: SASL, changes of
//! names, comparisons, controls of requests (those of answers are passed over), and schemas.

mod answers;
mod ber;
pub mod codes;
mod filter;
mod form;
mod requests;
pub mod say;

use std::fmt;

pub use answers::{Attributes, Entry, Message, Outcome, Said, Texts};
pub use ber::Messages;
pub use form::{Change, Form, Invalid, Piece, Scope, Search, Values, bind, start_tls, unbind};
pub use requests::{Asked, Request};

use crate::frames::TooLong;

/// A message longer than this is none that anybody asked for.
pub const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// How deep filters may stand within one another.
pub const MAX_DEPTH: usize = 32;
/// The name of the extended operation that begins TLS, RFC 4511, 4.14.1.
pub const START_TLS: &[u8] = b"1.3.6.1.4.1.1466.20037";
/// The name of a server's notice that it will close the connection, RFC 4511, 4.4.1.
pub const DISCONNECTION: &[u8] = b"1.3.6.1.4.1.1466.20036";

/// What the elements of a message are called by, RFC 4511's appendix B.
mod tag {
    pub const BOOLEAN: u8 = 0x01;
    pub const INTEGER: u8 = 0x02;
    pub const OCTETS: u8 = 0x04;
    pub const ENUMERATED: u8 = 0x0a;
    pub const SEQUENCE: u8 = 0x30;
    pub const SET: u8 = 0x31;

    pub const BIND: u8 = 0x60;
    pub const BOUND: u8 = 0x61;
    pub const UNBIND: u8 = 0x42;
    pub const SEARCH: u8 = 0x63;
    pub const ENTRY: u8 = 0x64;
    pub const DONE: u8 = 0x65;
    pub const REFERENCE: u8 = 0x73;
    pub const MODIFY: u8 = 0x66;
    pub const MODIFIED: u8 = 0x67;
    pub const ADD: u8 = 0x68;
    pub const ADDED: u8 = 0x69;
    pub const DELETE: u8 = 0x4a;
    pub const DELETED: u8 = 0x6b;
    pub const RENAME: u8 = 0x6c;
    pub const RENAMED: u8 = 0x6d;
    pub const COMPARE: u8 = 0x6e;
    pub const COMPARED: u8 = 0x6f;
    pub const ABANDON: u8 = 0x50;
    pub const EXTENDED: u8 = 0x77;
    pub const EXTENSION: u8 = 0x78;
    pub const INTERMEDIATE: u8 = 0x79;

    /// The password of a simple bind.
    pub const SIMPLE: u8 = 0x80;
    /// Where else to ask, in an outcome.
    pub const REFERRAL: u8 = 0xa3;
    /// The name of an extended request.
    pub const REQUEST_NAME: u8 = 0x80;
    /// The name of an extended response.
    pub const RESPONSE_NAME: u8 = 0x8a;
    /// What follows the operation of a message.
    pub const CONTROLS: u8 = 0xa0;
}

/// Why bytes are not a message that may stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A message of more than [`MAX_MESSAGE_BYTES`].
    TooLong(TooLong),
    /// A message begins with a byte that none begins with.
    Type(u8),
    /// A length in a form that LDAP does not have.
    Length,
    /// An element reaches beyond what it is part of, or is not of the kind that must be there.
    Malformed,
    /// An operation that is not known, or belongs to the other side.
    Operation(u8),
    /// A message's number is none that was asked under.
    Number(u32),
    /// The answer to another kind of request than was asked.
    Answer,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::TooLong(length) => length.fmt(f),
            Error::Type(byte) => {
                write!(f, "no LDAP message begins with `{}`", byte.escape_ascii())
            }
            Error::Length => f.write_str("a length that no LDAP message has"),
            Error::Malformed => f.write_str("a malformed LDAP message"),
            Error::Operation(tag) => write!(f, "an LDAP message of kind {tag:#04x} out of place"),
            Error::Number(number) => {
                write!(f, "an LDAP message of number {number}, under which nothing was asked")
            }
            Error::Answer => f.write_str("an LDAP answer to another kind of request"),
        }
    }
}

impl std::error::Error for Error {}

impl From<TooLong> for Error {
    fn from(error: TooLong) -> Self {
        Error::TooLong(error)
    }
}
