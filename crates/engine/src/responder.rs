//! The server that does nothing but answer: one state machine over `wire`'s server side.
//!
//! The null server and the simulator share it, so that the ruler and its simulation speak the same
//! protocol. Absent from it: sockets, time, and what to do wrong.

use wire::http::{Error, Invalid, RequestEvent, Requests, encode_response};

/// What to answer, worked out beforehand.
#[derive(Clone, Debug)]
pub struct Answer {
    kept: Vec<u8>,
    closing: Vec<u8>,
    body_bytes: usize,
}

impl Answer {
    /// An answer of this status, headers and body.
    pub fn new(status: u16, headers: &[(String, String)], body: &[u8]) -> Result<Answer, Invalid> {
        let headers = || headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let (mut kept, mut closing) = (Vec::new(), Vec::new());
        encode_response(status, headers(), body, false, &mut kept)?;
        encode_response(status, headers(), body, true, &mut closing)?;
        let body_bytes = if kept.ends_with(b"\r\n\r\n") { 0 } else { body.len() };
        Ok(Answer { kept, closing, body_bytes })
    }

    /// The bytes that answer a request.
    pub fn to(&self, question: Question) -> &[u8] {
        let bytes = if question.keep { &self.kept } else { &self.closing };
        let unsent = if question.head { self.body_bytes } else { 0 };
        &bytes[..bytes.len() - unsent]
    }
}

/// A request that has come in whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    /// Whether the client wants the connection kept.
    pub keep: bool,
    /// Whether the answer must come without its body.
    pub head: bool,
}

/// The server's side of one connection.
#[derive(Debug, Default)]
pub struct Responder {
    requests: Requests,
}

impl Responder {
    /// Takes the next whole request off the front of `input`; `None` when more must arrive.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<Question>, Error> {
        loop {
            match self.requests.next(input)? {
                RequestEvent::More => return Ok(None),
                RequestEvent::Head(_) | RequestEvent::Body(_) => {}
                RequestEvent::End { keep, head } => return Ok(Some(Question { keep, head })),
            }
        }
    }
}
