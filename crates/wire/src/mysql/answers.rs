//! What a server answers to a command, read as it arrives.

use super::bytes::Bytes;
use super::fields::{Column, Columns, Row};
use super::{Error, Packets, Session, capability, status};

/// A statement was carried out, or its rows have all come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows that were changed (or found to be changed); 0 behind rows.
    pub affected: u64,
    /// The number that the server gave to a new row.
    pub last_insert: u64,
    /// The server's state.
    pub status: u16,
    /// How many warnings there are.
    pub warnings: u16,
}

impl Done {
    /// Reads an OK.
    pub(super) fn read(payload: &[u8]) -> Result<Done, Error> {
        let mut bytes = Bytes(payload);
        let _header = bytes.u8()?;
        let (affected, last_insert) = (bytes.length()?, bytes.length()?);
        Ok(Done { affected, last_insert, status: bytes.u16()?, warnings: bytes.u16()? })
    }

    /// Reads what stands behind rows for a client that knows of no OK there.
    fn read_end(payload: &[u8]) -> Result<Done, Error> {
        let mut bytes = Bytes(payload);
        let _header = bytes.u8()?;
        let warnings = bytes.u16()?;
        Ok(Done { warnings, status: bytes.u16()?, ..Done::default() })
    }

    /// Whether another answer to the same command follows.
    pub fn more_follow(&self) -> bool {
        self.status & status::MORE_RESULTS != 0
    }

    /// Whether a transaction is open.
    pub fn in_transaction(&self) -> bool {
        self.status & status::IN_TRANSACTION != 0
    }
}

/// Why a server did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// The server's number for it, e.g. 1062.
    pub code: u16,
    /// The standard's letters for it, e.g. `23000`.
    pub state: [u8; 5],
    /// What the server says to people.
    pub message: &'a [u8],
}

impl<'a> Refusal<'a> {
    pub(super) fn read(payload: &'a [u8]) -> Result<Refusal<'a>, Error> {
        let mut bytes = Bytes(payload);
        let _header = bytes.u8()?;
        let code = bytes.u16()?;
        let (mut state, mut message) = (*b"HY000", bytes.0);
        if let Some((marked, rest)) = bytes.0.split_first_chunk::<6>()
            && marked[0] == b'#'
        {
            state.copy_from_slice(&marked[1..]);
            message = rest;
        }
        Ok(Refusal { code, state, message })
    }
}

/// A statement that the server has prepared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The number it is executed by.
    pub statement: u32,
    /// How many values it takes.
    pub parameters: u16,
    /// How many columns its rows have; 0 when it gives none.
    pub columns: u16,
}

/// What was asked, which decides how the answer is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A statement as text, or any other command that is answered by OK.
    #[default]
    Text,
    /// A prepared statement's execution.
    Execute,
    /// The preparation of a statement.
    Prepare,
}

