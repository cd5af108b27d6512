//! Requests with places for values: made once, written often.

use std::fmt;

use super::{MAX_DEPTH, START_TLS, ber, filter, tag};

/// A stretch of a text that may vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Always this.
    Text(&'a [u8]),
    /// A value, by the number that [`Values`] knows it by.
    Value(usize),
    /// The elements of a list, one at a time: what mentions it is there once for each.
    List(usize),
}

/// Where a form's values are.
pub trait Values {
    /// Appends the text of a value.
    fn append(&self, value: usize, out: &mut Vec<u8>);

    /// The elements of a list.
    fn elements(&self, list: usize) -> &[i64];
}

/// Why a request cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid(pub &'static str);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Invalid {}

/// How far below its base a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The base alone.
    Base,
    /// What stands right below it.
    One,
    /// The base and all below it.
    Sub,
}

/// What a search is for.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The name of the entry at which it begins.
    pub base: &'a [Piece<'a>],
    /// How far it goes.
    pub scope: Scope,
    /// RFC 4515's text.
    pub filter: &'a [Piece<'a>],
    /// The attributes that are wanted; none for all, and `1.1` for none at all.
    pub attributes: &'a [&'a str],
    /// The most entries that are wanted, 0 for any number.
    pub size_limit: u32,
}

/// What is done to an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Values are added.
    Add,
    /// Values go, or all where none is named.
    Delete,
    /// These values take the place of all.
    Replace,
}

/// A request with places for values.
#[derive(Clone, Debug)]
pub struct Form {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    /// Written as it is.
    Bytes(Vec<u8>),
    /// Begins an element of this kind.
    Open(u8),
    /// Ends the element begun last.
    Close,
    /// A value as it is.
    Value(usize),
    /// A value as part of a name.
    Escaped(usize),
    /// Once for each element of a list, which its value then is.
    Each(usize, Vec<Part>),
}

impl Form {
    /// Looks for entries.
    pub fn search(search: &Search<'_>) -> Result<Form, Invalid> {
        Form::of(tag::SEARCH, |builder| {
            builder.name(search.base)?;
            builder.number(tag::ENUMERATED, search.scope as u32);
            // Aliases are not followed, since each would be another look-up.
            builder.number(tag::ENUMERATED, 0);
            builder.number(tag::INTEGER, search.size_limit);
            builder.number(tag::INTEGER, 0);
            builder.element(tag::BOOLEAN, &[0]);
            filter::compile(search.filter, builder)?;
            builder.open(tag::SEQUENCE);
            for attribute in search.attributes {
                let special = ["*", "+", "1.1"].contains(attribute);
                check_attribute(if special { "a" } else { attribute })?;
                builder.element(tag::OCTETS, attribute.as_bytes());
            }
            builder.close();
            Ok(())
        })
    }

