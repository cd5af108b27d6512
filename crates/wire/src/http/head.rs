//! Collecting a head that may arrive in pieces.

use std::mem::MaybeUninit;

use super::Error;

/// The longest head that is read, in bytes.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The most header fields a head may have.
pub const MAX_HEADERS: usize = 128;

/// A header field as it stands in the head.
pub type Header<'a> = httparse::Header<'a>;

/// Room for the header fields of one head, filled by httparse.
pub(super) type Room<'a> = [MaybeUninit<Header<'a>>; MAX_HEADERS];

/// Room for header fields; uninitialised, since clearing it costs more than parsing most heads.
pub(super) fn room<'a>() -> Room<'a> {
    [const { MaybeUninit::uninit() }; MAX_HEADERS]
}

/// Where a whole head lies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'i> {
    /// It came in one piece.
    Input(&'i [u8]),
    /// It came in several and was put together.
    Kept,
}

/// The beginning of a head whose end has not come yet; afterwards the head, until the next begins.
#[derive(Debug, Default)]
pub(super) struct Partial {
    bytes: Vec<u8>,
    whole: bool,
}

impl Partial {
    pub(super) fn is_empty(&self) -> bool {
        self.whole || self.bytes.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.whole = false;
    }

    /// The bytes of a head that was just taken.
    pub(super) fn bytes<'e, 'i: 'e>(&'e self, place: Place<'i>) -> &'e [u8] {
        match place {
            Place::Input(bytes) => bytes,
            Place::Kept => &self.bytes,
        }
    }

    /// Finds a whole head at the front of what was kept and `input`, and takes it off `input`.
    ///
    /// `parse` says how long the head at the front of some bytes is, or `None` when it is not
    /// whole. A head that came in one piece is not copied.
    pub(super) fn take<'i, T>(
        &mut self,
        input: &mut &'i [u8],
        parse: impl Fn(&[u8]) -> Result<Option<(usize, T)>, Error>,
    ) -> Result<Option<(Place<'i>, T)>, Error> {
        if self.whole {
            self.clear();
        }
        let before = self.bytes.len();
        let fresh = &input[..input.len().min(MAX_HEAD_BYTES - before)];
        if before == 0 {
            if let Some((length, parsed)) = parse(fresh)? {
                let (head, rest) = input.split_at(length);
                *input = rest;
                return Ok(Some((Place::Input(head), parsed)));
            }
            self.bytes.extend_from_slice(fresh);
        } else {
            self.bytes.extend_from_slice(fresh);
            // A head ends with a line, so that dripping bytes are not parsed over and over.
            if fresh.contains(&b'\n')
                && let Some((length, parsed)) = parse(&self.bytes)?
            {
                *input = input.get(length.saturating_sub(before)..).unwrap_or_default();
                self.bytes.truncate(length);
                self.whole = true;
                return Ok(Some((Place::Kept, parsed)));
            }
        }
        if self.bytes.len() == MAX_HEAD_BYTES {
            return Err(Error::HeadTooLong);
        }
        *input = &[];
        Ok(None)
    }
}
