//! What a client asks, written.

use super::bytes::put_text;
use super::packets::packet;

pub(super) mod code {
    pub const QUIT: u8 = 0x01;
    pub const QUERY: u8 = 0x03;
    pub const PREPARE: u8 = 0x16;
    pub const EXECUTE: u8 = 0x17;
    pub const SEND_LONG_DATA: u8 = 0x18;
    pub const CLOSE: u8 = 0x19;
}

/// Kinds of values that are bound.
mod bound {
    pub const DOUBLE: u8 = 5;
    pub const LONGLONG: u8 = 8;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
}

fn command(code: u8, argument: &[u8], out: &mut Vec<u8>) {
    packet(0, out, |out| {
        out.push(code);
        out.extend_from_slice(argument);
    });
}

/// Appends a statement to be carried out as it stands.
pub fn query(sql: &[u8], out: &mut Vec<u8>) {
    command(code::QUERY, sql, out);
}

/// Appends a statement to be prepared; a `?` stands for a value.
pub fn prepare(sql: &[u8], out: &mut Vec<u8>) {
    command(code::PREPARE, sql, out);
}

/// Appends a farewell, which is not answered.
pub fn quit(out: &mut Vec<u8>) {
    command(code::QUIT, &[], out);
}

/// A value that is bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Parameter<'a> {
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// Text, in UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// Appends the execution of a prepared statement with its `count` values; there are no nulls.
#[inline]
pub fn execute<'a>(
    statement: u32,
    count: usize,
    values: impl Iterator<Item = Parameter<'a>> + Clone,
    out: &mut Vec<u8>,
) {
    packet(0, out, |out| {
        out.push(code::EXECUTE);
        out.extend_from_slice(&statement.to_le_bytes());
        // No cursor; carried out once.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if count == 0 {
            return;
        }
        out.resize(out.len() + count.div_ceil(8), 0);
        // The values' kinds stand here, and not in an earlier execution.
        out.push(1);
        for value in values.clone() {
            let kind = match value {
                Parameter::Integer(_) => bound::LONGLONG,
                Parameter::Real(_) => bound::DOUBLE,
                Parameter::Text(_) => bound::VAR_STRING,
                Parameter::Bytes(_) => bound::BLOB,
            };
            out.extend_from_slice(&[kind, 0]);
        }
        for value in values {
            match value {
                Parameter::Integer(integer) => out.extend_from_slice(&integer.to_le_bytes()),
                Parameter::Real(real) => out.extend_from_slice(&real.to_le_bytes()),
                Parameter::Text(bytes) | Parameter::Bytes(bytes) => put_text(bytes, out),
            }
        }
    });
}

/// Appends a literal of the text protocol. `backslashes` when the server takes a backslash within
/// a text as the sign that the next character is meant as it is (see
/// [`super::status::NO_BACKSLASH`]).
pub fn literal(value: Parameter<'_>, backslashes: bool, out: &mut Vec<u8>) {
    match value {
        Parameter::Integer(integer) => shown(&integer, out),
        // With an exponent, so that it is a number of double precision and no decimal one.
        Parameter::Real(real) => shown(&format_args!("{real:e}"), out),
        Parameter::Bytes(bytes) => {
            out.extend_from_slice(b"x'");
            for byte in bytes {
                shown(&format_args!("{byte:02x}"), out);
            }
            out.push(b'\'');
        }
        Parameter::Text(text) => {
            out.push(b'\'');
            for &byte in text {
                match byte {
                    b'\'' | b'\\' if backslashes => out.extend_from_slice(&[b'\\', byte]),
                    0 if backslashes => out.extend_from_slice(b"\\0"),
                    b'\'' => out.extend_from_slice(b"''"),
                    _ => out.push(byte),
                }
            }
            out.push(b'\'');
        }
    }
}

fn shown(value: &dyn std::fmt::Display, out: &mut Vec<u8>) {
    use std::io::Write as _;
    // A vector takes all that is written.
    let _never_fails = write!(out, "{value}");
}