    /// Changes an entry, in this order: of each attribute so much.
    pub fn modify(
        name: &[Piece<'_>],
        changes: &[(Change, &str, Vec<Vec<Piece<'_>>>)],
    ) -> Result<Form, Invalid> {
        if changes.is_empty() {
            return Err(Invalid("a modification changes at least one attribute"));
        }
        Form::of(tag::MODIFY, |builder| {
            builder.name(name)?;
            builder.open(tag::SEQUENCE);
            for (change, attribute, values) in changes {
                if values.is_empty() && *change == Change::Add {
                    return Err(Invalid("at least one value is added"));
                }
                builder.open(tag::SEQUENCE);
                builder.number(tag::ENUMERATED, *change as u32);
                builder.attribute(attribute, values)?;
                builder.close();
            }
            builder.close();
            Ok(())
        })
    }

    /// Adds an entry.
    pub fn add(
        name: &[Piece<'_>],
        attributes: &[(&str, Vec<Vec<Piece<'_>>>)],
    ) -> Result<Form, Invalid> {
        Form::of(tag::ADD, |builder| {
            builder.name(name)?;
            builder.open(tag::SEQUENCE);
            for (attribute, values) in attributes {
                if values.is_empty() {
                    return Err(Invalid("an attribute of an entry has at least one value"));
                }
                builder.attribute(attribute, values)?;
            }
            builder.close();
            Ok(())
        })
    }

    /// Deletes an entry.
    pub fn delete(name: &[Piece<'_>]) -> Result<Form, Invalid> {
        Form::of(tag::DELETE, |builder| builder.name_inside(name))
    }

    fn of(
        operation: u8,
        inside: impl FnOnce(&mut Builder) -> Result<(), Invalid>,
    ) -> Result<Form, Invalid> {
        let mut builder = Builder::default();
        builder.open(operation);
        inside(&mut builder)?;
        builder.close();
        Ok(Form { parts: builder.parts })
    }

    /// Appends the request with the values as they are now.
    #[inline]
    pub fn write(&self, number: u32, values: &impl Values, out: &mut Vec<u8>) {
        message(number, out, |out| write(&self.parts, None, values, out));
    }
}

/// The most elements that are open at once: a filter's, the request's, and those within an
/// assertion.
const MOST_OPEN: usize = MAX_DEPTH + 8;

fn write(parts: &[Part], each: Option<(usize, i64)>, values: &impl Values, out: &mut Vec<u8>) {
    let (mut open, mut depth) = ([0; MOST_OPEN], 0);
    let append = |value: usize, out: &mut Vec<u8>| match each {
        Some((list, element)) if list == value => {
            out.extend_from_slice(itoa::Buffer::new().format(element).as_bytes());
        }
        _ => values.append(value, out),
    };
    for part in parts {
        match part {
            Part::Bytes(bytes) => out.extend_from_slice(bytes),
            Part::Open(kind) => {
                open[depth] = ber::begin(*kind, out);
                depth += 1;
            }
            Part::Close => {
                depth -= 1;
                ber::end(open[depth], out);
            }
            Part::Value(value) => append(*value, out),
            Part::Escaped(value) => {
                let from = out.len();
                append(*value, out);
                escape(from, out);
            }
            Part::Each(list, parts) => {
                for &element in values.elements(*list) {
                    write(parts, Some((*list, element)), values, out);
                }
            }
        }
    }
}

/// Makes what was appended since `from` a value within a name, RFC 4514, 2.4.
fn escape(from: usize, out: &mut Vec<u8>) {
    let length = out.len() - from;
    let is_special = |index: usize, byte: u8| match byte {
        b'"' | b'+' | b',' | b';' | b'<' | b'=' | b'>' | b'\\' | 0x7f | 0..=0x1f => true,
        b' ' => index == 0 || index == length - 1,
        b'#' => index == 0,
        _ => false,
    };
    let count = |out: &[u8]| {
        let specials = out[from..].iter().enumerate().filter(|&(i, &byte)| is_special(i, byte));
        specials.count()
    };
    let mut to = out.len() + 2 * count(out);
    let mut at = out.len();
    out.resize(to, 0);
    while at < to {
        at -= 1;
        let byte = out[at];
        if is_special(at - from, byte) {
            let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 0xf)];
            to -= 3;
            out[to..to + 3].copy_from_slice(&[b'\\', digit(byte >> 4), digit(byte)]);
        } else {
            to -= 1;
            out[to] = byte;
        }
    }
}

/// Makes a form, element by element.
#[derive(Default)]
pub(super) struct Builder {
    parts: Vec<Part>,
}

impl Builder {
    pub fn open(&mut self, kind: u8) {
        self.parts.push(Part::Open(kind));
    }

    /// Ends the element opened last; where nothing in it varies, it is written out at once.
    pub fn close(&mut self) {
        let end = self.parts.len();
        let (kind, inside) = match self.parts.as_slice() {
            [.., Part::Open(kind)] => (*kind, Vec::new()),
            [.., Part::Open(kind), Part::Bytes(inside)] => (*kind, inside.clone()),
            _ => return self.parts.push(Part::Close),
        };
        let empty = matches!(self.parts.last(), Some(Part::Open(_)));
        self.parts.truncate(end - 2 + usize::from(empty));
        self.element(kind, &inside);
    }

    /// What is always the same, as part of the element opened last.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if let Some(Part::Bytes(before)) = self.parts.last_mut() {
            before.extend_from_slice(bytes);
        } else {
            self.parts.push(Part::Bytes(bytes.to_vec()));
        }
    }

    pub fn element(&mut self, kind: u8, inside: &[u8]) {
        let mut bytes = Vec::new();
        ber::element(kind, inside, &mut bytes);
        self.bytes(&bytes);
    }

    pub fn number(&mut self, kind: u8, number: u32) {
        let mut bytes = Vec::new();
        ber::number(kind, number, &mut bytes);
        self.bytes(&bytes);
    }

    pub fn value(&mut self, value: usize) {
        self.parts.push(Part::Value(value));
    }

    /// What `inside` makes, once for each element of the list.
    pub fn each(
        &mut self,
        list: usize,
        inside: impl FnOnce(&mut Builder) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        let mut builder = Builder::default();
        inside(&mut builder)?;
        self.parts.push(Part::Each(list, builder.parts));
        Ok(())
    }

    fn name(&mut self, name: &[Piece<'_>]) -> Result<(), Invalid> {
        self.open(tag::OCTETS);
        self.name_inside(name)?;
        self.close();
        Ok(())
    }

    /// A name; a value that is not all of it is a value within it.
    fn name_inside(&mut self, name: &[Piece<'_>]) -> Result<(), Invalid> {
        for piece in name {
            match piece {
                Piece::Text(text) => self.bytes(text),
                Piece::Value(value) if name.len() == 1 => self.value(*value),
                Piece::Value(value) => self.parts.push(Part::Escaped(*value)),
                Piece::List(_) => {
                    return Err(Invalid("a name is that of one entry, not of a list"));
                }
            }
        }
        Ok(())
    }

    fn attribute(&mut self, name: &str, values: &[Vec<Piece<'_>>]) -> Result<(), Invalid> {
        check_attribute(name)?;
        self.open(tag::SEQUENCE);
        self.element(tag::OCTETS, name.as_bytes());
        self.open(tag::SET);
        for value in values {
            let lists = value.iter().filter_map(|piece| match piece {
                Piece::List(list) => Some(*list),
                _ => None,
            });
            match only_list(lists)? {
                Some(list) => self.each(list, |builder| {
                    builder.text(value);
                    Ok(())
                })?,
                None => self.text(value),
            }
        }
        self.close();
        self.close();
        Ok(())
    }

    fn text(&mut self, text: &[Piece<'_>]) {
        self.open(tag::OCTETS);
        for piece in text {
            match piece {
                Piece::Text(text) => self.bytes(text),
                Piece::Value(value) | Piece::List(value) => self.value(*value),
            }
        }
        self.close();
    }
}

/// The list that a text mentions, of which there is one at most.
pub(super) fn only_list(mut lists: impl Iterator<Item = usize>) -> Result<Option<usize>, Invalid> {
    let first = lists.next();
    if lists.any(|list| Some(list) != first) {
        return Err(Invalid("what mentions a list mentions no other"));
    }
    Ok(first)
}

fn check_attribute(name: &str) -> Result<(), Invalid> {
    let sound = is_attribute(name.as_bytes());
    if sound { Ok(()) } else { Err(Invalid("an attribute is a name such as `uid`, or its number")) }
}

/// Whether a text is an attribute's name or number, with its options if it has any.
pub(super) fn is_attribute(name: &[u8]) -> bool {
    let sound = |byte: &u8| byte.is_ascii_alphanumeric() || b"-.;".contains(byte);
    name.first().is_some_and(u8::is_ascii_alphanumeric) && name.iter().all(sound)
}

/// Asks to be known by a name; without one and without a password, as nobody.
pub fn bind(number: u32, name: &[u8], password: &[u8], out: &mut Vec<u8>) {
    const VERSION: u32 = 3;
    message(number, out, |out| {
        let operation = ber::begin(tag::BIND, out);
        ber::number(tag::INTEGER, VERSION, out);
        ber::element(tag::OCTETS, name, out);
        ber::element(tag::SIMPLE, password, out);
        ber::end(operation, out);
    });
}

/// Asks that the connection be encrypted.
pub fn start_tls(number: u32, out: &mut Vec<u8>) {
    message(number, out, |out| {
        let operation = ber::begin(tag::EXTENDED, out);
        ber::element(tag::REQUEST_NAME, START_TLS, out);
        ber::end(operation, out);
    });
}

/// Takes leave; it has no answer.
pub fn unbind(number: u32, out: &mut Vec<u8>) {
    message(number, out, |out| ber::element(tag::UNBIND, b"", out));
}

fn message(number: u32, out: &mut Vec<u8>, inside: impl FnOnce(&mut Vec<u8>)) {
    let whole = ber::begin(tag::SEQUENCE, out);
    ber::number(tag::INTEGER, number, out);
    inside(out);
    ber::end(whole, out);
}
