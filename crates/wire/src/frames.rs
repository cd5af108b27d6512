//! Messages that say their length: cut out of whatever pieces they arrive in.
//!
//! A message that lies whole in a piece is handed out from there; only a torn one is copied. What
//! a message says, and where its length stands, is the protocol's to know.

use std::fmt;

/// What the beginning of a message tells of its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The message has this many bytes in all, its beginning included.
    Whole(usize),
    /// More of it is needed to tell.
    Unknown,
}

/// A message is longer than any that would be sensible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// What it would be long.
    pub bytes: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message of {} bytes", self.bytes)
    }
}

/// The messages of one direction of a connection.
#[derive(Debug)]
pub struct Frames {
    limit: usize,
    /// The beginning of a torn message, or the whole of it once it was handed out.
    torn: Vec<u8>,
    /// Whether `torn` was handed out.
    used: bool,
}

impl Frames {
    /// Messages of at most `limit` bytes.
    pub fn new(limit: usize) -> Frames {
        Frames { limit, torn: Vec::new(), used: false }
    }

    /// Forgets what was torn, for a new connection.
    pub fn reset(&mut self) {
        self.torn.clear();
        self.used = false;
    }

    /// Whether a message has begun that has not come whole.
    pub fn is_torn(&self) -> bool {
        !self.used && !self.torn.is_empty()
    }

    /// Hands the message that was handed out last out once more, where it was torn; false where it
    /// was not, and stands in the input that it was taken from.
    pub fn again(&mut self) -> bool {
        std::mem::take(&mut self.used)
    }

    /// Takes the next whole message off the front of `input`; `None` when more must arrive, and
    /// then all of `input` is taken.
    ///
    /// `length` is given the beginning of a message, at least one byte of it.
    pub fn next<'s, 'i: 's, E: From<TooLong>>(
        &'s mut self,
        input: &mut &'i [u8],
        mut length: impl FnMut(&[u8]) -> Result<Length, E>,
    ) -> Result<Option<&'s [u8]>, E> {
        if std::mem::take(&mut self.used) {
            self.torn.clear();
        }
        if self.torn.is_empty() {
            if input.is_empty() {
                return Ok(None);
            }
            if let Length::Whole(bytes) = length(input)? {
                self.check(bytes)?;
                if let Some((message, rest)) = input.split_at_checked(bytes.max(1)) {
                    *input = rest;
                    return Ok(Some(message));
                }
            }
            self.check(input.len())?;
            self.torn.extend_from_slice(input);
            *input = &[];
            return Ok(None);
        }
        self.mend(input, length)
    }

    /// Goes on with a torn message.
    fn mend<'s, 'i: 's, E: From<TooLong>>(
        &'s mut self,
        input: &mut &'i [u8],
        mut length: impl FnMut(&[u8]) -> Result<Length, E>,
    ) -> Result<Option<&'s [u8]>, E> {
        while !input.is_empty() {
            let known = match length(&self.torn)? {
                Length::Whole(bytes) => {
                    self.check(bytes)?;
                    Some(bytes.max(1))
                }
                Length::Unknown => None,
            };
            // Where the length is not known yet, a byte more may tell it.
            let wanted = known.unwrap_or(self.torn.len() + 1).saturating_sub(self.torn.len());
            let (part, rest) = input.split_at(wanted.min(input.len()));
            self.torn.extend_from_slice(part);
            *input = rest;
            self.check(self.torn.len())?;
            if known.is_some_and(|bytes| bytes <= self.torn.len()) {
                self.used = true;
                return Ok(Some(&self.torn));
            }
        }
        if let Length::Whole(bytes) = length(&self.torn)? {
            self.check(bytes)?;
            if bytes <= self.torn.len() {
                self.used = true;
                return Ok(Some(&self.torn));
            }
        }
        Ok(None)
    }

    fn check(&self, bytes: usize) -> Result<(), TooLong> {
        if bytes > self.limit { Err(TooLong { bytes }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A byte that says how many follow.
    #[expect(clippy::unnecessary_wraps, reason = "lengths of other kinds may be wrong")]
    fn counted(message: &[u8]) -> Result<Length, TooLong> {
        Ok(Length::Whole(usize::from(message[0]) + 1))
    }

    /// Two bytes that say how many follow.
    #[expect(clippy::unnecessary_wraps, reason = "lengths of other kinds may be wrong")]
    fn wide(message: &[u8]) -> Result<Length, TooLong> {
        Ok(match message {
            [high, low, ..] => Length::Whole((usize::from(*high) << 8 | usize::from(*low)) + 2),
            _ => Length::Unknown,
        })
    }

    fn cut(
        stream: &[u8],
        pieces: &[usize],
        length: fn(&[u8]) -> Result<Length, TooLong>,
    ) -> Vec<Vec<u8>> {
        let mut frames = Frames::new(1000);
        let (mut rest, mut found) = (stream, Vec::new());
        for piece in pieces.iter().copied().chain([usize::MAX]) {
            let (mut input, after) = rest.split_at(piece.min(rest.len()));
            rest = after;
            while let Some(message) = frames.next(&mut input, length).unwrap() {
                found.push(message.to_vec());
            }
            assert!(input.is_empty());
        }
        found
    }

    #[test]
    fn a_message_that_is_too_long_is_refused_before_it_has_come() {
        let mut frames = Frames::new(100);
        assert_eq!(frames.next(&mut &[200, 1][..], counted), Err(TooLong { bytes: 201 }));
        let mut frames = Frames::new(100);
        assert_eq!(frames.next(&mut &[0][..], wide), Ok(None));
        assert!(frames.is_torn());
        assert_eq!(frames.next(&mut &[200, 1][..], wide), Err(TooLong { bytes: 202 }));
    }

    #[test]
    fn a_torn_message_is_handed_out_again() {
        let mut frames = Frames::new(100);
        assert_eq!(frames.next(&mut &[2, 7][..], counted), Ok(None));
        let mut input = &[8, 1, 9][..];
        assert_eq!(frames.next(&mut input, counted), Ok(Some(&[2, 7, 8][..])));
        assert!(frames.again());
        assert_eq!(frames.next(&mut input, counted), Ok(Some(&[2, 7, 8][..])));
        assert_eq!(frames.next(&mut input, counted), Ok(Some(&[1, 9][..])));
        assert!(!frames.again());
    }

    proptest! {
        #[test]
        fn however_messages_are_torn_they_come_out_whole(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8),
            pieces in prop::collection::vec(0usize..40, 0..60),
        ) {
            for (prefix, length) in [(1, counted as fn(&[u8]) -> _), (2, wide)] {
                let message = |body: &Vec<u8>| {
                    let mut bytes = (body.len() as u16).to_be_bytes()[2 - prefix..].to_vec();
                    bytes.extend(body);
                    bytes
                };
                let whole: Vec<Vec<u8>> = bodies.iter().map(message).collect();
                prop_assert_eq!(cut(&whole.concat(), &pieces, length), whole);
            }
        }
    }
}
