//! Rows and what stands in them, as the text and the binary protocol write it.

use std::fmt;

use super::Error;
use super::bytes::{Bytes, put_text};

/// What is to be known of a column to read its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    kind: u8,
    unsigned: bool,
    decimals: u8,
}

/// The columns of a statement's rows.
pub type Columns = Vec<Column>;

mod kind {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const VAR_STRING: u8 = 253;
}

const UNSIGNED: u16 = 32;

impl Column {
    /// A column of text.
    pub const TEXT: Column = Column { kind: kind::VAR_STRING, unsigned: false, decimals: 0 };
    /// A column of whole numbers of 64 bits.
    pub const INTEGER: Column = Column { kind: kind::LONGLONG, unsigned: false, decimals: 0 };

    /// Reads a description.
    pub(super) fn read(payload: &[u8]) -> Result<Column, Error> {
        let mut bytes = Bytes(payload);
        for _name in 0..6 {
            bytes.text()?;
        }
        let _fixed = bytes.length()?;
        let _charset_and_width = (bytes.u16()?, bytes.u32()?);
        let (kind, flags) = (bytes.u8()?, bytes.u16()?);
        Ok(Column { kind, unsigned: flags & UNSIGNED != 0, decimals: bytes.u8()? })
    }

    /// Appends a description under this name.
    pub(super) fn write(self, name: &str, out: &mut Vec<u8>) {
        const WIDTH: u32 = 1024;
        const UTF8MB4: u16 = 45;
        for text in ["def", "", "", "", name, name] {
            put_text(text.as_bytes(), out);
        }
        out.push(0x0c);
        out.extend_from_slice(&UTF8MB4.to_le_bytes());
        out.extend_from_slice(&WIDTH.to_le_bytes());
        out.push(self.kind);
        out.extend_from_slice(&(if self.unsigned { UNSIGNED } else { 0 }).to_le_bytes());
        out.extend_from_slice(&[self.decimals, 0, 0]);
    }

    fn is_integer(self) -> bool {
        use kind::{INT24, LONG, LONGLONG, SHORT, TINY, YEAR};
        matches!(self.kind, TINY | SHORT | LONG | LONGLONG | INT24 | YEAR)
    }
}

/// A value in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'a> {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// A whole number of a column without negative ones.
    Unsigned(u64),
    /// A number of double precision.
    Real(f64),
    /// A number of single precision.
    Single(f32),
    /// Text, bytes, a decimal number; by the text protocol anything that is no whole number.
    Text(&'a [u8]),
    /// A date, a time, or both.
    Time(Temporal),
}

/// A row whose values are still to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    bytes: &'a [u8],
    binary: bool,
}

impl<'a> Row<'a> {
    pub(super) fn new(payload: &'a [u8], binary: bool) -> Result<Row<'a>, Error> {
        match payload.split_first() {
            Some((0, bytes)) if binary => Ok(Row { bytes, binary }),
            Some(_) if !binary => Ok(Row { bytes: payload, binary }),
            _ => Err(Error::Malformed("no row where one should be")),
        }
    }

    /// The row's values, one for each column.
    #[inline]
    pub fn fields<'c>(self, columns: &'c [Column]) -> Fields<'a, 'c> {
        let mut fields =
            Fields { bytes: Bytes(self.bytes), nulls: &[], binary: self.binary, columns, at: 0 };
        if self.binary {
            // The bitmap's first two bits stand for nothing. Where it is cut, so is the row.
            let nulls = (columns.len() + 2).div_ceil(8);
            fields.nulls = fields.bytes.take(nulls).unwrap_or_default();
        }
        fields
    }
}

/// The values of a row, in order; after an error the rest means nothing.
#[derive(Clone, Debug)]
pub struct Fields<'a, 'c> {
    bytes: Bytes<'a>,
    nulls: &'a [u8],
    binary: bool,
    columns: &'c [Column],
    at: usize,
}

impl<'a> Iterator for Fields<'a, '_> {
    type Item = Result<Field<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let Some(&column) = self.columns.get(self.at) else {
            // What is left over belongs to no column; it is told once.
            let left = !std::mem::take(&mut self.bytes.0).is_empty();
            return left.then_some(Err(Error::Malformed("a row is longer than its columns")));
        };
        let bit = self.at + 2;
        self.at += 1;
        if !self.binary {
            return Some(text_field(column, &mut self.bytes));
        }
        let Some(nulls) = self.nulls.get(bit / 8) else {
            self.at = self.columns.len();
            return Some(Err(Error::Malformed("a row is cut")));
        };
        if nulls >> (bit % 8) & 1 == 1 {
            return Some(Ok(Field::Null));
        }
        Some(binary_field(column, &mut self.bytes))
    }
}