/// What came next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The input is used up and the answer goes on.
    More,
    /// Something was taken in that is of no use to the caller; go on.
    Onward,
    /// A row.
    Row(Row<'a>),
    /// The answer is whole, unless [`Done::more_follow`].
    Done(Done),
    /// The answer is whole: the server refuses.
    Refused(Refusal<'a>),
    /// The answer is whole: the statement is prepared.
    Prepared(Prepared),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// At the beginning of an answer.
    #[default]
    First,
    /// This many columns are still to be described.
    Columns(u16),
    /// An end that stands between columns and rows for older clients.
    ColumnsEnd,
    Rows,
    /// Descriptions of a prepared statement's values and columns, and the ends behind each.
    Describing {
        prepared: Prepared,
        left: u32,
    },
}

/// Reads the answers on one connection.
#[derive(Debug, Default)]
pub struct Answers {
    state: State,
    kind: Kind,
    /// Whether rows end with an OK and nothing stands between columns and rows.
    plain_rows: bool,
    /// Whether columns that did not change are left out.
    cached: bool,
}

/// The least payload that begins like an end of rows and is a row: its first value is so long.
const LONG_ROW_BYTES: usize = 0xff_ffff;

impl Answers {
    /// A connection is open, with what was agreed on.
    pub fn restart(&mut self, session: Session) {
        let has = |bit| session.capabilities & bit != 0;
        *self = Answers {
            plain_rows: has(capability::DEPRECATE_EOF),
            cached: has(capability::CACHE_COLUMNS),
            ..Answers::default()
        };
    }

    /// The next answer is to a command of this kind.
    pub fn begin(&mut self, kind: Kind, packets: &mut Packets) {
        self.kind = kind;
        self.state = State::First;
        packets.expect(1);
    }

    /// Takes the next event off the front of `input`.
    ///
    /// `columns` are those of the statement: described anew where the server does so, and what the
    /// rows are read by. After an error the connection is of no use.
    #[inline]
    pub fn next<'p, 'i: 'p>(
        &mut self,
        columns: &mut Columns,
        packets: &'p mut Packets,
        input: &mut &'i [u8],
    ) -> Result<Event<'p>, Error> {
        let Some(payload) = packets.next(input)? else { return Ok(Event::More) };
        if payload.first() == Some(&0xff) && !(self.state == State::Rows && is_long(payload)) {
            return Refusal::read(payload).map(Event::Refused);
        }
        match self.state {
            State::First if self.kind == Kind::Prepare => self.prepared(payload, columns),
            State::First => self.first(payload, columns),
            State::Columns(left) => {
                columns.push(Column::read(payload)?);
                self.state = match left {
                    2.. => State::Columns(left - 1),
                    _ if self.plain_rows => State::Rows,
                    _ => State::ColumnsEnd,
                };
                Ok(Event::Onward)
            }
            State::ColumnsEnd => {
                end_of_description(payload)?;
                self.state = State::Rows;
                Ok(Event::Onward)
            }
            State::Rows if payload.first() == Some(&0xfe) && !is_long(payload) => {
                let plain = self.plain_rows;
                let done = if plain { Done::read(payload)? } else { Done::read_end(payload)? };
                Ok(self.done(done))
            }
            State::Rows => Ok(Event::Row(Row::new(payload, self.kind == Kind::Execute)?)),
            State::Describing { prepared, left } => {
                self.described(payload, prepared, left, columns)
            }
        }
    }

    /// The answer's first packet: done, or how many columns the rows have.
    fn first<'p>(&mut self, payload: &[u8], columns: &mut Columns) -> Result<Event<'p>, Error> {
        match payload.first() {
            Some(0x00) => return Done::read(payload).map(|done| self.done(done)),
            Some(0xfb) => return Err(Error::LocalFile),
            _ => {}
        }
        let mut bytes = Bytes(payload);
        let count = u16::try_from(bytes.length()?).map_err(|_| MANY_COLUMNS)?;
        let described = !self.cached || bytes.u8()? != 0;
        if !bytes.0.is_empty() || count == 0 {
            return Err(Error::Malformed("neither done nor a number of columns"));
        }
        if described {
            columns.clear();
            self.state = State::Columns(count);
        } else if columns.len() == usize::from(count) {
            self.state = State::Rows;
        } else {
            return Err(Error::Malformed("other columns than were described"));
        }
        Ok(Event::Onward)
    }

    fn done<'p>(&mut self, done: Done) -> Event<'p> {
        self.state = State::First;
        Event::Done(done)
    }

    fn prepared<'p>(&mut self, payload: &[u8], columns: &mut Columns) -> Result<Event<'p>, Error> {
        let mut bytes = Bytes(payload);
        if bytes.u8()? != 0 {
            return Err(Error::Malformed("not a prepared statement"));
        }
        let statement = bytes.u32()?;
        let (count, parameters) = (bytes.u16()?, bytes.u16()?);
        let prepared = Prepared { statement, parameters, columns: count };
        columns.clear();
        let ends = |count: u16| u32::from(count) + u32::from(count > 0 && !self.plain_rows);
        Ok(self.describing(prepared, ends(parameters) + ends(count)))
    }

    fn described<'p>(
        &mut self,
        payload: &[u8],
        prepared: Prepared,
        left: u32,
        columns: &mut Columns,
    ) -> Result<Event<'p>, Error> {
        let behind = u32::from(prepared.columns > 0 && !self.plain_rows);
        let of_columns = u32::from(prepared.columns) + behind;
        let is_end = !self.plain_rows && (left == 1 || left == of_columns + 1);
        if is_end {
            end_of_description(payload)?;
        } else {
            let column = Column::read(payload)?;
            if left <= of_columns {
                columns.push(column);
            }
        }
        Ok(self.describing(prepared, left - 1))
    }

    fn describing<'p>(&mut self, prepared: Prepared, left: u32) -> Event<'p> {
        if left == 0 {
            self.state = State::First;
            return Event::Prepared(prepared);
        }
        self.state = State::Describing { prepared, left };
        Event::Onward
    }
}

const MANY_COLUMNS: Error = Error::Malformed("more columns than there can be");

/// Whether a packet among rows is too long to be an end or a refusal.
fn is_long(payload: &[u8]) -> bool {
    payload.len() >= LONG_ROW_BYTES
}

fn end_of_description(payload: &[u8]) -> Result<(), Error> {
    if payload.first() == Some(&0xfe) && payload.len() < 9 {
        Ok(())
    } else {
        Err(Error::Malformed("no end behind the columns"))
    }
}
