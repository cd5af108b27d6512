//! The server's side: reading what a client asks.

use super::Error;
use super::lines::{Lines, length, words};

/// Reads the requests of one connection, one after another.
#[derive(Debug, Default)]
pub struct Requests(Lines);

impl Requests {
    /// Takes the next request off the front of `input`; `None` when more must arrive, and then all
    /// of `input` is taken. After an error the connection is of no use.
    pub fn next<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Request<'s>>, Error> {
        let Some((line, value)) = self.0.next(input, announced)? else { return Ok(None) };
        Ok(Some(Request { line: ended(line), value }))
    }
}

/// A line without its end, of which memcached takes the line feed alone, too.
fn ended(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn announced(line: &[u8]) -> Result<Option<usize>, Error> {
    let mut words = words(ended(line));
    match words.next() {
        Some(b"ms") => length(words.nth(1)),
        Some(name) if is_storage(name) => length(words.nth(3)),
        _ => Ok(None),
    }
}

/// Whether a classic command of this name stores a value, whose length then is its fifth word.
pub fn is_storage(name: &[u8]) -> bool {
    matches!(name, b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas")
}

/// One request: its words, and the value that is to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    line: &'a [u8],
    /// The value, where the command stores one.
    pub value: Option<&'a [u8]>,
}

impl<'a> Request<'a> {
    /// Its words; none for an empty line.
    pub fn words(&self) -> impl Iterator<Item = &'a [u8]> + Clone {
        words(self.line)
    }

    /// Its name, as it is written; empty for an empty line.
    pub fn name(&self) -> &'a [u8] {
        self.words().next().unwrap_or_default()
    }

    /// The flags of a meta command, behind its key and the length of its value.
    pub fn flags(&self) -> impl Iterator<Item = &'a [u8]> + Clone {
        self.words().skip(2 + usize::from(self.value.is_some()))
    }

    /// Whether no answer is wanted where all goes as it mostly does: `q` of a meta command,
    /// `noreply` of a classic one.
    pub fn is_quiet(&self) -> bool {
        match self.name() {
            b"get" | b"gets" | b"gat" | b"gats" => false,
            meta if meta.len() == 2 => self.flags().any(|flag| flag == b"q"),
            _ => self.words().skip(2).last() == Some(b"noreply"),
        }
    }
}
