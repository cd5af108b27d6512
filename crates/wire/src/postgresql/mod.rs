//! `PostgreSQL`'s protocol, version 3.0, as the chapter "Frontend/Backend Protocol" of its manual
//! has it.
//!
//! [`Messages`] reads what a server sends, the functions of [`ask`] write what it is asked, and
//! [`Login`] answers its questions until it is ready; [`Server`] is the other side. Readers are fed
//! slices of any size. The nonce of SCRAM is drawn by the crate that does the hand-shake; nothing
//! else here is random. Absent: replication, COPY to the client, function calls, GSSAPI, SSPI, and
//! cancelling.

pub mod ask;
mod login;
mod messages;
mod server;

use std::fmt;

pub use login::{Login, Progress};
pub use messages::{
    Authentication, Columns, Complaint, Message, Messages, Row, Status, Types, affected,
};
pub use server::{Answer, Heard, Server};

use crate::frames::{Length, TooLong};

/// A message longer than this is none that anybody asked for.
pub const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// The identifiers of the types whose values are written in binary.
pub mod oid {
    /// `bytea`.
    pub const BYTEA: u32 = 17;
    /// `bigint`.
    pub const INT8: u32 = 20;
    /// `smallint`.
    pub const INT2: u32 = 21;
    /// `integer`.
    pub const INT4: u32 = 23;
    /// `text`.
    pub const TEXT: u32 = 25;
    /// `real`.
    pub const FLOAT4: u32 = 700;
    /// `double precision`.
    pub const FLOAT8: u32 = 701;
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As text.
    Text,
    /// As its type's own bytes.
    Binary,
}

impl Format {
    fn code(self) -> [u8; 2] {
        u16::from(self == Format::Binary).to_be_bytes()
    }
}

/// Why bytes are not a message that may stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A message of more than [`MAX_MESSAGE_BYTES`].
    TooLong(TooLong),
    /// A message whose length is less than nothing.
    Length,
    /// A message of a kind that is not known.
    Kind(u8),
    /// A message of this kind whose inside is not as it must be.
    Malformed(u8),
    /// A message that belongs elsewhere.
    OutOfPlace,
    /// The connection ended before any byte of the answer.
    ClosedBefore,
    /// The connection ended within the answer.
    ClosedWithin,
    /// A message of this kind where it has no meaning.
    Unexpected(u8),
    /// The server wants a proof of who asks that is not known here; the number is the protocol's.
    Authentication(u32),
    /// The server wants a password and there is none.
    NoPassword,
    /// The server has not shown that it knows the password.
    Impostor,
    /// A text with a zero byte, which ends texts in this protocol.
    Zero,
    /// More parameters than a statement has.
    Parameters,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |byte: u8| char::from(byte).escape_default();
        match self {
            Error::TooLong(length) => length.fmt(f),
            Error::Length => f.write_str("a message with a length that cannot be"),
            Error::Kind(kind) => write!(f, "not PostgreSQL: a message `{}`", shown(*kind)),
            Error::Malformed(kind) => write!(f, "a malformed message `{}`", shown(*kind)),
            Error::Unexpected(kind) => write!(f, "a message `{}` out of place", shown(*kind)),
            Error::OutOfPlace => f.write_str("a message out of place"),
            Error::ClosedBefore => f.write_str("connection closed before the answer"),
            Error::ClosedWithin => f.write_str("connection closed within the answer"),
            Error::Authentication(code) => write!(f, "authentication {code} is not supported"),
            Error::NoPassword => f.write_str("the server wants a password"),
            Error::Impostor => f.write_str("the server does not know the password itself"),
            Error::Zero => f.write_str("a text with a zero byte"),
            Error::Parameters => f.write_str("more than 65535 parameters"),
        }
    }
}

impl std::error::Error for Error {}

impl From<TooLong> for Error {
    fn from(error: TooLong) -> Self {
        Error::TooLong(error)
    }
}

/// The length of a message that begins with its kind.
fn length(bytes: &[u8], is_kind: fn(u8) -> bool) -> Result<Length, Error> {
    // Garbage is told by its first byte, before a length is read out of it and waited for.
    match bytes {
        [kind, ..] if !is_kind(*kind) => Err(Error::Kind(*kind)),
        [_, a, b, c, d, ..] => match u32::from_be_bytes([*a, *b, *c, *d]) {
            0..4 => Err(Error::Length),
            rest => Ok(Length::Whole(rest as usize + 1)),
        },
        _ => Ok(Length::Unknown),
    }
}

/// Reads a message's inside from the front.
#[derive(Clone)]
struct Inside<'a> {
    kind: u8,
    bytes: &'a [u8],
}

impl<'a> Inside<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) =
            self.bytes.split_at_checked(count).ok_or(Error::Malformed(self.kind))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    fn short(&mut self) -> Result<u16, Error> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn long(&mut self) -> Result<u32, Error> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A text up to its zero byte.
    fn text(&mut self) -> Result<&'a [u8], Error> {
        let length =
            self.bytes.iter().position(|&byte| byte == 0).ok_or(Error::Malformed(self.kind))?;
        let text = self.take(length)?;
        self.take(1)?;
        Ok(text)
    }

    /// A value: its length and its bytes; no bytes at all where it is null.
    fn value(&mut self) -> Result<Option<&'a [u8]>, Error> {
        match self.long()? {
            u32::MAX => Ok(None),
            length => self.take(length as usize).map(Some),
        }
    }

    fn end(&self) -> Result<(), Error> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Error::Malformed(self.kind)) }
    }
}
