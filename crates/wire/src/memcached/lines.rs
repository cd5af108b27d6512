//! Lines and the blocks that they announce, cut out of whatever pieces they arrive in.

use super::{Error, MAX_BLOCK_BYTES, MAX_LINE_BYTES};

/// A line with its end, and the block with its CR LF that follows it.
pub(super) type Message<'a> = (&'a [u8], Option<&'a [u8]>);

/// Cuts messages out of what arrives. One that lies whole in a piece is handed out from there; only
/// a torn one is copied, and no byte is searched twice.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The beginning of a torn message, or the whole of it once it was handed out.
    torn: Vec<u8>,
    /// The lengths of its line and its block, once the line is whole.
    known: Option<(usize, Option<usize>)>,
    /// Whether `torn` was handed out.
    used: bool,
}

impl Lines {
    pub fn reset(&mut self) {
        self.torn.clear();
        self.known = None;
        self.used = false;
    }

    /// Whether a message has begun that has not come whole.
    pub fn is_torn(&self) -> bool {
        !self.used && !self.torn.is_empty()
    }

    /// Takes the next whole message off the front of `input`; `None` when more must arrive, and
    /// then all of `input` is taken. `block` tells the length of the block that a line announces.
    #[inline]
    pub fn next<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
        block: impl Fn(&[u8]) -> Result<Option<usize>, Error>,
    ) -> Result<Option<Message<'s>>, Error> {
        if self.used {
            self.reset();
        }
        if self.torn.is_empty() {
            if input.is_empty() {
                return Ok(None);
            }
            if let Some(end) = memchr::memchr(b'\n', input) {
                let known = known(&input[..=end], &block)?;
                if let Some((message, rest)) = input.split_at_checked(whole(known)) {
                    *input = rest;
                    return parted(message, known).map(Some);
                }
                self.known = Some(known);
                self.torn.extend_from_slice(input);
                *input = &[];
                return Ok(None);
            }
        }
        self.mend(input, block)
    }

    /// Goes on with a torn message, or begins one whose line is torn.
    fn mend<'s>(
        &'s mut self,
        input: &mut &[u8],
        block: impl Fn(&[u8]) -> Result<Option<usize>, Error>,
    ) -> Result<Option<Message<'s>>, Error> {
        loop {
            if let Some(known) = self.known
                && self.torn.len() == whole(known)
            {
                self.used = true;
                return parted(&self.torn, known).map(Some);
            }
            if input.is_empty() {
                return Ok(None);
            }
            let wanted = match self.known {
                Some(known) => whole(known) - self.torn.len(),
                None => memchr::memchr(b'\n', input).map_or(input.len(), |end| end + 1),
            };
            let (part, rest) = input.split_at(wanted.min(input.len()));
            self.torn.extend_from_slice(part);
            *input = rest;
            if self.known.is_none() {
                if self.torn.ends_with(b"\n") {
                    self.known = Some(known(&self.torn, &block)?);
                } else if self.torn.len() > MAX_LINE_BYTES {
                    return Err(Error::TooLong);
                }
            }
        }
    }
}

/// The lengths of a line, which is whole, and of its block with its CR LF.
#[inline]
fn known(
    line: &[u8],
    block: impl Fn(&[u8]) -> Result<Option<usize>, Error>,
) -> Result<(usize, Option<usize>), Error> {
    if line.len() > MAX_LINE_BYTES {
        return Err(Error::TooLong);
    }
    Ok((line.len(), block(line)?.map(|bytes| bytes + 2)))
}

#[inline]
fn whole((line, block): (usize, Option<usize>)) -> usize {
    line + block.unwrap_or(0)
}

/// A whole message, in its two parts.
#[inline]
fn parted(message: &[u8], known: (usize, Option<usize>)) -> Result<Message<'_>, Error> {
    let (line, rest) = message.split_at(known.0);
    match (known.1, rest.strip_suffix(b"\r\n")) {
        (None, _) => Ok((line, None)),
        (Some(_), Some(block)) => Ok((line, Some(block))),
        (Some(_), None) => Err(Error::End),
    }
}

/// A word of a line as the length of a block.
#[inline]
pub(super) fn length(word: Option<&[u8]>) -> Result<Option<usize>, Error> {
    let digits = word.filter(|word| !word.is_empty()).ok_or(Error::Number)?;
    let mut length = 0;
    for digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return Err(Error::Number);
        }
        length = length * 10 + usize::from(value);
        if length > MAX_BLOCK_BYTES {
            return Err(Error::TooLong);
        }
    }
    Ok(Some(length))
}

/// The words of a line; several spaces part two words as one does.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    line.split(|&byte| byte == b' ').filter(|word| !word.is_empty())
}
