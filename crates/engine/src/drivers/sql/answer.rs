//! What an operation's answer must be: `expect.rows`, `expect.first` and `expect.keyed`.

use std::fmt;

use crate::error::PlanError;
use crate::template::{Piece, Template, Values, pieces};
use crate::values::{Drawn, ValueId};
use crate::workload::{Client, OperationInfo, Program};

/// What the answers of an operation must be, compiled.
#[derive(Clone, Debug)]
pub struct Expectation {
    rows: Option<Rows>,
    first: Option<Template>,
    keyed: Option<ValueId>,
}

/// How many rows there must be.
#[derive(Clone, Copy, Debug)]
pub enum Rows {
    /// Always so many.
    Exactly(u64),
    /// As many as this list has elements, or as this number says.
    Drawn(ValueId),
}

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// `expect.rows` was drawn as something else than a number.
    NoNumber,
    /// Fewer rows came, or were changed, than expected.
    Fewer,
    /// More rows did.
    More,
    /// The first row's first column is another.
    First,
    /// A first row was expected and none came.
    NoRow,
    /// A row has no second column to hold against the first.
    NoColumn,
    /// A row's key is null.
    NullKey,
    /// A row's second column is another than its key says.
    Row,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wrong::NoNumber => "`expect.rows` is no number of rows",
            Wrong::Fewer => "fewer rows than expected",
            Wrong::More => "more rows than expected",
            Wrong::First => "the first column is not as expected",
            Wrong::NoRow => "no row, so no first column",
            Wrong::NoColumn => "`expect.keyed` needs two columns",
            Wrong::NullKey => "a row's key is null",
            Wrong::Row => "a row is not what its key says",
        })
    }
}

/// A column of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// Text, or anything else as the server writes it.
    Text(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl<'a> Cell<'a> {
    /// Whether the column, written as text, is `expected`; null is never.
    fn is(self, expected: &[u8]) -> bool {
        match self {
            Cell::Text(text) | Cell::Bytes(text) => text == expected,
            Cell::Integer(integer) => itoa::Buffer::new().format(integer).as_bytes() == expected,
            Cell::Real(real) => real.to_string().as_bytes() == expected,
            Cell::Null => false,
        }
    }

    /// The column as the key of a value; null is none.
    fn key(self) -> Option<Drawn<'a>> {
        Some(match self {
            Cell::Null => return None,
            Cell::Integer(integer) => Drawn::Integer(integer),
            Cell::Real(real) => Drawn::Real(real),
            Cell::Text(text) => Drawn::Text(text),
            Cell::Bytes(bytes) => Drawn::Bytes(bytes),
        })
    }
}

impl Expectation {
    /// Compiles what an operation expects.
    pub fn compile(program: &Program, operation: &OperationInfo) -> Result<Expectation, PlanError> {
        let field = |key: &str| format!("{}.expect.{key}", operation.field);
        let expect = &operation.plan.expect;
        let rows = expect.rows.as_ref();
        let rows = rows.map(|rows| Rows::compile(rows, program, operation, &field("rows")));
        let first = expect.first.as_ref().map(|first| program.template(first, &field("first")));
        let keyed = expect.keyed.as_ref().map(|name| program.keyed_value(name, &field("keyed")));
        Ok(Expectation {
            rows: rows.transpose()?,
            first: first.transpose()?,
            keyed: keyed.transpose()?,
        })
    }

    /// Whether rows are counted.
    pub fn counts(&self) -> bool {
        self.rows.is_some()
    }

    /// How many columns of each row are looked at.
    pub fn columns(&self) -> usize {
        if self.keyed.is_some() { 2 } else { usize::from(self.first.is_some()) }
    }
}

impl Rows {
    /// A number, or `${name}` of a number or a list.
    pub fn compile(
        text: &str,
        program: &Program,
        operation: &OperationInfo,
        field: &str,
    ) -> Result<Rows, PlanError> {
        if let Ok(count) = text.parse() {
            return Ok(Rows::Exactly(count));
        }
        let why = "a number, or `${list}` for a list's length, is needed";
        let [Piece::Mention(name)] = pieces(text, field)?[..] else {
            return Err(PlanError::new(field, text, why));
        };
        let id = program.id(name, field, text)?;
        if operation.each == Some(id) && operation.is_stepped() {
            let why = format!("with `for_each: {name}` it stands for one element");
            return Err(PlanError::new(field, text, why));
        }
        Ok(Rows::Drawn(id))
    }

    /// The number, if it is one.
    pub fn count(self, client: &Client) -> Option<u64> {
        match self {
            Rows::Exactly(count) => Some(count),
            Rows::Drawn(id) => match client.drawn(id) {
                Drawn::List(list) => Some(list.len() as u64),
                Drawn::Integer(count) => u64::try_from(count).ok(),
                _ => None,
            },
        }
    }
}

/// One answer as it is held against what is expected; its buffers are reused.
#[derive(Clone, Debug, Default)]
pub struct Checking {
    rows: Option<u64>,
    first: Vec<u8>,
    found: u64,
    wrong: Option<Wrong>,
    text: Vec<u8>,
}

impl Checking {
    /// Notes what the next answer must be, while the values it is made from are there.
    #[inline]
    pub fn begin(&mut self, expect: &Expectation, client: &Client) {
        (self.rows, self.found, self.wrong) = (None, 0, None);
        if let Some(rows) = expect.rows {
            self.rows = rows.count(client);
            self.wrong = self.rows.is_none().then_some(Wrong::NoNumber);
        }
        if let Some(first) = &expect.first {
            self.first.clear();
            first.render(client, &mut self.first);
        }
    }

    /// Takes a row, of which `cell` gives the column of an index; whether all was right so far.
    #[inline]
    pub fn row<'a>(
        &mut self,
        expect: &Expectation,
        program: &Program,
        cell: impl Fn(usize) -> Option<Cell<'a>>,
    ) -> bool {
        if expect.first.is_some()
            && self.found == 0
            && !cell(0).is_some_and(|cell| cell.is(&self.first))
        {
            self.wrong.get_or_insert(Wrong::First);
        }
        if let Some(id) = expect.keyed {
            let wrong = match (cell(0).map(Cell::key), cell(1)) {
                (Some(Some(key)), Some(value)) => {
                    let right = match value {
                        Cell::Text(found) | Cell::Bytes(found) => {
                            program.holds(id, key, found, &mut self.text)
                        }
                        other => {
                            program.keyed(id, key, &mut self.text);
                            other.is(&self.text)
                        }
                    };
                    (!right).then_some(Wrong::Row)
                }
                (Some(None), Some(_)) => Some(Wrong::NullKey),
                _ => Some(Wrong::NoColumn),
            };
            self.wrong = self.wrong.or(wrong);
        }
        self.found += 1;
        self.wrong.is_none()
    }

    /// The answer is whole; `changed` rows were changed where none came back.
    #[inline]
    pub fn end(&mut self, expect: &Expectation, changed: u64) -> Result<(), Wrong> {
        let found = if self.found == 0 { changed } else { self.found };
        let first = (self.found == 0 && expect.first.is_some()).then_some(Wrong::NoRow);
        let rows = match self.rows {
            Some(expected) if found < expected => Some(Wrong::Fewer),
            Some(expected) if found > expected => Some(Wrong::More),
            _ => None,
        };
        self.wrong.or(first).or(rows).map_or(Ok(()), Err)
    }
}
