//! HTTP/1.1 (and 1.0) messages as RFC 9112 frames them.
//!
//! [`Responses`] reads what a server sends and [`encode_request`] writes what it is asked;
//! [`Requests`] and [`encode_response`] are the other side. Readers are fed slices of any size and
//! hand bodies back as slices of their input. A [`Jar`] keeps cookies and [`follow`] writes what a
//! redirect asks for. Absent: connection handling, content codings, upgrades and pipelining by the
//! client.

mod body;
mod cookies;
mod encode;
mod framing;
mod head;
mod redirect;
mod requests;
mod responses;

use std::fmt;

pub use cookies::Jar;
pub use encode::{Invalid, Payload, encode_request, encode_response, reason_phrase};
pub use framing::{Framing, Version};
pub use head::{Header, MAX_HEAD_BYTES, MAX_HEADERS};
pub use redirect::{Astray, follow, is_redirect, request_line};
pub use requests::{RequestEvent, RequestHead, Requests};
pub use responses::{Event, Heads, Kind, ResponseHead, Responses};

/// Why bytes are not an HTTP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The start line or a header field breaks the grammar.
    Head(httparse::Error),
    /// The head is longer than [`MAX_HEAD_BYTES`].
    HeadTooLong,
    /// `Content-Length` is not one number.
    ContentLength,
    /// `Transfer-Encoding` is there together with `Content-Length`, or in a message of HTTP/1.0.
    AmbiguousLength,
    /// A request has a transfer coding whose end cannot be found.
    TransferEncoding,
    /// A chunk's size line, its end or the trailer breaks the grammar.
    Chunk,
    /// The protocol was switched, which nobody asked for.
    Upgrade,
    /// The connection ended before any byte of the message.
    ClosedBefore,
    /// The connection ended within the message.
    ClosedWithin,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Head(error) => return write!(f, "not an HTTP head: {error}"),
            Error::HeadTooLong => "the HTTP head is too long",
            Error::ContentLength => "Content-Length is not one number",
            Error::AmbiguousLength => "Transfer-Encoding where it makes the length ambiguous",
            Error::TransferEncoding => "a transfer coding other than chunked",
            Error::Chunk => "malformed chunked body",
            Error::Upgrade => "the protocol was switched unasked",
            Error::ClosedBefore => "connection closed before the answer",
            Error::ClosedWithin => "connection closed within the answer",
        })
    }
}

impl std::error::Error for Error {}
