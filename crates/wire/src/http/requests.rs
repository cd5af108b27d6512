//! The server's side: reading the requests that arrive on one connection.

use super::body::{Body, Piece};
use super::framing::Fields;
use super::head::{Partial, Place, room};
use super::{Error, Framing, Version};

/// What was read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEvent<'a> {
    /// The input is used up and the request goes on.
    More,
    /// The request's head.
    Head(RequestHead<'a>),
    /// A piece of its body.
    Body(&'a [u8]),
    /// The request is whole.
    End {
        /// Whether the client wants the connection kept.
        keep: bool,
        /// Whether the answer must come without a body, since the method is HEAD.
        head: bool,
    },
}

/// The head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// How the body's end will be found.
    pub framing: Framing,
    /// The head as it came, the empty line included.
    pub bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parsed {
    framing: Framing,
    keep: bool,
    head: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Head,
    Body {
        body: Body,
        keep: bool,
        head: bool,
    },
}

/// Reads the requests of one connection, one after another.
#[derive(Debug, Default)]
pub struct Requests {
    partial: Partial,
    state: State,
    /// The last head that came in one piece; an equal one means the same and is not parsed again.
    last: Vec<u8>,
    last_parsed: Option<Parsed>,
}

impl Requests {
    /// Longer heads are not remembered.
    const MAX_REMEMBERED_BYTES: usize = 1024;

    /// Takes the next event off the front of `input`. After an error the connection is of no use.
    pub fn next<'e, 'i: 'e>(&'e mut self, input: &mut &'i [u8]) -> Result<RequestEvent<'e>, Error> {
        match &mut self.state {
            State::Body { body, keep, head } => match body.next(input)? {
                Piece::More => Ok(RequestEvent::More),
                Piece::Data(data) => Ok(RequestEvent::Body(data)),
                Piece::End => {
                    let end = RequestEvent::End { keep: *keep, head: *head };
                    self.state = State::Head;
                    Ok(end)
                }
            },
            State::Head => self.head(input),
        }
    }

    fn head<'e, 'i: 'e>(&'e mut self, input: &mut &'i [u8]) -> Result<RequestEvent<'e>, Error> {
        let (place, parsed) = match self.last_parsed {
            Some(parsed) if self.partial.is_empty() && input.starts_with(&self.last) => {
                let (bytes, rest) = input.split_at(self.last.len());
                *input = rest;
                (Place::Input(bytes), parsed)
            }
            _ => {
                let Some((place, parsed)) = self.partial.take(input, parse)? else {
                    return Ok(RequestEvent::More);
                };
                let bytes = self.partial.bytes(place);
                if bytes.len() <= Requests::MAX_REMEMBERED_BYTES {
                    self.last.clear();
                    self.last.extend_from_slice(bytes);
                    self.last_parsed = Some(parsed);
                }
                (place, parsed)
            }
        };
        self.state =
            State::Body { body: Body::new(parsed.framing), keep: parsed.keep, head: parsed.head };
        let bytes = self.partial.bytes(place);
        Ok(RequestEvent::Head(RequestHead { framing: parsed.framing, bytes }))
    }
}

fn parse(bytes: &[u8]) -> Result<Option<(usize, Parsed)>, Error> {
    let mut request = httparse::Request::new(&mut []);
    let mut headers = room();
    let length =
        match request.parse_with_uninit_headers(bytes, &mut headers).map_err(Error::Head)? {
            httparse::Status::Complete(length) => length,
            httparse::Status::Partial => return Ok(None),
        };
    let version = Version::of(request.version);
    let fields = Fields::read(request.headers)?;
    let parsed = Parsed {
        framing: fields.of_request(version)?,
        keep: fields.keep(version),
        head: request.method == Some("HEAD"),
    };
    Ok(Some((length, parsed)))
}
