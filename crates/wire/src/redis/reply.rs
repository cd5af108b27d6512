//! What a whole message says.

use super::scan::{Header, header, line};

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A simple string, such as `OK`.
    Status,
    /// An error, simple or bulk.
    Error,
    /// A whole number, of any size.
    Integer,
    /// A string, verbatim or not.
    String,
    /// Nothing: a value that is not there.
    Null,
    /// A real number.
    Double,
    /// True or false.
    Boolean,
    /// An array or a set.
    Array,
    /// Pairs.
    Map,
    /// A message that answers no request.
    Push,
}

impl Kind {
    fn of(line: &[u8]) -> Kind {
        match line {
            b"$-1" | b"*-1" => Kind::Null,
            _ => match line.first() {
                Some(b'+') => Kind::Status,
                Some(b'-' | b'!') => Kind::Error,
                Some(b':' | b'(') => Kind::Integer,
                Some(b',') => Kind::Double,
                Some(b'#') => Kind::Boolean,
                Some(b'*' | b'~') => Kind::Array,
                Some(b'%') => Kind::Map,
                Some(b'>') => Kind::Push,
                Some(b'$' | b'=') => Kind::String,
                _ => Kind::Null,
            },
        }
    }
}

/// A whole message.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// From the value's own type on, behind what was said about it.
    bytes: &'a [u8],
}

impl<'a> Reply<'a> {
    /// What [`super::Messages`] handed out.
    #[inline]
    pub fn new(message: &'a [u8]) -> Reply<'a> {
        let mut values = Scalars { bytes: message, left: 1 };
        while values.bytes.first() == Some(&b'|') && values.attribute().is_some() {}
        Reply { bytes: values.bytes }
    }

    /// Its type.
    #[inline]
    pub fn kind(&self) -> Kind {
        match self.bytes {
            [b'$', second, ..] if *second != b'-' => Kind::String,
            _ => self.any_kind(),
        }
    }

    #[inline(never)]
    fn any_kind(&self) -> Kind {
        Kind::of(self.line())
    }

    /// The text of a status, error, number or string, empty for null; of an aggregate its number
    /// of elements, as it is written.
    #[inline]
    pub fn text(&self) -> &'a [u8] {
        self.string().unwrap_or_else(|| self.any_text())
    }

    /// The text of what nearly every answer is: a string of no great length, that says itself how
    /// long it is and has nothing behind it.
    #[inline]
    fn string(&self) -> Option<&'a [u8]> {
        let behind = self.bytes.strip_prefix(b"$")?;
        let line = behind.iter().take(8).position(|&byte| byte == b'\n')?;
        behind[line + 1..].strip_suffix(b"\r\n")
    }

    fn any_text(&self) -> &'a [u8] {
        match self.kind() {
            Kind::Array | Kind::Map | Kind::Push => self.line().get(1..).unwrap_or_default(),
            _ => self.scalars().next().map_or(&[], |(_, text)| text),
        }
    }

    /// The error that it is or that stands within it, as a command of a transaction may fail.
    #[inline]
    pub fn error(&self) -> Option<&'a [u8]> {
        match self.kind() {
            Kind::Error => Some(self.text()),
            Kind::Array | Kind::Map => self.error_within(),
            _ => None,
        }
    }

    fn error_within(&self) -> Option<&'a [u8]> {
        self.scalars().find(|(kind, _)| *kind == Kind::Error).map(|(_, text)| text)
    }

    /// How many elements that are not null an array or a set has, how many pairs a map; of anything
    /// else 1, and 0 when it is null.
    pub fn rows(&self) -> usize {
        let mut walk = self.scalars();
        match self.kind() {
            Kind::Null => 0,
            Kind::Array | Kind::Push | Kind::Map => {
                let Some((_, Header::Values(count))) = walk.header() else { return 0 };
                if self.kind() == Kind::Map {
                    return count / 2;
                }
                let kinds = (0..count).map_while(|_| walk.pass());
                kinds.filter(|kind| *kind != Kind::Null).count()
            }
            _ => 1,
        }
    }

    /// The values in it that are no aggregates, in order, however deep, with their texts; those
    /// that are said about others are left out.
    pub fn scalars(&self) -> Scalars<'a> {
        Scalars { bytes: self.bytes, left: 1 }
    }

    fn line(&self) -> &'a [u8] {
        line(self.bytes).ok().flatten().map_or(&[], |(line, _)| line)
    }
}

/// Goes through the scalars of a message.
#[derive(Clone, Debug)]
pub struct Scalars<'a> {
    bytes: &'a [u8],
    /// Values still to come, those of all levels together.
    left: usize,
}

impl<'a> Scalars<'a> {
    /// The next header's line and what it says; the bytes behind it stand next.
    fn header(&mut self) -> Option<(&'a [u8], Header)> {
        let (line, length) = line(self.bytes).ok()??;
        self.bytes = &self.bytes[length..];
        Some((line, header(line).ok()?))
    }

    fn string(&mut self, length: usize) -> Option<&'a [u8]> {
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest.get(2..)?;
        Some(text)
    }

    /// Passes over an attribute, which stands next.
    fn attribute(&mut self) -> Option<()> {
        let (_, Header::Attribute(count)) = self.header()? else { return None };
        (0..count).try_for_each(|_| self.pass().map(drop))
    }

    /// The header of the next value, behind its attributes.
    fn value(&mut self) -> Option<(&'a [u8], Header)> {
        while self.bytes.first() == Some(&b'|') {
            self.attribute()?;
        }
        self.header()
    }

    /// Passes over the next value, and tells its type.
    fn pass(&mut self) -> Option<Kind> {
        let (line, header) = self.value()?;
        let mut left = self.follow(header)?;
        while left > 0 {
            let (_, header) = self.header()?;
            left -= usize::from(!matches!(header, Header::Attribute(_)));
            left += self.follow(header)?;
        }
        Some(Kind::of(line))
    }

    /// Passes over the string that belongs to a header, or tells how many values do.
    fn follow(&mut self, header: Header) -> Option<usize> {
        match header {
            Header::Line => Some(0),
            Header::Bytes(length) => self.string(length).map(|_| 0),
            Header::Values(count) | Header::Attribute(count) => Some(count),
        }
    }
}

impl<'a> Iterator for Scalars<'a> {
    type Item = (Kind, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<(Kind, &'a [u8])> {
        while self.left > 0 {
            let (line, header) = self.value()?;
            self.left -= 1;
            match header {
                Header::Values(count) | Header::Attribute(count) => self.left += count,
                Header::Line => {
                    let kind = Kind::of(line);
                    return Some((kind, if kind == Kind::Null { &[] } else { &line[1..] }));
                }
                Header::Bytes(length) => return Some((Kind::of(line), self.string(length)?)),
            }
        }
        None
    }
}
