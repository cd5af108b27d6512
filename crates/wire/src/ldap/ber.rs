//! The basic encoding rules, as far as LDAP has them: RFC 4511, 5.1.

use super::{Error, MAX_MESSAGE_BYTES, tag};
use crate::frames::{Frames, Length};

/// Cuts messages out of what arrives.
#[derive(Debug)]
pub struct Messages(Frames);

impl Default for Messages {
    fn default() -> Messages {
        Messages(Frames::new(MAX_MESSAGE_BYTES))
    }
}

impl Messages {
    /// Forgets what was torn, for a new connection.
    pub fn reset(&mut self) {
        self.0.reset();
    }

    /// Whether a message has begun that has not come whole.
    pub fn is_torn(&self) -> bool {
        self.0.is_torn()
    }

    /// Takes the next whole message off the front of `input`; `None` when more must arrive, and
    /// then all of `input` is taken. After an error the connection is of no use.
    #[inline]
    pub fn next<'s, 'i: 's>(&'s mut self, input: &mut &'i [u8]) -> Result<Option<&'s [u8]>, Error> {
        self.0.next(input, |bytes| match bytes {
            [tag::SEQUENCE, rest @ ..] => {
                let Some((of_length, length)) = length(rest)? else { return Ok(Length::Unknown) };
                Ok(Length::Whole(length.saturating_add(1 + of_length)))
            }
            [other, ..] => Err(Error::Type(*other)),
            [] => Ok(Length::Unknown),
        })
    }

    /// Hands the message that was handed out last out once more, where it was torn; false where it
    /// was not, and stands in the input that it was taken from.
    pub fn again(&mut self) -> bool {
        self.0.again()
    }
}

/// How many bytes a length takes, and what it is; `None` when more of it is needed.
#[inline]
fn length(bytes: &[u8]) -> Result<Option<(usize, usize)>, Error> {
    let Some((&first, rest)) = bytes.split_first() else { return Ok(None) };
    if first < 0x80 {
        return Ok(Some((1, usize::from(first))));
    }
    let count = usize::from(first & 0x7f);
    if !(1..=8).contains(&count) {
        return Err(Error::Length);
    }
    let Some(digits) = rest.get(..count) else { return Ok(None) };
    let length = digits.iter().fold(0u64, |length, &digit| length << 8 | u64::from(digit));
    Ok(Some((1 + count, usize::try_from(length).unwrap_or(usize::MAX))))
}

/// Goes through the elements of what is there whole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Elements<'a>(pub &'a [u8]);

impl<'a> Elements<'a> {
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The kind of the next element.
    pub fn peek(self) -> Option<u8> {
        self.0.first().copied()
    }

    /// The next element, of any kind: that and what is in it.
    #[inline]
    pub fn any(&mut self) -> Result<(u8, &'a [u8]), Error> {
        let (&tag, rest) = self.0.split_first().ok_or(Error::Malformed)?;
        if tag & 0x1f == 0x1f {
            return Err(Error::Malformed);
        }
        let (of_length, length) = length(rest)?.ok_or(Error::Malformed)?;
        let (inside, rest) = rest[of_length..].split_at_checked(length).ok_or(Error::Malformed)?;
        self.0 = rest;
        Ok((tag, inside))
    }

    /// The next element, which must be of this kind.
    #[inline]
    pub fn take(&mut self, kind: u8) -> Result<&'a [u8], Error> {
        match self.any()? {
            (found, inside) if found == kind => Ok(inside),
            _ => Err(Error::Malformed),
        }
    }

    /// The next element of this kind, if it is.
    pub fn take_if(&mut self, kind: u8) -> Result<Option<&'a [u8]>, Error> {
        if self.peek() == Some(kind) { self.take(kind).map(Some) } else { Ok(None) }
    }

    /// The next element, a number of this kind and not below 0.
    #[inline]
    pub fn number(&mut self, kind: u8) -> Result<u32, Error> {
        match self.take(kind)? {
            [] => Err(Error::Malformed),
            [first, ..] if *first >= 0x80 => Err(Error::Malformed),
            digits if digits.len() <= 4 => {
                Ok(digits.iter().fold(0, |number, &digit| number << 8 | u32::from(digit)))
            }
            _ => Err(Error::Malformed),
        }
    }

    /// There is nothing more.
    pub fn end(self) -> Result<(), Error> {
        if self.is_empty() { Ok(()) } else { Err(Error::Malformed) }
    }
}

/// An element's kind and the length of what follows, which is to be appended.
pub(super) fn head(kind: u8, length: usize, out: &mut Vec<u8>) {
    out.push(kind);
    if length < 0x80 {
        out.push(length as u8);
        return;
    }
    let digits = length.to_be_bytes();
    let digits = &digits[length.leading_zeros() as usize / 8..];
    out.push(0x80 | digits.len() as u8);
    out.extend_from_slice(digits);
}

/// A whole element.
pub(super) fn element(kind: u8, inside: &[u8], out: &mut Vec<u8>) {
    head(kind, inside.len(), out);
    out.extend_from_slice(inside);
}

/// A number from 0.
pub(super) fn number(kind: u8, number: u32, out: &mut Vec<u8>) {
    // The first bit is the sign's.
    let digits = u64::from(number).to_be_bytes();
    let from = (u64::from(number).leading_zeros() as usize - 1) / 8;
    element(kind, &digits[from.min(7)..], out);
}

/// Begins an element whose length is not known yet; what it gives back ends it.
pub(super) fn begin(kind: u8, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[kind, 0]);
    out.len()
}

/// Ends an element: what is in it was appended since it was begun.
pub(super) fn end(begun: usize, out: &mut Vec<u8>) {
    let length = out.len() - begun;
    if length < 0x80 {
        out[begun - 1] = length as u8;
        return;
    }
    let digits = length.to_be_bytes();
    let digits = &digits[length.leading_zeros() as usize / 8..];
    out[begun - 1] = 0x80 | digits.len() as u8;
    out.extend_from_slice(digits);
    out.copy_within(begun..begun + length, begun + digits.len());
    out[begun..begun + digits.len()].copy_from_slice(digits);
}
