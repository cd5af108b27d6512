//! Reading a body: its end found by length, by chunks or by the connection's close.

use super::{Error, Framing, MAX_HEAD_BYTES};

/// A chunk's size line may carry extensions; more than this many bytes of them is no honest sender.
const MAX_CHUNK_LINE_BYTES: u32 = 4096;

/// The state of a body being read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    Length(u64),
    Chunked(Chunked),
    UntilClose,
}

/// What came next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    More,
    Data(&'a [u8]),
    End,
}

impl Body {
    pub(super) fn new(framing: Framing) -> Body {
        match framing {
            Framing::Length(length) => Body::Length(length),
            Framing::Chunked => Body::Chunked(Chunked::start()),
            Framing::UntilClose => Body::UntilClose,
        }
    }

    /// Takes the next piece off the front of `input`.
    pub(super) fn next<'i>(&mut self, input: &mut &'i [u8]) -> Result<Piece<'i>, Error> {
        match self {
            Body::Length(0) => Ok(Piece::End),
            Body::Length(left) => Ok(take(left, input)),
            Body::Chunked(chunked) => chunked.next(input),
            Body::UntilClose => {
                let mut endless = u64::MAX;
                Ok(take(&mut endless, input))
            }
        }
    }
}

fn take<'i>(left: &mut u64, input: &mut &'i [u8]) -> Piece<'i> {
    if input.is_empty() {
        return Piece::More;
    }
    let count = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    let (data, rest) = input.split_at(count);
    *input = rest;
    *left -= count as u64;
    Piece::Data(data)
}

/// A chunked body (RFC 9112, 7.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunked {
    at: At,
    /// Bytes of the present size line, or of the whole trailer.
    line_bytes: u32,
}

#[derive(Clone, Copy, Debug)]
enum At {
    /// In the size, so far this; without a digit yet when `None`.
    Size(Option<u64>),
    /// Behind the size, skipping extensions.
    Extension(u64),
    /// Behind the size line's carriage return.
    SizeEnd(u64),
    Data(u64),
    DataReturn,
    DataEnd,
    /// At the beginning of a trailer line.
    TrailerStart,
    /// In a trailer line.
    Trailer,
    /// Behind a trailer line's carriage return.
    TrailerEnd,
    /// Behind the last carriage return.
    LastEnd,
    Over,
}

impl Chunked {
    fn start() -> Chunked {
        Chunked { at: At::Size(None), line_bytes: 0 }
    }

    fn next<'i>(&mut self, input: &mut &'i [u8]) -> Result<Piece<'i>, Error> {
        loop {
            if let At::Data(left) = &mut self.at {
                let piece = take(left, input);
                if *left == 0 {
                    self.at = At::DataReturn;
                }
                return Ok(piece);
            }
            if matches!(self.at, At::Over) {
                return Ok(Piece::End);
            }
            let Some((&byte, rest)) = input.split_first() else { return Ok(Piece::More) };
            *input = rest;
            self.at = self.step(byte)?;
        }
    }

    fn step(&mut self, byte: u8) -> Result<At, Error> {
        match (self.at, byte) {
            (At::Size(Some(size)) | At::Extension(size), b'\r') => Ok(At::SizeEnd(size)),
            (At::Size(Some(size)), b';' | b' ' | b'\t') => self.count(At::Extension(size)),
            (At::Size(size), byte) => {
                let digit = (byte as char).to_digit(16).ok_or(Error::Chunk)?;
                let size = size.unwrap_or(0).checked_mul(16).ok_or(Error::Chunk)?;
                self.count(At::Size(Some(size | u64::from(digit))))
            }
            (At::Extension(size), byte) if byte != b'\n' => self.count(At::Extension(size)),
            (At::SizeEnd(size), b'\n') => {
                self.line_bytes = 0;
                Ok(if size == 0 { At::TrailerStart } else { At::Data(size) })
            }
            (At::DataReturn, b'\r') => Ok(At::DataEnd),
            (At::DataEnd, b'\n') => Ok(At::Size(None)),
            (At::TrailerStart, b'\r') => Ok(At::LastEnd),
            (At::Trailer, b'\r') => Ok(At::TrailerEnd),
            (At::TrailerStart | At::Trailer, byte) if byte != b'\n' => self.count(At::Trailer),
            (At::TrailerEnd, b'\n') => Ok(At::TrailerStart),
            (At::LastEnd, b'\n') => Ok(At::Over),
            _ => Err(Error::Chunk),
        }
    }

    fn count(&mut self, next: At) -> Result<At, Error> {
        self.line_bytes += 1;
        let most =
            if matches!(next, At::Trailer) { MAX_HEAD_BYTES as u32 } else { MAX_CHUNK_LINE_BYTES };
        if self.line_bytes > most { Err(Error::Chunk) } else { Ok(next) }
    }
}
