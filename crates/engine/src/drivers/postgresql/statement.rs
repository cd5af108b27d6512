//! A statement in this server's words: prepared and bound, written out, or rows of a COPY.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;

use wire::postgresql::{Error, Format, Message, ask, oid};

use crate::drivers::sql::{Cell, Dialect, Effect, Part, Sql};
use crate::error::PlanError;
use crate::plan::Request;
use crate::template::{Template, Values};
use crate::values::{Drawn, ValueId};
use crate::workload::{Client, OperationIndex, OperationInfo, Program};

/// What an operation asks.
pub(super) enum Statement {
    Sql {
        sql: Sql,
        /// The greatest lengths of its lists.
        most: Vec<usize>,
    },
    Copy(Copy),
}

impl Statement {
    pub(super) fn compile(
        program: &Program,
        operation: &OperationInfo,
    ) -> Result<Statement, PlanError> {
        if let Request::Copy(copy) = &operation.plan.request {
            let field = |index| format!("{}.request.copy.row[{index}]", operation.field);
            let templates = copy.row.iter().enumerate();
            let row = templates.map(|(index, text)| program.template(text, &field(index)));
            let row = row.collect::<Result<Vec<_>, _>>()?;
            return Ok(Statement::Copy(Copy { into: copy.into.clone(), row }));
        }
        let sql = Sql::compile(program, operation, Dialect::PostgreSql)?;
        let most = sql.lists().filter_map(|list| program.list_len(list)).collect();
        Ok(Statement::Sql { sql, most })
    }

    pub(super) fn effect(&self) -> Effect {
        match self {
            Statement::Sql { sql, .. } => sql.effect,
            Statement::Copy(_) => Effect::Writes,
        }
    }
}

/// Many rows at once.
pub(super) struct Copy {
    into: String,
    row: Vec<Template>,
}

impl Copy {
    /// Writes the statement and at once its rows: a server that refuses it passes them by.
    pub(super) fn write(
        &self,
        program: &Program,
        operation: OperationIndex,
        client: &Client,
        room: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        ask::query(out, |out| {
            write!(out, "COPY {} FROM STDIN", self.into).expect("a vector takes all bytes");
        })?;
        ask::copy_data(out, |out| {
            program.for_each(client, operation, |client| {
                for (index, column) in self.row.iter().enumerate() {
                    out.extend_from_slice(if index > 0 { b"\t" } else { b"" });
                    room.clear();
                    match column.value().map(|id| client.drawn(id)) {
                        Some(Drawn::Bytes(bytes)) => {
                            hexadecimal(bytes, room);
                        }
                        _ => column.render(client, room),
                    }
                    escape(room, out);
                }
                out.push(b'\n');
            });
        });
        ask::copy_done(out);
        Ok(())
    }
}

/// Takes their meaning from characters that have one in the text format of COPY.
fn escape(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            other => out.push(other),
        }
    }
}

fn hexadecimal(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"\\x");
    for byte in bytes {
        write!(out, "{byte:02x}").expect("a vector takes all bytes");
    }
}

/// The bytes that a text such as `\x0aff` stands for.
pub(super) fn from_hexadecimal(text: &[u8], out: &mut Vec<u8>) {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
    let digits = text.strip_prefix(b"\\x").unwrap_or_default();
    out.extend(digits.as_chunks().0.iter().map(|[high, low]| digit(*high) << 4 | digit(*low)));
}

/// How many elements a list has now.
pub(super) fn length(list: ValueId, client: &Client) -> usize {
    match client.drawn(list) {
        Drawn::List(elements) => elements.len(),
        _ => 1,
    }
}

/// How a column that is looked at is to be understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Column {
    #[default]
    Text,
    Integer,
    Real,
    Bytes,
    /// Bytes written as text.
    Hexadecimal,
}

impl Column {
    /// Of the first two columns, whose types these are and which come as text.
    pub(super) fn of(mut types: impl Iterator<Item = u32>) -> [Column; 2] {
        let mut next = || match types.next() {
            Some(oid::INT2 | oid::INT4 | oid::INT8) => Column::Integer,
            Some(oid::FLOAT4 | oid::FLOAT8) => Column::Real,
            Some(oid::BYTEA) => Column::Hexadecimal,
            _ => Column::Text,
        };
        [next(), next()]
    }

