//! Finding where a message ends, going on where it stopped when more has come.

use super::{Error, MAX_DEPTH, MAX_LINE_BYTES, MAX_MESSAGE_BYTES};

/// What a header line says of what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// The line is the whole value.
    Line,
    /// This many bytes and CR LF follow.
    Bytes(usize),
    /// This many values follow and make up one.
    Values(usize),
    /// This many values follow that are said about the next one.
    Attribute(usize),
}

/// What is needed before the scan can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    /// All up to the next line feed.
    Line,
    /// All up to this offset.
    Until(usize),
}

/// How far the scan of a message has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan {
    /// The next header begins here; when a string is awaited, that is its end.
    at: usize,
    /// How many values are still to come at each level.
    left: [usize; MAX_DEPTH],
    depth: usize,
}

impl Scan {
    pub const NEW: Scan = Scan { at: 0, left: [1; MAX_DEPTH], depth: 0 };

    /// Scans the message whose beginning `bytes` is; its length once it is whole.
    ///
    /// With every call `bytes` must be what it was before, and more.
    pub fn go(&mut self, bytes: &[u8]) -> Result<Result<usize, Wants>, Error> {
        loop {
            if self.at > bytes.len() {
                return Ok(Err(Wants::Until(self.at)));
            }
            if self.at > 0 && !bytes[..self.at].ends_with(b"\r\n") {
                return Err(Error::End);
            }
            if self.left[0] == 0 {
                return Ok(Ok(self.at));
            }
            let Some((line, length)) = line(&bytes[self.at..])? else {
                return Ok(Err(Wants::Line));
            };
            self.at += length;
            self.take(header(line)?)?;
            if self.at > MAX_MESSAGE_BYTES {
                return Err(Error::TooLong);
            }
        }
    }

    fn take(&mut self, header: Header) -> Result<(), Error> {
        match header {
            Header::Line | Header::Values(0) => self.completed(),
            Header::Bytes(length) => {
                // The length has been bounded, so this cannot overflow.
                self.at += length + 2;
                self.completed();
            }
            Header::Values(count) => self.enter(count)?,
            Header::Attribute(0) => {}
            Header::Attribute(count) => {
                self.left[self.depth] += 1;
                self.enter(count)?;
            }
        }
        Ok(())
    }

    fn enter(&mut self, count: usize) -> Result<(), Error> {
        self.depth += 1;
        *self.left.get_mut(self.depth).ok_or(Error::TooDeep)? = count;
        Ok(())
    }

    fn completed(&mut self) {
        self.left[self.depth] -= 1;
        while self.left[self.depth] == 0 && self.depth > 0 {
            self.depth -= 1;
            self.left[self.depth] -= 1;
        }
    }
}

/// The line at the front of `bytes` without CR LF, and its length with it.
#[inline]
pub(super) fn line(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Error> {
    let Some(end) = memchr::memchr(b'\n', bytes) else {
        return if bytes.len() > MAX_LINE_BYTES { Err(Error::TooLong) } else { Ok(None) };
    };
    if end > MAX_LINE_BYTES {
        return Err(Error::TooLong);
    }
    match bytes[..end].split_last() {
        Some((b'\r', line)) => Ok(Some((line, end + 1))),
        _ => Err(Error::End),
    }
}

/// What a header line, without its CR LF, says.
#[inline]
pub(super) fn header(line: &[u8]) -> Result<Header, Error> {
    let Some((&kind, rest)) = line.split_first() else {
        return Err(Error::Type(b'\r'));
    };
    match kind {
        b'$' | b'*' if rest == b"-1" => Ok(Header::Line),
        b'$' | b'!' | b'=' => Ok(Header::Bytes(length(rest)?)),
        b'*' | b'~' | b'>' => Ok(Header::Values(length(rest)?)),
        b'%' => Ok(Header::Values(2 * length(rest)?)),
        b'|' => Ok(Header::Attribute(2 * length(rest)?)),
        b'+' | b'-' => Ok(Header::Line),
        b':' | b'(' => sound(whole(rest)),
        b',' => sound(!rest.is_empty()),
        b'#' => sound(rest == b"t" || rest == b"f"),
        b'_' => sound(rest.is_empty()),
        other => Err(Error::Type(other)),
    }
}

fn sound(sound: bool) -> Result<Header, Error> {
    if sound { Ok(Header::Line) } else { Err(Error::Number) }
}

/// A length, bounded by that of a message.
#[inline]
pub(super) fn length(digits: &[u8]) -> Result<usize, Error> {
    if digits.is_empty() {
        return Err(Error::Number);
    }
    let mut length = 0;
    for digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return Err(Error::Number);
        }
        length = length * 10 + usize::from(value);
        if length > MAX_MESSAGE_BYTES {
            return Err(Error::TooLong);
        }
    }
    Ok(length)
}

/// Whether the text is a whole number of any size.
fn whole(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}
