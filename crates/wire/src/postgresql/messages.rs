//! What a server says.

use super::{Error, Inside, MAX_MESSAGE_BYTES, length};
use crate::frames::Frames;

/// The messages of one server.
#[derive(Debug)]
pub struct Messages {
    frames: Frames,
}

impl Default for Messages {
    fn default() -> Self {
        Messages { frames: Frames::new(MAX_MESSAGE_BYTES) }
    }
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// What the server wants to know before it lets anyone in.
    Authentication(Authentication<'a>),
    /// Parameters are bound to a statement.
    BindComplete,
    /// A statement or portal is closed.
    CloseComplete,
    /// A statement is done; its tag, e.g. `SELECT 1`.
    Complete(&'a [u8]),
    /// The server waits for the rows of a COPY.
    CopyIn,
    /// A row.
    Row(Row<'a>),
    /// There was no statement.
    Empty,
    /// The statement failed, or the connection.
    Error(Complaint<'a>),
    /// The statement gives no rows.
    NoData,
    /// The types of a statement's parameters.
    Parameters(Types<'a>),
    /// A statement is prepared.
    ParseComplete,
    /// As many rows as were asked for have come, and there are more.
    Suspended,
    /// The next request may be sent.
    Ready(Status),
    /// The columns of the rows to come.
    Columns(Columns<'a>),
    /// A notice, a setting, a notification, a key for cancelling: nothing that was asked for.
    Aside,
}

/// What the server wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// Nothing more.
    Ok,
    /// The password as it is.
    Password,
    /// Its MD5 with this salt.
    Md5([u8; 4]),
    /// One of these mechanisms of SASL, each ended by a zero byte.
    Sasl(&'a [u8]),
    /// More of the mechanism chosen.
    SaslContinue(&'a [u8]),
    /// The mechanism's last word.
    SaslFinal(&'a [u8]),
    /// Something else; the protocol's number of it.
    Other(u32),
}

/// Whether a transaction is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// None is.
    #[default]
    Idle,
    /// One is.
    Open,
    /// One is, that has failed: only its end is taken.
    Failed,
}

/// A row of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    count: u16,
    bytes: &'a [u8],
}

impl<'a> Row<'a> {
    /// Its values in order; `None` is null.
    pub fn values(self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let mut inside = Inside { kind: b'D', bytes: self.bytes };
        (0..self.count).map_while(move |_| inside.value().ok())
    }
}

/// The types of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types<'a>(&'a [u8]);

impl Types<'_> {
    /// Their identifiers in order.
    pub fn iter(self) -> impl Iterator<Item = u32> + Clone {
        self.0.as_chunks().0.iter().map(|bytes| u32::from_be_bytes(*bytes))
    }
}

/// The columns of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns<'a> {
    count: u16,
    bytes: &'a [u8],
}

impl Columns<'_> {
    /// The identifiers of their types in order.
    pub fn types(self) -> impl Iterator<Item = u32> + Clone {
        let mut inside = Inside { kind: b'T', bytes: self.bytes };
        (0..self.count).map_while(move |_| column(&mut inside).ok())
    }
}

/// A column's type.
fn column(inside: &mut Inside<'_>) -> Result<u32, Error> {
    inside.text()?;
    // The table, and the column's place in it.
    inside.take(6)?;
    let found = inside.long()?;
    // The type's length, its modifier, the format.
    inside.take(8)?;
    Ok(found)
}

/// What the server complains of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complaint<'a> {
    /// The SQLSTATE, five characters.
    pub code: &'a [u8],
    /// What is wrong, in a line.
    pub message: &'a [u8],
    /// Whether the connection is over.
    pub fatal: bool,
}

impl Messages {
    /// Forgets what was torn, for a new connection.
    pub fn reset(&mut self) {
        self.frames.reset();
    }

    /// Whether a message has begun that has not come whole.
    pub fn is_torn(&self) -> bool {
        self.frames.is_torn()
    }

    /// Takes the next message off the front of `input`; `None` when more must arrive, and then all
    /// of `input` is taken. After an error the connection is of no use.
    #[inline]
    pub fn next<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Message<'s>>, Error> {
        let frame = self.frames.next(input, |bytes| length(bytes, is_kind))?;
        frame.map(|bytes| parse(bytes[0], &bytes[5..])).transpose()
    }
}

fn is_kind(kind: u8) -> bool {
    b"12345ACDEGHIKNRSTVWZcdnstv".contains(&kind)
}

fn parse(kind: u8, bytes: &[u8]) -> Result<Message<'_>, Error> {
    let mut inside = Inside { kind, bytes };
    let bare = |message| if bytes.is_empty() { Ok(message) } else { Err(Error::Malformed(kind)) };
    match kind {
        b'2' => bare(Message::BindComplete),
        b'D' => {
            let count = inside.short()?;
            let row = Row { count, bytes: inside.bytes };
            for _ in 0..count {
                inside.value()?;
            }
            inside.end()?;
            Ok(Message::Row(row))
        }
        b'C' => {
            let tag = inside.text()?;
            inside.end()?;
            Ok(Message::Complete(tag))
        }
        b'Z' => Ok(Message::Ready(match bytes {
            b"I" => Status::Idle,
            b"T" => Status::Open,
            b"E" => Status::Failed,
            _ => return Err(Error::Malformed(kind)),
        })),
        b'1' => bare(Message::ParseComplete),
        b'3' => bare(Message::CloseComplete),
        b'n' => bare(Message::NoData),
        b'I' => bare(Message::Empty),
        b's' => bare(Message::Suspended),
        b't' => {
            let count = inside.short()?;
            let types = inside.take(4 * usize::from(count))?;
            inside.end()?;
            Ok(Message::Parameters(Types(types)))
        }
        b'T' => {
            let count = inside.short()?;
            let columns = Columns { count, bytes: inside.bytes };
            for _ in 0..count {
                column(&mut inside)?;
            }
            inside.end()?;
            Ok(Message::Columns(columns))
        }
        b'E' => complaint(inside).map(Message::Error),
        b'G' => Ok(Message::CopyIn),
        b'R' => authentication(inside).map(Message::Authentication),
        b'A' | b'K' | b'N' | b'S' | b'v' => Ok(Message::Aside),
        // Rows of a COPY to the client, replication, function calls: nobody here asks for them.
        other => Err(Error::Unexpected(other)),
    }
}

