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
        Ok(Some(Answer { line, value }))
    }
}

/// The length of the value that a line announces.
#[inline]
fn announced(line: &[u8]) -> Result<Option<usize>, Error> {
    let line = line.strip_suffix(b"\r\n").ok_or(Error::End)?;
    if line.starts_with(b"VALUE ") {
        length(words(line).nth(3))
    } else if line.starts_with(b"VA ") {
        length(words(line).nth(1))
    } else {
        Ok(None)
    }
}

/// A line of an answer, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    line: &'a [u8],
    value: Option<&'a [u8]>,
}

impl<'a> Answer<'a> {
    /// Whether the answer ends with this line; after a classic value or a statistic others follow.
    #[inline]
    pub fn is_last(&self) -> bool {
        !self.line.starts_with(b"VALUE ") && !self.line.starts_with(b"STAT ")
    }

    /// The line as it is, if it says that the request was wrong or the server failed.
    #[inline]
    pub fn error(&self) -> Option<&'a [u8]> {
        let failed = self.line == b"ERROR"
            || [&b"CLIENT_ERROR "[..], b"SERVER_ERROR "].iter().any(|e| self.line.starts_with(e));
        failed.then_some(self.line)
    }

    /// What it says: its value, or else the line; nothing where it says that there is nothing, or
    /// nothing more.
    #[inline]
    pub fn text(&self) -> Option<&'a [u8]> {
        self.value.or_else(|| (!matches!(self.line, b"END" | b"EN")).then_some(self.line))
    }

    /// Whether something was there or was done: 1 or 0.
    #[inline]
    pub fn rows(&self) -> u64 {
        const NOTHING: [&[u8]; 8] =
            [b"END", b"EN", b"NF", b"NS", b"EX", b"NOT_FOUND", b"NOT_STORED", b"EXISTS"];
        let word = self.line.split(|&byte| byte == b' ').next().unwrap_or_default();
        u64::from(!NOTHING.contains(&word))
    }

    /// The words of the line: what it is, and what is told beside a value.
    pub fn words(&self) -> impl Iterator<Item = &'a [u8]> + Clone {
        words(self.line)
    }
}
