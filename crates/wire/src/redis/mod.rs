//! Redis's serialization protocol, RESP 2 and RESP 3.
//!
//! [`Messages`] cuts the answers out of what arrives and [`Reply`] tells what one says;
//! [`Commands`] reads what a client asks and [`write`] writes either side's messages; [`cluster`]
//! knows which server has a key. Absent: streamed strings and aggregates (`$?`, `*?`), which no
//! server sends, and what commands mean.

pub mod cluster;
mod commands;
mod messages;
mod reply;
mod scan;
pub mod write;

use std::fmt;

pub use commands::{Arguments, Command, Commands};
pub use messages::Messages;
pub use reply::{Kind, Reply, Scalars};

/// The longest message; Redis takes no value beyond 512 MiB either.
pub const MAX_MESSAGE_BYTES: usize = (512 << 20) + (64 << 10);
/// The longest line: a status, an error, a number or a length.
pub const MAX_LINE_BYTES: usize = 64 << 10;
/// How deep aggregates may stand within one another.
pub const MAX_DEPTH: usize = 32;

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A value begins with a byte that names no type.
    Type(u8),
    /// A length or a number is none.
    Number,
    /// A line or a string does not end in CR LF.
    End,
    /// The message is longer than [`MAX_MESSAGE_BYTES`], or a line than [`MAX_LINE_BYTES`].
    TooLong,
    /// Aggregates stand deeper than [`MAX_DEPTH`] within one another.
    TooDeep,
    /// A request is not an array of strings.
    Request,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Type(byte) => {
                return write!(f, "no Redis reply begins with `{}`", byte.escape_ascii());
            }
            Error::Number => "a number in a Redis reply is none",
            Error::End => "a Redis reply without CR LF at its end",
            Error::TooLong => "a Redis reply longer than 512 MiB, or a line than 64 KiB",
            Error::TooDeep => "a Redis reply with too many levels",
            Error::Request => "a Redis request that is no array of strings",
        })
    }
}

impl std::error::Error for Error {}