fn text_field<'a>(column: Column, bytes: &mut Bytes<'a>) -> Result<Field<'a>, Error> {
    if let Some((0xfb, rest)) = bytes.0.split_first() {
        bytes.0 = rest;
        return Ok(Field::Null);
    }
    let text = bytes.text()?;
    if !column.is_integer() {
        return Ok(Field::Text(text));
    }
    let number = std::str::from_utf8(text).unwrap_or_default();
    let integer = number.parse().map(Field::Integer);
    integer
        .or_else(|_| number.parse().map(Field::Unsigned))
        .map_err(|_| Error::Malformed("a whole number that is none"))
}

fn binary_field<'a>(column: Column, bytes: &mut Bytes<'a>) -> Result<Field<'a>, Error> {
    let integer = |unsigned: u64, signed: i64| {
        if column.unsigned { Field::Unsigned(unsigned) } else { Field::Integer(signed) }
    };
    Ok(match column.kind {
        kind::LONGLONG => bytes.u64().map(|number| integer(number, number as i64))?,
        kind::LONG | kind::INT24 => {
            bytes.u32().map(|number| integer(number.into(), (number as i32).into()))?
        }
        kind::SHORT | kind::YEAR => {
            bytes.u16().map(|number| integer(number.into(), (number as i16).into()))?
        }
        kind::TINY => bytes.u8().map(|number| integer(number.into(), (number as i8).into()))?,
        kind::DOUBLE => Field::Real(f64::from_bits(bytes.u64()?)),
        kind::FLOAT => Field::Single(f32::from_bits(bytes.u32()?)),
        kind::NULL => Field::Null,
        kind::DATE | kind::DATETIME | kind::TIMESTAMP | kind::TIME => {
            Field::Time(Temporal::read(column, bytes)?)
        }
        _ => Field::Text(bytes.text()?),
    })
}

/// A date, a time, or both; shown as the text protocol writes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Temporal {
    shape: Shape,
    negative: bool,
    /// Year, month and day, or days in the first.
    date: (u32, u8, u8),
    time: (u8, u8, u8),
    micros: u32,
    decimals: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Date,
    DateTime,
    Time,
}

impl Temporal {
    fn read(column: Column, bytes: &mut Bytes<'_>) -> Result<Temporal, Error> {
        let shape = match column.kind {
            kind::DATE => Shape::Date,
            kind::TIME => Shape::Time,
            _ => Shape::DateTime,
        };
        let mut found = Temporal {
            shape,
            negative: false,
            date: (0, 0, 0),
            time: (0, 0, 0),
            micros: 0,
            decimals: column.decimals,
        };
        let length = bytes.u8()?;
        let mut bytes = Bytes(bytes.take(usize::from(length))?);
        if shape == Shape::Time {
            if length >= 8 {
                found.negative = bytes.u8()? != 0;
                found.date.0 = bytes.u32()?;
                found.time = (bytes.u8()?, bytes.u8()?, bytes.u8()?);
            }
        } else if length >= 4 {
            found.date = (bytes.u16()?.into(), bytes.u8()?, bytes.u8()?);
            if length >= 7 {
                found.time = (bytes.u8()?, bytes.u8()?, bytes.u8()?);
            }
        }
        if matches!(length, 11 | 12) {
            found.micros = bytes.u32()?;
        }
        if bytes.0.is_empty() { Ok(found) } else { Err(Error::Malformed("a time that is none")) }
    }
}

impl fmt::Debug for Temporal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Temporal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((year, month, day), (hour, minute, second)) = (self.date, self.time);
        match self.shape {
            Shape::Date => return write!(f, "{year:04}-{month:02}-{day:02}"),
            Shape::DateTime => {
                write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")?;
            }
            Shape::Time => {
                let sign = if self.negative { "-" } else { "" };
                let hours = u64::from(year) * 24 + u64::from(hour);
                write!(f, "{sign}{hours:02}:{minute:02}:{second:02}")?;
            }
        }
        match self.decimals {
            // Six at most; a column without a fixed number of them says 31 or 39.
            digits @ 1..=6 => {
                let fraction = self.micros / 10_u32.pow(6 - u32::from(digits));
                write!(f, ".{fraction:0digits$}", digits = usize::from(digits))
            }
            0 => Ok(()),
            _ if self.micros == 0 => Ok(()),
            _ => write!(f, ".{:06}", self.micros),
        }
    }
}