fn complaint(mut inside: Inside<'_>) -> Result<Complaint<'_>, Error> {
    let mut complaint = Complaint { code: b"", message: b"", fatal: false };
    let mut severity: &[u8] = b"";
    loop {
        match inside.byte()? {
            0 => break,
            b'C' => complaint.code = inside.text()?,
            b'M' => complaint.message = inside.text()?,
            // The severity that is not translated takes the place of the one that is.
            b'V' => severity = inside.text()?,
            b'S' if severity.is_empty() => severity = inside.text()?,
            _ => _ = inside.text()?,
        }
    }
    complaint.fatal = matches!(severity, b"FATAL" | b"PANIC");
    Ok(complaint)
}

fn authentication(mut inside: Inside<'_>) -> Result<Authentication<'_>, Error> {
    Ok(match inside.long()? {
        0 => Authentication::Ok,
        3 => Authentication::Password,
        5 => {
            let salt = inside.take(4)?;
            Authentication::Md5([salt[0], salt[1], salt[2], salt[3]])
        }
        10 => Authentication::Sasl(inside.bytes),
        11 => Authentication::SaslContinue(inside.bytes),
        12 => Authentication::SaslFinal(inside.bytes),
        other => Authentication::Other(other),
    })
}

/// How many rows a tag such as `UPDATE 3` or `INSERT 0 1` speaks of; 0 where of none.
pub fn affected(tag: &[u8]) -> u64 {
    let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    tag[tag.len() - digits..]
        .iter()
        .fold(0u64, |sum, digit| sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}
