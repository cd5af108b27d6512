//! memcached's text protocol, the classic commands and the meta ones.
//!
//! A message is a line, and where the line announces one a block of bytes behind it. [`Answers`]
//! reads a server's lines and [`Requests`] a client's; [`write`] writes either side's. Absent: the
//! binary protocol, which memcached has deprecated, UDP, and what commands mean.

mod answers;
mod lines;
mod requests;
pub mod write;

use std::fmt;

pub use answers::{Answer, Answers};
pub use requests::{Request, Requests, is_storage};

/// The longest block; memcached takes no value beyond 1 GiB either.
pub const MAX_BLOCK_BYTES: usize = 1 << 30;
/// The longest line; those that ask for many keys are the longest.
pub const MAX_LINE_BYTES: usize = 1 << 20;
/// The longest word of a request, as that is memcached's longest key.
pub const MAX_WORD_BYTES: usize = 250;

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A line begins with a word that begins no answer.
    Kind,
    /// A line or a block does not end in CR LF.
    End,
    /// The length of a block is missing or no number.
    Number,
    /// A line is longer than [`MAX_LINE_BYTES`], or a block than [`MAX_BLOCK_BYTES`].
    TooLong,
    /// A word of a request is empty, too long, or has a space or a control character in it.
    Word,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Kind => "no answer of memcached: a line that begins as none does",
            Error::End => "no answer of memcached: a line or a value without CR LF at its end",
            Error::Number => "no answer of memcached: a value without its length",
            Error::TooLong => "no answer of memcached: a line beyond 1 MiB or a value beyond 1 GiB",
            Error::Word => "a word of a memcached request has 1 to 250 bytes, and no space in them",
        })
    }
}

impl std::error::Error for Error {}