    /// A value of the column; `decoded` is what it stands for where it is hexadecimal.
    pub(super) fn cell<'a>(self, bytes: &'a [u8], decoded: &'a [u8]) -> Cell<'a> {
        let text = || std::str::from_utf8(bytes).ok();
        match self {
            Column::Text => Cell::Text(bytes),
            Column::Bytes => Cell::Bytes(bytes),
            Column::Hexadecimal => Cell::Bytes(decoded),
            Column::Integer => {
                let number = text().and_then(|text| text.parse().ok());
                number.map_or(Cell::Text(bytes), Cell::Integer)
            }
            Column::Real => {
                let number = text().and_then(|text| text.parse().ok());
                number.map_or(Cell::Text(bytes), Cell::Real)
            }
        }
    }
}

/// What a connection knows of an operation's statement.
#[derive(Default)]
pub(super) struct Prepared {
    /// Whether it is prepared for the greatest lengths of its lists.
    most: bool,
    /// The other lengths it is prepared for.
    others: HashSet<Vec<usize>>,
    /// Whether types and columns are known.
    pub(super) is_known: bool,
    /// By value: the type of its parameters.
    types: Vec<u32>,
    /// What is wanted of the columns; none for all as text.
    results: Vec<Format>,
    /// The first two columns as they come then.
    pub(super) columns: [Column; 2],
}

impl Prepared {
    /// How many lengths of lists a connection keeps a statement for.
    pub(super) const MOST: usize = 64;

    /// Writes the rest of the name of the statement for lists of these lengths, behind how all of
    /// them begin, and tells whether it is prepared.
    #[inline]
    pub(super) fn name(
        &self,
        index: OperationIndex,
        lengths: &[usize],
        most: &[usize],
        name: &mut String,
    ) -> bool {
        name.push_str(itoa::Buffer::new().format(index));
        if lengths == most {
            return self.most;
        }
        if !self.others.contains(lengths) && self.others.len() >= Prepared::MOST {
            // The statement without a name lasts until the next one without a name.
            name.clear();
            return false;
        }
        for length in lengths {
            write!(name, "_{length}").expect("a string takes all text");
        }
        self.others.contains(lengths)
    }

    /// Learns from what the server says while the connection opens.
    pub(super) fn learn(&mut self, message: &Message<'_>, statement: &Statement) {
        let Statement::Sql { most, .. } = statement else { return };
        match message {
            Message::ParseComplete => self.most = true,
            Message::Parameters(types) => self.learn_types(types.iter(), statement, most),
            Message::Columns(columns) => self.learn_columns(columns.types()),
            _ => {}
        }
    }

    /// The statement for lists of these lengths is there from now on.
    pub(super) fn keep(&mut self, lengths: &[usize], statement: &Statement) {
        let Statement::Sql { most, .. } = statement else { return };
        if lengths == most.as_slice() {
            self.most = true;
        } else if self.others.len() < Prepared::MOST {
            self.others.insert(lengths.to_vec());
        }
    }

    /// Learns the types of all parameters, as they are for lists of these lengths.
    pub(super) fn learn_types(
        &mut self,
        types: impl Iterator<Item = u32>,
        statement: &Statement,
        lengths: &[usize],
    ) {
        let Statement::Sql { sql, .. } = statement else { return };
        let (mut types, mut lengths) = (types, lengths.iter());
        self.is_known = true;
        self.types.clear();
        for part in sql.parts() {
            match part {
                Part::Literal(_) => {}
                Part::Value(_) => self.types.extend(types.next()),
                Part::List(_) => {
                    let length = lengths.next().copied().unwrap_or(0);
                    let first = types
                        .by_ref()
                        .take(length)
                        .fold(0, |first, next| if first == 0 { next } else { first });
                    self.types.push(first);
                }
            }
        }
    }

    /// Learns the types of the columns: bytes are wanted as they are, all else as text.
    pub(super) fn learn_columns(&mut self, types: impl Iterator<Item = u32> + Clone) {
        self.columns = Column::of(types.clone());
        self.results.clear();
        if types.clone().any(|found| found == oid::BYTEA) {
            let format = |found| if found == oid::BYTEA { Format::Binary } else { Format::Text };
            self.results.extend(types.map(format));
            for column in &mut self.columns {
                if *column == Column::Hexadecimal {
                    *column = Column::Bytes;
                }
            }
        }
    }

