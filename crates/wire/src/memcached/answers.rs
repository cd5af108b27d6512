//! The client's side: reading what a server says.

use super::Error;
use super::lines::{Lines, length, words};

/// Reads the answers of one connection, line by line.
#[derive(Debug, Default)]
pub struct Answers(Lines);

impl Answers {
    /// Forgets what was torn, for a new connection.
    pub fn reset(&mut self) {
        self.0.reset();
    }

    /// Whether a line or a value has begun that has not come whole.
    pub fn is_torn(&self) -> bool {
        self.0.is_torn()
    }

    /// Takes the next line, and the value that belongs to it, off the front of `input`; `None` when
    /// more must arrive, and then all of `input` is taken. After an error the connection is of no
    /// use.
    #[inline]
    pub fn next<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Answer<'s>>, Error> {
        let Some((line, value)) = self.0.next(input, announced)? else { return Ok(None) };
        let line = line.strip_suffix(b"\r\n").ok_or(Error::End)?;
        Ok(Some(Answer { kind: Kind::of(line)?, line, value }))
    }
}

/// The length of the value that a line announces.
#[inline]
fn announced(line: &[u8]) -> Result<Option<usize>, Error> {
    let line = line.strip_suffix(b"\r\n").ok_or(Error::End)?;
    match Kind::of(line)? {
        Kind::Value => length(words(line).nth(3)),
        Kind::MetaValue => length(words(line).nth(1)),
        _ => Ok(None),
    }
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A classic value, after which others follow.
    Value,
    /// A value of a meta command.
    MetaValue,
    /// A statistic, after which others follow.
    Statistic,
    /// There is nothing, or nothing more.
    Nothing,
    /// It was not done.
    Undone,
    /// It was done.
    Done,
    /// The request was wrong, or the server failed.
    Error,
}

impl Kind {
    #[inline]
    fn of(line: &[u8]) -> Result<Kind, Error> {
        let word = line.split(|&byte| byte == b' ').next().unwrap_or_default();
        Ok(match word {
            b"VALUE" => Kind::Value,
            b"END" | b"EN" => Kind::Nothing,
            b"VA" => Kind::MetaValue,
            b"HD" | b"MN" | b"ME" | b"STORED" | b"DELETED" | b"TOUCHED" | b"OK" | b"RESET"
            | b"VERSION" => Kind::Done,
            b"NF" | b"NS" | b"EX" | b"NOT_FOUND" | b"NOT_STORED" | b"EXISTS" => Kind::Undone,
            b"STAT" => Kind::Statistic,
            b"ERROR" | b"CLIENT_ERROR" | b"SERVER_ERROR" => Kind::Error,
            number if !number.is_empty() && number.iter().all(u8::is_ascii_digit) => Kind::Done,
            _ => return Err(Error::Kind),
        })
    }
}

/// A line of an answer, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    kind: Kind,
    line: &'a [u8],
    value: Option<&'a [u8]>,
}

impl<'a> Answer<'a> {
    /// Whether the answer ends with this line.
    #[inline]
    pub fn is_last(&self) -> bool {
        !matches!(self.kind, Kind::Value | Kind::Statistic)
    }

    /// The line as it is, if it says that the request was wrong or the server failed.
    #[inline]
    pub fn error(&self) -> Option<&'a [u8]> {
        (self.kind == Kind::Error).then_some(self.line)
    }

    /// What it says: its value, or else the line; nothing where it says that there is nothing, or
    /// nothing more.
    #[inline]
    pub fn text(&self) -> Option<&'a [u8]> {
        self.value.or_else(|| (self.kind != Kind::Nothing).then_some(self.line))
    }

    /// Whether something was there or was done: 1 or 0.
    #[inline]
    pub fn rows(&self) -> u64 {
        u64::from(!matches!(self.kind, Kind::Nothing | Kind::Undone | Kind::Error))
    }
}
