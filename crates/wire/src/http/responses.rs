//! The client's side: reading the answers that arrive on one connection.

use super::body::{Body, Piece};
use super::framing::Fields;
use super::head::{Partial, Place, room};
use super::{Error, Framing, Header, Version};

/// What the request was, as far as its answer's framing depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Any method but HEAD.
    #[default]
    Other,
    /// HEAD: the answer has no body, whatever its head says.
    Head,
}

/// What was read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The input is used up and the answer goes on.
    More,
    /// The answer's head.
    Head(ResponseHead<'a>),
    /// A piece of its body.
    Body(&'a [u8]),
    /// The answer is whole; the next bytes belong to another.
    End {
        /// Whether the connection may carry another request.
        keep: bool,
    },
}

/// The head of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseHead<'a> {
    /// Its status, 200 to 999.
    pub status: u16,
    /// How the body's end will be found; `Length(0)` when it has none.
    pub framing: Framing,
    /// The head as it came, the empty line included.
    pub bytes: &'a [u8],
}

impl ResponseHead<'_> {
    /// Whether a header field of this name has exactly this value.
    pub fn has(&self, name: &str, value: &[u8]) -> bool {
        self.any(|header| header.name.eq_ignore_ascii_case(name) && header.value == value)
    }

    /// Whether any header field is a wanted one; they are asked about in order.
    pub fn any(&self, wanted: impl FnMut(&Header<'_>) -> bool) -> bool {
        let mut response = httparse::Response::new(&mut []);
        let mut headers = room();
        let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            self.bytes,
            &mut headers,
        );
        parsed.is_ok() && response.headers.iter().any(wanted)
    }
}

#[derive(Clone, Copy, Debug)]
struct Parsed {
    status: u16,
    framing: Framing,
    keep: bool,
}

/// The last head that was parsed, and what it meant.
///
/// Servers answer with the same head over and over. Parsing is a function of the bytes alone, so a
/// head equal to the last one means the same; sharing this among connections saves nearly all of
/// the parsing.
#[derive(Clone, Debug, Default)]
pub struct Heads {
    bytes: Vec<u8>,
    parsed: Option<Parsed>,
}

impl Heads {
    /// Longer heads are not remembered.
    const MAX_BYTES: usize = 2048;

    /// Nothing remembered yet; the room is made now, so that none is made later.
    pub fn new() -> Heads {
        Heads { bytes: Vec::with_capacity(Heads::MAX_BYTES), parsed: None }
    }

    fn find(&self, input: &[u8]) -> Option<(usize, Parsed)> {
        let parsed = self.parsed?;
        input.starts_with(&self.bytes).then_some((self.bytes.len(), parsed))
    }

    fn remember(&mut self, bytes: &[u8], parsed: Parsed) {
        if bytes.len() <= Heads::MAX_BYTES {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            self.parsed = Some(parsed);
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Head,
    Body {
        body: Body,
        keep: bool,
    },
}

/// Reads the answers of one connection, one after another.
#[derive(Debug, Default)]
pub struct Responses {
    partial: Partial,
    state: State,
}

impl Responses {
    /// Forgets what was read, for a new connection.
    pub fn reset(&mut self) {
        self.partial.clear();
        self.state = State::Head;
    }

    /// Takes the next event off the front of `input`; answers with a status of 1xx are passed over.
    ///
    /// `kind` is that of the request being answered. After an error the connection is of no use.
    pub fn next<'e, 'i: 'e>(
        &'e mut self,
        kind: Kind,
        heads: &mut Heads,
        input: &mut &'i [u8],
    ) -> Result<Event<'e>, Error> {
        match &mut self.state {
            State::Body { body, keep } => match body.next(input)? {
                Piece::More => Ok(Event::More),
                Piece::Data(data) => Ok(Event::Body(data)),
                Piece::End => {
                    let keep = *keep;
                    self.state = State::Head;
                    Ok(Event::End { keep })
                }
            },
            State::Head => self.head(kind, heads, input),
        }
    }

    fn head<'e, 'i: 'e>(
        &'e mut self,
        kind: Kind,
        heads: &mut Heads,
        input: &mut &'i [u8],
    ) -> Result<Event<'e>, Error> {
        let (place, parsed) = loop {
            if self.partial.is_empty()
                && let Some((length, parsed)) = heads.find(input)
            {
                let (bytes, rest) = input.split_at(length);
                *input = rest;
                break (Place::Input(bytes), parsed);
            }
            let Some((place, parsed)) = self.partial.take(input, parse)? else {
                return Ok(Event::More);
            };
            if parsed.status >= 200 {
                heads.remember(self.partial.bytes(place), parsed);
                break (place, parsed);
            }
        };
        let bodyless = kind == Kind::Head || matches!(parsed.status, 204 | 304);
        let framing = if bodyless { Framing::Length(0) } else { parsed.framing };
        let keep = parsed.keep && framing != Framing::UntilClose;
        self.state = State::Body { body: Body::new(framing), keep };
        Ok(Event::Head(ResponseHead {
            status: parsed.status,
            framing,
            bytes: self.partial.bytes(place),
        }))
    }

    /// The connection has ended: either that ends the answer, or the answer is lost.
    pub fn closed(&mut self) -> Result<(), Error> {
        match self.state {
            State::Body { body: Body::UntilClose, .. } => {
                self.reset();
                Ok(())
            }
            State::Head if self.partial.is_empty() => Err(Error::ClosedBefore),
            _ => Err(Error::ClosedWithin),
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Option<(usize, Parsed)>, Error> {
    let mut response = httparse::Response::new(&mut []);
    let mut headers = room();
    let length = match httparse::ParserConfig::default()
        .parse_response_with_uninit_headers(&mut response, bytes, &mut headers)
        .map_err(Error::Head)?
    {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Ok(None),
    };
    let status = response.code.unwrap_or(0);
    let version = Version::of(response.version);
    match status {
        101 => return Err(Error::Upgrade),
        100..200 => {
            let parsed = Parsed { status, framing: Framing::Length(0), keep: true };
            return Ok(Some((length, parsed)));
        }
        200..1000 => {}
        _ => return Err(Error::Head(httparse::Error::Status)),
    }
    let fields = Fields::read(response.headers)?;
    let framing = fields.of_response(version)?;
    Ok(Some((length, Parsed { status, framing, keep: fields.keep(version) })))
}
