//! The server's side: reading what a client asks.

use super::scan::{Header, header, line};
use super::{Error, MAX_LINE_BYTES, Messages};

/// Reads the commands of one connection, one after another.
#[derive(Debug, Default)]
pub struct Commands {
    messages: Messages,
    /// A command on a line of its own that has not come whole, or was handed out.
    inline: Vec<u8>,
    used: bool,
}

impl Commands {
    /// Takes the next command off the front of `input`; `None` when more must arrive, and then all
    /// of `input` is taken. After an error the connection is of no use.
    pub fn next<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Command<'s>>, Error> {
        if std::mem::take(&mut self.used) {
            self.inline.clear();
        }
        let first = input.first().copied();
        if self.inline.is_empty() && (self.messages.is_torn() || first == Some(b'*')) {
            let message = self.messages.next(input)?;
            return message.map(Command::new).transpose();
        }
        let end = memchr::memchr(b'\n', input).map_or(input.len(), |end| end + 1);
        let (part, rest) = input.split_at(end);
        *input = rest;
        self.inline.extend_from_slice(part);
        if self.inline.len() > MAX_LINE_BYTES {
            return Err(Error::TooLong);
        }
        if !self.inline.ends_with(b"\n") {
            return Ok(None);
        }
        self.used = true;
        Ok(Some(Command(Form::Line(&self.inline))))
    }
}

/// One command: a name and its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a>(Form<'a>);

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    /// Strings with their headers, behind the array's own.
    Strings(&'a [u8]),
    /// Words on a line.
    Line(&'a [u8]),
}

impl<'a> Command<'a> {
    /// A command of a whole message; an error when that is not an array of strings.
    fn new(message: &'a [u8]) -> Result<Command<'a>, Error> {
        let (head, length) = line(message)?.ok_or(Error::Request)?;
        let Header::Values(count) = header(head)? else { return Err(Error::Request) };
        let command = Command(Form::Strings(&message[length..]));
        // A value that is no string ends the iteration early.
        if command.arguments().count() == count { Ok(command) } else { Err(Error::Request) }
    }

    /// Its name, as it is written; empty for an empty line.
    pub fn name(&self) -> &'a [u8] {
        self.arguments().next().unwrap_or_default()
    }

    /// Its name and arguments.
    pub fn arguments(&self) -> Arguments<'a> {
        Arguments(self.0)
    }
}

/// Goes through a command's name and arguments.
#[derive(Clone, Debug)]
pub struct Arguments<'a>(Form<'a>);

impl<'a> Iterator for Arguments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        match &mut self.0 {
            Form::Strings(bytes) => {
                let (head, length) = line(bytes).ok()??;
                let (b'$', Header::Bytes(size)) = (*head.first()?, header(head).ok()?) else {
                    return None;
                };
                let (text, rest) = bytes[length..].split_at_checked(size)?;
                *bytes = rest.get(2..)?;
                Some(text)
            }
            Form::Line(bytes) => {
                *bytes = bytes.trim_ascii_start();
                let end = bytes.iter().position(u8::is_ascii_whitespace).unwrap_or(bytes.len());
                let (word, rest) = bytes.split_at(end);
                *bytes = rest;
                (!word.is_empty()).then_some(word)
            }
        }
    }
}