    /// Binds the values to the statement of this name.
    #[inline]
    pub(super) fn bind(
        &self,
        name: &str,
        sql: &Sql,
        client: &Client,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let kind = |place: usize| self.types.get(place).copied().unwrap_or(0);
        let formats = sql.values().enumerate().flat_map(|(place, id)| {
            let drawn = client.drawn(id);
            let count = if let Drawn::List(list) = drawn { list.len() } else { 1 };
            std::iter::repeat_n(format(kind(place), drawn), count)
        });
        let mut bind = ask::Bind::new(name, formats, out)?;
        for (place, id) in sql.values().enumerate() {
            let (drawn, kind) = (client.drawn(id), kind(place));
            let format = format(kind, drawn);
            if let Drawn::List(list) = drawn {
                for &element in list {
                    let element = Drawn::Integer(element);
                    bind.parameter(|out| parameter(kind, format, element, out));
                }
            } else {
                bind.parameter(|out| parameter(kind, format, drawn, out));
            }
        }
        bind.finish(&self.results);
        Ok(())
    }
}

/// How a value is written for a parameter of this type. A number that the type has no room for is
/// text, which the server refuses in its own words.
#[inline]
fn format(kind: u32, drawn: Drawn<'_>) -> Format {
    let fits = |number: i64| match kind {
        oid::INT2 => i16::try_from(number).is_ok(),
        oid::INT4 => i32::try_from(number).is_ok(),
        _ => true,
    };
    let binary = match (kind, drawn) {
        (oid::INT2 | oid::INT4 | oid::INT8, Drawn::Integer(number)) => fits(number),
        (oid::INT2 | oid::INT4 | oid::INT8, Drawn::List(list)) => {
            list.iter().all(|&number| fits(number))
        }
        (oid::FLOAT4 | oid::FLOAT8, Drawn::Real(_))
        | (oid::BYTEA, Drawn::Text(_) | Drawn::Bytes(_)) => true,
        _ => false,
    };
    if binary { Format::Binary } else { Format::Text }
}

#[inline]
fn parameter(kind: u32, format: Format, drawn: Drawn<'_>, out: &mut Vec<u8>) {
    match (format, kind, drawn) {
        (Format::Binary, oid::INT2, Drawn::Integer(number)) => {
            out.extend_from_slice(&(number as i16).to_be_bytes());
        }
        (Format::Binary, oid::INT4, Drawn::Integer(number)) => {
            out.extend_from_slice(&(number as i32).to_be_bytes());
        }
        (Format::Binary, _, Drawn::Integer(number)) => {
            out.extend_from_slice(&number.to_be_bytes());
        }
        (Format::Binary, oid::FLOAT4, Drawn::Real(real)) => {
            out.extend_from_slice(&(real as f32).to_be_bytes());
        }
        (Format::Binary, _, Drawn::Real(real)) => out.extend_from_slice(&real.to_be_bytes()),
        // Of a type that is not known, bytes can only be bytes.
        (Format::Text, 0, Drawn::Bytes(bytes)) => hexadecimal(bytes, out),
        (_, _, drawn) => drawn.render(out),
    }
}

/// Writes the statement with its values as literals.
pub(super) fn write_literals(sql: &Sql, client: &Client, out: &mut Vec<u8>) {
    for part in sql.parts() {
        match part {
            Part::Literal(text) => out.extend_from_slice(text.as_bytes()),
            Part::Value(id) => literal(client.drawn(*id), out),
            Part::List(id) => {
                if let Drawn::List(list) = client.drawn(*id) {
                    for (index, &element) in list.iter().enumerate() {
                        out.extend_from_slice(if index > 0 { b"," } else { b"" });
                        literal(Drawn::Integer(element), out);
                    }
                }
            }
        }
    }
}

fn literal(drawn: Drawn<'_>, out: &mut Vec<u8>) {
    let negative =
        matches!(drawn, Drawn::Integer(..0)) || matches!(drawn, Drawn::Real(r) if r < 0.0);
    match drawn {
        // Behind a minus, another would begin a comment.
        Drawn::Integer(_) | Drawn::Real(_) if negative => {
            out.push(b'(');
            drawn.render(out);
            out.push(b')');
        }
        Drawn::Integer(_) | Drawn::Real(_) | Drawn::List(_) => drawn.render(out),
        Drawn::Bytes(bytes) => {
            out.push(b'\'');
            hexadecimal(bytes, out);
            out.extend_from_slice(b"'::bytea");
        }
        Drawn::Text(text) => {
            let escapes = text.contains(&b'\\');
            out.extend_from_slice(if escapes { b" E'" } else { b"'" });
            for &byte in text {
                if byte == b'\'' || byte == b'\\' {
                    out.push(byte);
                }
                out.push(byte);
            }
            out.push(b'\'');
        }
    }
}
